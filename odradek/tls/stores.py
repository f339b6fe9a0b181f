"""Key stores and trust stores, of whatever format, as PEM text: what OpenSSL takes.

A file says itself what it is: keytool writes PKCS12 into files called .jks, and Java reads them whatever
ssl.keystore.type says. PEM and JKS are read without further packages, PKCS12 with `cryptography`.
"""

from __future__ import annotations

import re
from base64 import encodebytes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.config.secret import Secret
from odradek.config.tls import KeyStore, TrustStore
from odradek.tls import der, jks
from odradek.tls.errors import TlsError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

MAX_STORE_BYTES: Final = 16 * 1024 * 1024
"""A trust store with every public authority has half a megabyte."""
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)
_CERTIFICATE_LABELS: Final = ("CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE")


class KeyMaterial(NamedTuple):
    """A private key and its certificates, its own first; all PEM."""

    key: Secret
    key_password: Secret | None
    """None where the key is not encrypted."""
    chain: str


def read_key_store(store: KeyStore) -> KeyMaterial:
    """Return the key of a store; TlsError says why there is none, OSError why the file cannot be read."""
    if store.location is None:
        key, chain = (store.key.reveal() if store.key else ""), store.certificate_chain or ""
        return _pem_key(f"{_one_line_pem(key)}\n{_one_line_pem(chain)}", store.key_password, "ssl.keystore.key")
    data, place = _read_file(store.location), f"the key store {store.location}"
    try:
        if data.startswith(jks.MAGIC):
            return _jks_key(data, store)
        if _is_pem(data):
            return _pem_key(data.decode("utf-8", "replace"), store.key_password, place)
        return _pkcs12_key(data, store)
    except TlsError as wrong:
        raise TlsError(f"{place}: {wrong}") from None


def read_trust_store(store: TrustStore) -> str:
    """Return the certificates of a store as PEM; TlsError says why there are none, OSError why it cannot be read."""
    if store.location is None:
        return _pem_certificates(_one_line_pem(store.certificates or ""), "ssl.truststore.certificates")
    data, place = _read_file(store.location), f"the trust store {store.location}"
    password = store.password.reveal() if store.password else None
    try:
        if data.startswith(jks.MAGIC):
            found = list(jks.read_jks(data, password).certificates)
        elif _is_pem(data):
            return _pem_certificates(data.decode("utf-8", "replace"), place)
        else:
            found = _pkcs12_certificates(data, password)
    except TlsError as wrong:
        raise TlsError(f"{place}: {wrong}") from None
    if not found:
        raise TlsError(f"{place}: it has no certificate that is trusted")
    return "".join(pem(one) for one in found)


def pem(certificate: bytes, label: str = "CERTIFICATE") -> str:
    """Return DER as PEM."""
    return f"-----BEGIN {label}-----\n{encodebytes(certificate).decode()}-----END {label}-----\n"


def _read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read(MAX_STORE_BYTES + 1)
    if len(data) > MAX_STORE_BYTES:
        raise TlsError(f"{path} has more than {MAX_STORE_BYTES} bytes: it is no store of keys or certificates")
    return data


def _is_pem(data: bytes) -> bool:
    return b"-----BEGIN " in data


def _one_line_pem(text: str) -> str:
    """Return PEM that was written in one line, its lines separated by blanks as in a properties file, in several."""

    def lines(block: re.Match[str]) -> str:
        label, body = block[1], block[0].split("-----")[2]
        return f"-----BEGIN {label}-----\n" + "\n".join(body.split()) + f"\n-----END {label}-----\n"

    return _BLOCK.sub(lines, text) if "\n" not in text.strip() else text


def _pem_key(text: str, password: Secret | None, place: str) -> KeyMaterial:
    keys = [block for block in _BLOCK.finditer(text) if block[1].endswith("PRIVATE KEY")]
    chain = [block[0] for block in _BLOCK.finditer(text) if block[1] in _CERTIFICATE_LABELS]
    if len(keys) != 1:
        raise TlsError(f"{place} has {len(keys) or 'no'} private keys; expected is one, as PEM")
    if not chain:
        raise TlsError(f"{place} has no certificate beside its key")
    is_encrypted = keys[0][1].startswith("ENCRYPTED") or "Proc-Type: 4,ENCRYPTED" in keys[0][0]
    if is_encrypted and password is None:
        raise TlsError(f"{place} has an encrypted key: ssl.key.password is missing")
    return KeyMaterial(Secret(keys[0][0] + "\n"), password if is_encrypted else None, "\n".join(chain) + "\n")


def _pem_certificates(text: str, place: str) -> str:
    found = [block[0] for block in _BLOCK.finditer(text) if block[1] in _CERTIFICATE_LABELS]
    if not found:
        raise TlsError(f"{place} has no certificate, as PEM")
    return "\n".join(found) + "\n"


def _jks_key(data: bytes, store: KeyStore) -> KeyMaterial:
    password = store.password or Secret("")
    keys = jks.read_jks(data, password.reveal()).keys
    if not keys:
        raise TlsError("it has no key")
    key = jks.unprotect(keys[0].protected, (store.key_password or password).reveal())
    der.first(key, tag=der.SEQUENCE)
    return KeyMaterial(Secret(pem(key, "PRIVATE KEY")), None, "".join(pem(one) for one in keys[0].chain))


def _pkcs12_key(data: bytes, store: KeyStore) -> KeyMaterial:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    loaded = _load_pkcs12(data, store.password.reveal() if store.password else None)
    if loaded.key is None or loaded.cert is None:
        raise TlsError("it has no key with a certificate")
    key = loaded.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    certificates = [loaded.cert, *loaded.additional_certs]
    chain = _in_order([one.certificate.public_bytes(Encoding.DER) for one in certificates])
    return KeyMaterial(Secret(key), None, "".join(map(pem, chain)))


def _pkcs12_certificates(data: bytes, password: str | None) -> list[bytes]:
    from cryptography.hazmat.primitives.serialization import Encoding

    loaded = _load_pkcs12(data, password)
    found = loaded.additional_certs if loaded.cert is None else [loaded.cert, *loaded.additional_certs]
    return [one.certificate.public_bytes(Encoding.DER) for one in found]


def _load_pkcs12(data: bytes, password: str | None) -> PKCS12KeyAndCertificates:
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        raise TlsError("PKCS12 files need one more package: pip install 'odradek[security]'; PEM does not") from None
    try:
        return load_pkcs12(data, password.encode() if password else None)
    except (ValueError, TypeError):
        raise TlsError("no store of keys (PEM, PKCS12, JKS), or the password is wrong") from None


def _in_order(chain: Sequence[bytes]) -> list[bytes]:
    """Return certificates with each behind the one that it has signed, as TLS sends them; the first stays first."""
    ordered, left = [chain[0]], list(chain[1:])
    while left:
        issuer = _names(ordered[-1])[0]
        following = next((one for one in left if _names(one)[1] == issuer), None)
        if following is None:
            break
        left.remove(following)
        ordered.append(following)
    return ordered


def _names(certificate: bytes) -> tuple[bytes, bytes]:
    """Return issuer and subject."""
    fields = list(der.elements(der.first(der.first(certificate, tag=der.SEQUENCE).content, tag=der.SEQUENCE).content))
    begin = 1 if fields[0].tag == der.VERSION else 0
    return fields[begin + 2].encoded, fields[begin + 4].encoded
