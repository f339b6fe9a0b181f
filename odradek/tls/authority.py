"""An authority of one's own: its key and certificate, and what it signs. Needs `cryptography`.

Keys are on the curve P-256: every client of Kafka knows it, and a handshake costs a broker a tenth of one with RSA.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.config.secret import Secret
from odradek.tls.errors import TlsError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

AUTHORITY_DAYS: Final = 3650
CERTIFICATE_DAYS: Final = 825
"""What clients of today take at the most."""
_EARLIER: Final = timedelta(minutes=10)
"""Clocks differ: certificates are good from a little before they are made."""


class SignedKey(NamedTuple):
    """A private key and its certificate, both PEM."""

    key: Secret
    certificate: str


def make_authority(name: str) -> SignedKey:
    """Return the key and the certificate of a new authority; TlsError if the package for it is missing."""
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    return _signed(_Wish(name, (), AUTHORITY_DAYS, is_authority=True), key, None, key)


def issue(authority: SignedKey, subject: str, names: Sequence[str]) -> SignedKey:
    """Return a new key with a certificate of the authority for hosts and addresses, good for servers and clients."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        issuer = x509.load_pem_x509_certificate(authority.certificate.encode())
        issuer_key = load_pem_private_key(authority.key.reveal().encode(), None)
    except (ValueError, TypeError):
        raise TlsError("the authority's key or certificate cannot be read") from None
    if not isinstance(issuer_key, ec.EllipticCurvePrivateKey):
        raise TlsError("the authority's key is of another kind than those that are made here")
    if issuer_key.public_key() != issuer.public_key():
        raise TlsError("the authority's key does not belong to its certificate")
    return _signed(
        _Wish(subject, tuple(names), CERTIFICATE_DAYS), ec.generate_private_key(ec.SECP256R1()), issuer, issuer_key
    )


class _Wish(NamedTuple):
    subject: str
    names: tuple[str, ...]
    days: int
    is_authority: bool = False


def _signed(
    wish: _Wish,
    key: EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    issuer_key: EllipticCurvePrivateKey,
) -> SignedKey:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, wish.subject)])
    now = datetime.now(UTC)
    usage = dict.fromkeys(
        (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + timedelta(days=wish.days))
        .add_extension(x509.BasicConstraints(wish.is_authority, 0 if wish.is_authority else None), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=not wish.is_authority,
                key_cert_sign=wish.is_authority,
                crl_sign=wish.is_authority,
                **usage,
            ),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if not wish.is_authority:
        usages = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        builder = builder.add_extension(usages, critical=False)
    if wish.names:
        names = x509.SubjectAlternativeName([_general(name) for name in wish.names])
        builder = builder.add_extension(names, critical=False)
    certificate = builder.sign(issuer_key, hashes.SHA256())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return SignedKey(Secret(pem), certificate.public_bytes(Encoding.PEM).decode())


def _general(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        pass
    try:
        return x509.DNSName(name)
    except ValueError:
        raise TlsError(f"{name!r} is no name of a host") from None
