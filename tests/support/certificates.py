"""Certificates for tests, made in milliseconds: an authority, and what it signs."""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from pathlib import Path
from struct import pack
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LOCAL = ("localhost", "127.0.0.1", "::1")
PASSWORD = "secret"


class Identity(NamedTuple):
    """A key and a certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    chain: tuple[x509.Certificate, ...] = ()
    """Who signed it."""

    @property
    def key_pem(self) -> str:
        """The key as PKCS#8, not encrypted."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    @property
    def locked_key_pem(self) -> str:
        """The key, encrypted with the password."""
        locked = BestAvailableEncryption(PASSWORD.encode())
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked).decode()

    @property
    def pem(self) -> str:
        """The certificate and those who signed it."""
        return "".join(one.public_bytes(Encoding.PEM).decode() for one in (self.certificate, *self.chain))

    def write(self, directory: Path, name: str) -> str:
        """Write `name`.pem with all of it, and `name`.crt and `name`.key; return the path of the first."""
        directory.mkdir(parents=True, exist_ok=True)
        for suffix, text in ((".pem", self.key_pem + self.pem), (".crt", self.pem), (".key", self.key_pem)):
            new = directory / f"{name}{suffix}.new"
            new.write_text(text)
            new.chmod(0o600)
            os.replace(new, directory / f"{name}{suffix}")
        return str(directory / f"{name}.pem")

    def pkcs12(self) -> bytes:
        """All of it as PKCS12, under the password."""
        locked = BestAvailableEncryption(PASSWORD.encode())
        return pkcs12.serialize_key_and_certificates(b"mine", self.key, self.certificate, list(self.chain), locked)

    def jks(self, key_password: str = PASSWORD) -> bytes:
        """All of it as JKS, Java's own format."""
        ders = [one.public_bytes(Encoding.DER) for one in (self.certificate, *self.chain)]
        plain = self.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        secret, salt = key_password.encode("utf-16-be"), b"s" * 20
        stream, block = b"", salt
        while len(stream) < len(plain):
            block = sha1(secret + block).digest()
            stream += block
        sealed = salt + bytes(a ^ b for a, b in zip(plain, stream, strict=False)) + sha1(secret + plain).digest()
        algorithm = bytes.fromhex("300e060a2b060104012a021101010500")
        info = b"\x04" + _der_length(len(sealed)) + sealed
        protected = b"\x30" + _der_length(len(algorithm + info)) + algorithm + info
        entry = pack(">I", 1) + _utf("mine") + pack(">Q", 0) + pack(">I", len(protected)) + protected
        entry += pack(">I", len(ders)) + b"".join(map(_jks_certificate, ders))
        return _jks([entry])


class Authority:
    """One who signs certificates."""

    def __init__(self, name: str = "Test CA") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = _sign(_name(f"CN={name}"), self._key, None, self._key, {"is_authority": True})

    @property
    def pem(self) -> str:
        """Its own certificate."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def write(self, path: Path) -> str:
        """Write its certificate; return where."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.pem)
        return str(path)

    def issue(
        self,
        subject: str = "CN=localhost",
        names: Sequence[str] = (),
        *,
        days: int = 30,
    ) -> Identity:
        """Return a new key and its certificate; `subject` as in RFC 2253, `names` hosts and addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = _sign(_name(subject), key, self.certificate, self._key, {"names": names, "days": days})
        return Identity(key, signed, (self.certificate,))

    def jks(self) -> bytes:
        """Its certificate in a trust store of Java's own format."""
        der = self.certificate.public_bytes(Encoding.DER)
        return _jks([pack(">I", 2) + _utf("ca") + pack(">Q", 0) + _jks_certificate(der)])

    def pkcs12(self) -> bytes:
        """Its certificate in a trust store as Java writes it."""
        locked = BestAvailableEncryption(PASSWORD.encode())
        return pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(self.certificate, b"ca")], locked)


def client_context(authority: Authority, directory: Path, identity: Identity | None = None) -> ssl.SSLContext:
    """Return what a client speaks TLS with that trusts the authority, and shows a certificate if it has one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=authority.pem)
    if identity is not None:
        context.load_cert_chain(identity.write(directory, f"client-{id(identity)}"))
    return context


def _name(subject: str) -> x509.Name:
    return x509.Name.from_rfc4514_string(subject)


def _sign(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    issuer_key: ec.EllipticCurvePrivateKey,
    options: dict[str, object],
) -> x509.Certificate:
    is_authority = bool(options.get("is_authority"))
    names, days = options.get("names", ()), options.get("days", 30)
    assert isinstance(names, Sequence)
    assert isinstance(days, int)
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=60))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if not is_authority:
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def subject_with(*attributes: tuple[str, str]) -> x509.Name:
    """Return a subject of attributes by the names of `NameOID`, in the order of the certificate."""
    return x509.Name([x509.NameAttribute(getattr(NameOID, kind), value) for kind, value in attributes])


def _der_length(length: int) -> bytes:
    return bytes([length]) if length < 128 else b"\x82" + length.to_bytes(2, "big")


def _utf(text: str) -> bytes:
    return pack(">H", len(text)) + text.encode()


def _jks_certificate(der: bytes) -> bytes:
    return _utf("X.509") + pack(">I", len(der)) + der


def _jks(entries: Sequence[bytes]) -> bytes:
    body = pack(">III", 0xFEEDFEED, 2, len(entries)) + b"".join(entries)
    return body + sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
