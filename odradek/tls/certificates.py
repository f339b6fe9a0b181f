"""What a certificate says of itself, as far as it is asked here: whose it is, what it is for, until when."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from typing import Final, NamedTuple

from odradek.tls import der
from odradek.tls.distinguished_names import name_text
from odradek.tls.errors import TlsError

_ALTERNATIVE_NAMES: Final = "2.5.29.17"
_EXTENSIONS: Final = 0xA3
_UTC_TIME: Final = 0x17


class Certificate(NamedTuple):
    """A certificate's own words; whether they are true is for OpenSSL to say."""

    subject: str
    alternative_names: frozenset[bytes]
    """As they are encoded: only good to be compared."""
    not_after: datetime


def read_certificate(certificate: bytes) -> Certificate:
    """Return what a certificate in DER says; TlsError where it cannot be read."""
    fields = list(der.elements(der.first(der.first(certificate, tag=der.SEQUENCE).content, tag=der.SEQUENCE).content))
    begin = 1 if fields and fields[0].tag == der.VERSION else 0
    if len(fields) < begin + 5:
        raise TlsError("a certificate that ends too soon")
    validity, subject = fields[begin + 3], fields[begin + 4]
    extensions = next((one for one in fields[begin + 5 :] if one.tag == _EXTENSIONS), None)
    return Certificate(
        name_text(subject.content),
        frozenset() if extensions is None else _alternative_names(extensions),
        _time(list(der.elements(validity.content))[-1]),
    )


def first_certificate(chain: str) -> bytes:
    """Return the first certificate of PEM text as DER; TlsError where there is none."""
    begin = chain.find("-----BEGIN CERTIFICATE-----")
    end = chain.find("-----END CERTIFICATE-----", begin)
    if begin < 0 or end < 0:
        raise TlsError("no certificate, as PEM")
    try:
        return ssl.PEM_cert_to_DER_cert(chain[begin : end + len("-----END CERTIFICATE-----")])
    except ValueError:
        raise TlsError("a certificate that cannot be read") from None


def _alternative_names(extensions: der.Element) -> frozenset[bytes]:
    for extension in der.elements(der.first(extensions.content, tag=der.SEQUENCE).content):
        parts = list(der.elements(extension.content))
        if parts and der.object_identifier(parts[0].content) == _ALTERNATIVE_NAMES:
            names = der.first(parts[-1].content, tag=der.SEQUENCE)
            return frozenset(one.encoded for one in der.elements(names.content))
    return frozenset()


def _time(element: der.Element) -> datetime:
    text = element.content.decode("ascii", "replace")
    if element.tag == _UTC_TIME:
        text = ("19" if text[:2] >= "50" else "20") + text
    try:
        return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise TlsError("a certificate with a time that is none") from None
