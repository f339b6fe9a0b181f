"""How clients of one listener log in (`sasl.*`), and how this node does as the client of another one.

Owns: reading and checking those keys, each of which a listener and a mechanism of it may have for itself
(`listener.name.<listener>.<mechanism>.sasl.jaas.config`). As in Kafka users of PLAIN stand in the JAAS entry of the
mechanism, and those of SCRAM in the metadata. Must not know: exchanges. No value here is shown in a representation.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.config.errors import ConfigError
from odradek.config.jaas import JaasEntry, parse_jaas
from odradek.config.listener_keys import ListenerConfigReader
from odradek.config.own_keys import USERS_FILE

PLAIN: Final = "PLAIN"
SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
OAUTHBEARER: Final = "OAUTHBEARER"
GSSAPI: Final = "GSSAPI"
MECHANISMS: Final = (PLAIN, *SCRAM, OAUTHBEARER, GSSAPI)
CLIENT_MECHANISMS: Final = (PLAIN, *SCRAM)
"""Those by which this node can log in elsewhere."""

_ENABLED: Final = "sasl.enabled.mechanisms"
_JAAS: Final = "sasl.jaas.config"
_HANDLER: Final = "sasl.server.callback.handler.class"
_URL: Final = "sasl.oauthbearer.jwks.endpoint.url"
_SERVICE: Final = "sasl.kerberos.service.name"
_MODULES: Final = {
    PLAIN: "PlainLoginModule",
    OAUTHBEARER: "OAuthBearerLoginModule",
    GSSAPI: "Krb5LoginModule",
    **dict.fromkeys(SCRAM, "ScramLoginModule"),
}
_UNDERSTOOD_HANDLERS: Final = {OAUTHBEARER: "OAuthBearerValidatorCallbackHandler"}
_SCHEMES: Final = ("http://", "https://", "file:/")


class OAuthBearerSettings(NamedTuple):
    """By what tokens are judged; names are Kafka's, without sasl.oauthbearer."""

    jwks_endpoint_url: str
    expected_audience: tuple[str, ...]
    """Any of them will do; none for any."""
    expected_issuer: str | None
    clock_skew_seconds: int
    scope_claim_name: str
    sub_claim_name: str
    refresh_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    connect_timeout_ms: int
    read_timeout_ms: int


class KerberosSettings(NamedTuple):
    """Whom clients get tickets for, and whose name a ticket makes its owner."""

    keytab: str
    principal: str | None
    """`kafka/host@REALM`; None for any of that service in the keytab."""
    service_name: str | None
    rules: tuple[str, ...]
    """sasl.kerberos.principal.to.local.rules."""


class SaslSettings(NamedTuple):
    """How clients of one listener log in."""

    mechanisms: tuple[str, ...]
    max_receive_bytes: int
    """sasl.server.max.receive.size: the largest frame before it is known who the client is."""
    failed_delay_ms: int
    max_reauth_ms: Mapping[str, int]
    """connections.max.reauth.ms, by mechanism."""
    plain_users: Mapping[str, str]
    """Passwords by user."""
    plain_users_file: str | None
    oauthbearer: OAuthBearerSettings | None
    kerberos: KerberosSettings | None = None

    def __repr__(self) -> str:
        return f"<SASL by {', '.join(self.mechanisms)}>"


class SaslLogin(NamedTuple):
    """Who this node is to others."""

    mechanism: str
    username: str
    password: str

    def __repr__(self) -> str:
        return f"<login of {self.username} by {self.mechanism}>"


def read_sasl(read: ListenerConfigReader) -> SaslSettings:
    """Return how clients of a listener log in; ConfigError where that cannot be."""
    mechanisms = tuple(dict.fromkeys(read.elements(_ENABLED)))
    for mechanism in mechanisms:
        if mechanism not in MECHANISMS:
            raise read.error(_ENABLED, f"{mechanism} is no SASL mechanism; expected some of {', '.join(MECHANISMS)}")
        _check_handler(read.mechanism(mechanism), mechanism)
    if not mechanisms:
        raise read.error(_ENABLED, f"nobody could log in at listener {read.listener}: enable a mechanism")
    entries = {one: _entry(read.mechanism(one), one) for one in mechanisms}
    plain = entries.get(PLAIN)
    users = plain.users if plain is not None else {}
    users_file = _users_file(read) if PLAIN in mechanisms else None
    if PLAIN in mechanisms and not users and users_file is None:
        key = f"listener.name.{read.listener.lower()}.plain.{_JAAS}"
        raise ConfigError(
            f"nobody could log in by PLAIN at listener {read.listener}: give {key} a PlainLoginModule with"
            f' user_NAME="password" entries, or name a file of users in {USERS_FILE}',
            key=key,
        )
    return SaslSettings(
        mechanisms=mechanisms,
        max_receive_bytes=read.integer("sasl.server.max.receive.size"),
        failed_delay_ms=read.integer("connection.failed.authentication.delay.ms"),
        max_reauth_ms={one: read.mechanism(one).integer("connections.max.reauth.ms") for one in mechanisms},
        plain_users=users,
        plain_users_file=users_file,
        oauthbearer=_oauthbearer(read.mechanism(OAUTHBEARER)) if OAUTHBEARER in mechanisms else None,
        kerberos=_kerberos(read.mechanism(GSSAPI), entries[GSSAPI]) if GSSAPI in mechanisms else None,
    )


