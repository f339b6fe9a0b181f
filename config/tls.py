"""TLS of one listener: its `ssl.*` keys as one value.

Owns which keys go together (Kafka's DefaultSslEngineFactory and ChannelBuilders; KIP-12, KIP-371, KIP-651) and what is
refused before any file is read. Must not know: files, certificates, OpenSSL.
"""

from enum import Enum
from typing import NamedTuple

from odradek.config.listener_keys import TLS_KEYS, ListenerConfigReader
from odradek.config.listeners import uses_sasl
from odradek.config.secret import Secret

PEM = "PEM"
STORE_TYPES = ("JKS", "PKCS12", PEM)
VERSIONS = ("TLSv1.2", "TLSv1.3")
"""Those that are spoken; Kafka can be told to speak older ones, which are broken."""
STORE_KEYS = frozenset(key for key in TLS_KEYS if key.startswith(("ssl.key.", "ssl.keystore.", "ssl.truststore.")))
"""The keys that can change while the broker runs."""


class ClientAuth(Enum):
    """Whether a client shows a certificate: it need not, it may, it must."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


class KeyStore(NamedTuple):
    """Where a key and its certificate chain are: in a file, or here as PEM text."""

    location: str | None
    type: str
    password: Secret | None
    key: Secret | None
    certificate_chain: str | None
    key_password: Secret | None


class TrustStore(NamedTuple):
    """Where certificates are that are trusted: in a file, or here as PEM text."""

    location: str | None
    type: str
    password: Secret | None
    certificates: str | None


class TlsSettings(NamedTuple):
    """How one listener speaks TLS, and how a node does that connects to it."""

    key_store: KeyStore | None
    trust_store: TrustStore | None
    """None: what the system trusts."""
    client_auth: ClientAuth
    enabled_protocols: tuple[str, ...]
    cipher_suites: tuple[str, ...]
    """By their names at IANA; empty: those that OpenSSL takes for good."""
    checks_host_name: bool
    """Whether a node that connects compares the name in the certificate with the one that it connects to."""
    principal_mapping_rules: str


class SwapRules(NamedTuple):
    """What a certificate that takes another's place may change."""

    allow_dn_changes: bool
    allow_san_changes: bool


def read_tls(read: ListenerConfigReader, protocol: str) -> TlsSettings:
    """Return the settings of a listener of this security protocol.

    Raises:
        ConfigError: they contradict each other, or ask for what is not served.
    """
    return TlsSettings(
        key_store=_key_store(read),
        trust_store=_trust_store(read),
        client_auth=_client_auth(read, protocol),
        enabled_protocols=_versions(read),
        cipher_suites=read.elements("ssl.cipher.suites"),
        checks_host_name=_checks_host_name(read),
        principal_mapping_rules=read.text("ssl.principal.mapping.rules") or "DEFAULT",
    )


def _key_store(read: ListenerConfigReader) -> KeyStore | None:
    location, kind = read.text("ssl.keystore.location"), _store_type(read, "ssl.keystore.type")
    key, chain = _secret(read, "ssl.keystore.key"), read.text("ssl.keystore.certificate.chain")
    password, key_password = _secret(read, "ssl.keystore.password"), _secret(read, "ssl.key.password")
    if key is not None:
        if location is not None:
            raise read.error("ssl.keystore.key", "stands beside ssl.keystore.location; give one of them")
        if kind != PEM:
            raise read.error("ssl.keystore.key", "needs ssl.keystore.type=PEM")
        if chain is None:
            raise read.error("ssl.keystore.key", "needs ssl.keystore.certificate.chain")
        if password is not None:
            raise read.error("ssl.keystore.password", "is for key store files; for a key it is ssl.key.password")
    elif chain is not None:
        raise read.error("ssl.keystore.certificate.chain", "needs ssl.keystore.key")
    elif location is None:
        if password is not None:
            raise read.error("ssl.keystore.password", "needs ssl.keystore.location")
        return None
    elif kind == PEM and password is not None:
        raise read.error("ssl.keystore.password", "is not for PEM files; for an encrypted key it is ssl.key.password")
    elif kind != PEM and password is None:
        raise read.error("ssl.keystore.location", "needs ssl.keystore.password, or ssl.keystore.type=PEM")
    return KeyStore(location, kind, password, key, chain, key_password)


def _trust_store(read: ListenerConfigReader) -> TrustStore | None:
    location, kind = read.text("ssl.truststore.location"), _store_type(read, "ssl.truststore.type")
    certificates, password = read.text("ssl.truststore.certificates"), _secret(read, "ssl.truststore.password")
    if certificates is not None:
        if location is not None:
            raise read.error("ssl.truststore.certificates", "stands beside ssl.truststore.location; give one of them")
        if kind != PEM:
            raise read.error("ssl.truststore.certificates", "needs ssl.truststore.type=PEM")
        if password is not None:
            raise read.error("ssl.truststore.password", "is for trust store files")
    elif location is None:
        if password is not None:
            raise read.error("ssl.truststore.password", "needs ssl.truststore.location")
        return None
    elif kind == PEM and password is not None:
        raise read.error("ssl.truststore.password", "is not for PEM files")
    return TrustStore(location, kind, password, certificates)


def _client_auth(read: ListenerConfigReader, protocol: str) -> ClientAuth:
    """Return whether clients show certificates; those that log in by SASL only if this very listener asks for it."""
    if uses_sasl(protocol) and read.own("ssl.client.auth") is None:
        return ClientAuth.NONE
    return ClientAuth(read.text("ssl.client.auth"))


def _versions(read: ListenerConfigReader) -> tuple[str, ...]:
    versions = read.elements("ssl.enabled.protocols")
    for version in versions:
        if version not in VERSIONS:
            raise read.error("ssl.enabled.protocols", f"{version} is not spoken; expected {', '.join(VERSIONS)}")
    if not versions:
        raise read.error("ssl.enabled.protocols", f"expected {', '.join(VERSIONS)} or one of them")
    return versions


def _checks_host_name(read: ListenerConfigReader) -> bool:
    algorithm = read.text("ssl.endpoint.identification.algorithm") or ""
    if algorithm.lower() not in ("", "https"):
        raise read.error("ssl.endpoint.identification.algorithm", "expected https, or nothing for no check")
    return bool(algorithm)


def _store_type(read: ListenerConfigReader, key: str) -> str:
    kind = (read.text(key) or "").upper()
    if kind not in STORE_TYPES:
        raise read.error(key, f"expected one of {', '.join(STORE_TYPES)}")
    return kind


def _secret(read: ListenerConfigReader, key: str) -> Secret | None:
    text = read.text(key)
    return None if text is None else Secret(text)
