"""Names of cipher suites: those that Java and IANA use, as OpenSSL calls them."""

from __future__ import annotations

import re
from typing import Final

TLS13: Final = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")
"""The suites of TLS 1.3 that OpenSSL has; which of them is used cannot be told it from Python."""

_SUITE: Final = re.compile(r"TLS_(ECDHE|DHE|RSA|ECDH|DH)_?(RSA|ECDSA|DSS|anon)?_WITH_(\w+)")
_SAFE: Final = re.compile(r"(?:AES_(?:128|256)_(?:GCM|CBC)|CHACHA20_POLY1305)_SHA(?:256|384)")


def openssl_name(suite: str) -> str | None:
    """Return what OpenSSL calls a suite of TLS 1.2 that is given by its name at IANA; None for one that is not safe: no
    forward secrecy, no or a broken cipher, SHA-1, or no suite at all."""
    found = _SUITE.fullmatch(suite)
    if found is None or found[1] not in ("ECDHE", "DHE") or found[2] not in ("RSA", "ECDSA"):
        return None
    cipher = found[3]
    if not _SAFE.fullmatch(cipher):
        return None
    if cipher.startswith("CHACHA20"):
        cipher = "CHACHA20_POLY1305"
    cipher = cipher.replace("AES_", "AES").replace("_CBC", "")
    return f"{found[1]}-{found[2]}-{cipher}".replace("_", "-")
