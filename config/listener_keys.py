"""Keys of one listener: `listener.name.<name>.<key>`, and the plain key behind it.

Owns how a listener's keys are looked up, key by key, as Kafka does (KIP-103; AbstractConfig.valuesWithPrefixOverride):
what was given for the listener wins, then what was given for all, then Kafka's default. A mechanism of SASL has keys of
its own, `listener.name.<name>.<mechanism>.<key>`. Must not know: what any key means.
"""

from odradek.config.definitions import broker_definitions
from odradek.config.errors import HIDDEN, ConfigError
from odradek.config.listeners import Text
from odradek.config.reading import BrokerConfigReader
from odradek.config.values import Value

PREFIX = "listener.name."

TLS_KEYS = frozenset(
    {
        "ssl.allow.dn.changes",
        "ssl.allow.san.changes",
        "ssl.cipher.suites",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.principal.mapping.rules",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
"""What `config.tls` reads, and what concerns the exchange of a certificate."""

SERVED_FOR_A_LISTENER: frozenset[str] = TLS_KEYS | frozenset(
    {
        "connections.max.reauth.ms",
        "max.connection.creation.rate",
        "max.connections",
        "sasl.enabled.mechanisms",
        "sasl.server.max.receive.size",
    }
)
"""Keys that take effect for one listener alone."""
SERVED_FOR_A_MECHANISM: frozenset[str] = frozenset(
    {
        "connections.max.reauth.ms",
        "sasl.jaas.config",
        "sasl.kerberos.principal.to.local.rules",
        "sasl.kerberos.service.name",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "sasl.server.callback.handler.class",
    }
)
"""Keys that take effect for one listener's SASL mechanism alone."""


def is_served(key: str) -> bool:
    """Whether a key, given behind `listener.name.<name>.`, has an effect."""
    return key in SERVED_FOR_A_LISTENER or key.partition(".")[2] in SERVED_FOR_A_MECHANISM


class ListenerConfigReader:
    """Reads the keys of one listener; values are typed and checked as those of the broker."""

    def __init__(self, read: BrokerConfigReader, listener: str, mechanism: str | None = None) -> None:
        """`listener` is its name, in any case; with `mechanism` the keys of one SASL mechanism come first."""
        self._read = read
        self.listener = listener
        self._prefixes = [f"{PREFIX}{listener.lower()}."]
        if mechanism is not None:
            self._prefixes.insert(0, f"{self._prefixes[0]}{mechanism.lower()}.")

    def mechanism(self, name: str) -> "ListenerConfigReader":
        """Return what reads the keys of one SASL mechanism, before those of the listener and of the broker."""
        return ListenerConfigReader(self._read, self.listener, name)

    def own(self, key: str) -> Text | None:
        """Return what was given with the longest prefix: for the mechanism, if there is one, else for the listener."""
        return self._read.given(self._prefixes[0] + key)

    def given(self, key: str) -> Text | None:
        """Return what was given for a key, with the name under which it was given; None when it has its default."""
        for name in (*(prefix + key for prefix in self._prefixes), key):
            text = self._read.given(name)
            if text is not None:
                return text
        return None

    def error(self, key: str, reason: str) -> ConfigError:
        """Return the error that says what is wrong with the value of a key; what is secret is not shown."""
        given = self.given(key)
        if given is None:
            return ConfigError(reason, key=self._prefixes[0] + key)
        value = HIDDEN if broker_definitions()[key].sensitive else given.value
        return ConfigError(reason, key=given.key, value=value, origin=given.origin)

    def value(self, key: str) -> Value:
        """Return the typed value; ConfigError when what was given is not valid."""
        given = self.given(key)
        if given is None or given.key == key:
            return self._read.value(key)
        try:
            return broker_definitions()[key].parse(given.value)
        except ConfigError as wrong:
            raise self.error(key, wrong.reason) from None

    def text(self, key: str) -> str | None:
        """Return the value of a key that is text; None for null."""
        value = self.value(key)
        return value if isinstance(value, str) else None

    def integer(self, key: str) -> int:
        """Return the value of a key that always has a whole number."""
        value = self.value(key)
        assert isinstance(value, int)
        return value

    def boolean(self, key: str) -> bool:
        """Return the value of a key that is true or false."""
        return self.value(key) is True

    def elements(self, key: str) -> tuple[str, ...]:
        """Return the elements of a list; none for null."""
        value = self.value(key)
        return value if isinstance(value, tuple) else ()