def read_login(read: ListenerConfigReader, key: str) -> SaslLogin:
    """Return who this node is at a listener of others, by the mechanism that `key` has.

    Raises ConfigError where no login is given, or the mechanism is none of those by which this node can log in.
    """
    mechanism = read.text(key) or ""
    if mechanism not in CLIENT_MECHANISMS:
        raise read.error(key, f"expected one of {', '.join(CLIENT_MECHANISMS)}, by which this node logs in at others")
    entry = _entry(read.mechanism(mechanism), mechanism)
    options = entry.options if entry is not None else {}
    if not options.get("username") or "password" not in options:
        name = f"listener.name.{read.listener.lower()}.{mechanism.lower()}.{_JAAS}"
        raise ConfigError(
            f"this node logs in at other nodes by it, which needs username and password in {name}", key=key
        )
    return SaslLogin(mechanism, options["username"], options["password"])


def _entry(read: ListenerConfigReader, mechanism: str) -> JaasEntry | None:
    given = read.own(_JAAS)
    if given is None:
        return None
    entry = parse_jaas(given.value, given.key, given.origin)
    if entry.module_name != _MODULES[mechanism]:
        raise read.error(
            _JAAS, f"{entry.module_name[:80]} is not the login module of {mechanism}; expected {_MODULES[mechanism]}"
        )
    return entry


def _check_handler(read: ListenerConfigReader, mechanism: str) -> None:
    handler = read.text(_HANDLER)
    if handler and handler.rpartition(".")[2] != _UNDERSTOOD_HANDLERS.get(mechanism):
        raise read.error(_HANDLER, f"{handler} is a Java class, which odradek cannot run; leave it out for {mechanism}")


def _users_file(read: ListenerConfigReader) -> str | None:
    given = read.given(USERS_FILE)
    return given.value or None if given is not None else None


def _kerberos(read: ListenerConfigReader, entry: JaasEntry | None) -> KerberosSettings:
    options = entry.options if entry is not None else {}
    if not options.get("keyTab"):
        key = f"listener.name.{read.listener.lower()}.gssapi.{_JAAS}"
        raise ConfigError(
            f"nobody could log in by GSSAPI (Kerberos, which is Kafka's default) at listener {read.listener}: give"
            f' {key} a Krb5LoginModule with keyTab="..." and principal="kafka/host@REALM", or set'
            f" {_ENABLED} to some of {', '.join(one for one in MECHANISMS if one != GSSAPI)}",
            key=key,
        )
    given, in_entry = read.text(_SERVICE), options.get("serviceName")
    if given and in_entry and given != in_entry:
        raise read.error(_SERVICE, f"the JAAS entry has another serviceName, {in_entry[:80]}")
    principal = options.get("principal")
    if principal in (None, "", "*") and not (given or in_entry):
        raise ConfigError(
            f"listener {read.listener} has no Kerberos principal: name it in the JAAS entry, or give {_SERVICE}",
            key=_SERVICE,
        )
    return KerberosSettings(
        options["keyTab"].removeprefix("file://"),
        None if principal in ("", "*") else principal,
        given or in_entry,
        read.elements("sasl.kerberos.principal.to.local.rules"),
    )


def _oauthbearer(read: ListenerConfigReader) -> OAuthBearerSettings:
    url = read.text(_URL)
    if not url:
        raise read.error(
            _URL,
            f"tokens of listener {read.listener} could not be checked: name the identity provider's keys (a JWKS) by an"
            " http(s): or file: URL. Kafka takes tokens that nobody signed where this is missing; odradek never does",
        )
    if not url.startswith(_SCHEMES):
        raise read.error(_URL, "expected an http://, https:// or file:// URL")
    return OAuthBearerSettings(
        jwks_endpoint_url=url,
        expected_audience=read.elements("sasl.oauthbearer.expected.audience"),
        expected_issuer=read.text("sasl.oauthbearer.expected.issuer"),
        clock_skew_seconds=read.integer("sasl.oauthbearer.clock.skew.seconds"),
        scope_claim_name=read.text("sasl.oauthbearer.scope.claim.name") or "scope",
        sub_claim_name=read.text("sasl.oauthbearer.sub.claim.name") or "sub",
        refresh_ms=read.integer("sasl.oauthbearer.jwks.endpoint.refresh.ms"),
        retry_backoff_ms=read.integer("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"),
        retry_backoff_max_ms=read.integer("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"),
        connect_timeout_ms=_timeout(read, "sasl.login.connect.timeout.ms"),
        read_timeout_ms=_timeout(read, "sasl.login.read.timeout.ms"),
    )


def _timeout(read: ListenerConfigReader, key: str) -> int:
    value = read.value(key)
    return value if isinstance(value, int) and value > 0 else 10_000
