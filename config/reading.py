"""Typed reading of broker values, and Kafka's rules between them.

A Reader knows what was given and where, falls back to Kafka's default, and raises ConfigError with the origin of a bad
value. The rules between keys are those of Kafka 4.3 at start (KafkaConfig.validateValues) that concern one node.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from odradek.config.definitions import broker_definitions
from odradek.config.errors import ConfigError
from odradek.config.listeners import NO_LIMIT, Text
from odradek.config.values import Value

MEBIBYTE = 1 << 20


class BrokerConfigReader:
    """Reads broker keys from given texts, with Kafka's defaults behind them."""

    def __init__(self, values: Mapping[str, str], origins: Mapping[str, str]) -> None:
        self._values = values
        self._origins = origins

    def given(self, key: str) -> Text | None:
        """Return what was given for a key, with its origin; None when it has Kafka's default."""
        text = self._values.get(key)
        return None if text is None else Text(key, text, self._origins.get(key))

    def error(self, key: str, reason: str) -> ConfigError:
        """Return the error that says what is wrong with the value of a key."""
        return ConfigError(reason, key=key, value=self._values.get(key), origin=self._origins.get(key))

    def value(self, key: str) -> Value:
        """Return the typed value; ConfigError when what was given is not valid."""
        definition = broker_definitions()[key]
        text = self._values.get(key)
        if text is None:
            return None if definition.default is None else definition.parse(definition.default)
        return definition.parse(text, self._origins.get(key))

    def integer(self, key: str) -> int:
        """Return the value of a key that always has a whole number."""
        value = self.value(key)
        assert isinstance(value, int)
        return value

    def real(self, key: str) -> float:
        """Return the value of a key that always has a number."""
        value = self.value(key)
        assert isinstance(value, int | float)
        return float(value)

    def boolean(self, key: str) -> bool:
        """Return the value of a key that is true or false."""
        return self.value(key) is True

    def text(self, key: str) -> str | None:
        """Return the value of a key that is text; None for null."""
        value = self.value(key)
        return value if isinstance(value, str) else None

    def elements(self, key: str) -> tuple[str, ...]:
        """Return the elements of a list; none for null."""
        value = self.value(key)
        return value if isinstance(value, tuple) else ()

    def listener_limit(self, listener: str, key: str) -> int:
        """Return a limit of one listener, from listener.name.<name>.<key> in lower case; NO_LIMIT when not given."""
        prefixed = f"listener.name.{listener.lower()}.{key}"
        text = self._values.get(prefixed)
        if text is None:
            return NO_LIMIT
        try:
            value = broker_definitions()[key].parse(text)
        except ConfigError as error:
            raise self.error(prefixed, error.reason) from None
        assert isinstance(value, int)
        return value

    def connection_overrides(self) -> dict[str, int]:
        """Return address or host name -> most connections, from max.connections.per.ip.overrides."""
        key = "max.connections.per.ip.overrides"
        limits: dict[str, int] = {}
        for pair in filter(None, (part.strip() for part in (self.text(key) or "").split(","))):
            host, colon, limit = pair.rpartition(":")
            host, limit = host.strip(), limit.strip()
            if not colon or not host or not limit.isascii() or not limit.isdigit() or len(limit) > 10:
                raise self.error(key, f"cannot read {pair!r}: expected address:number")
            limits[host.removeprefix("[").removesuffix("]")] = int(limit)
        return limits


RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
REPLICA_SELECTORS = (RACK_AWARE_SELECTOR, "org.apache.kafka.common.replica.LeaderSelector")


def check_rules(read: BrokerConfigReader) -> None:
    """Refuse values that contradict each other; ConfigError names the key to change, of the first rule."""
    for rule in RULES:
        rule(read)


def _rolling(read: BrokerConfigReader) -> None:
    if read.value("log.roll.ms") is not None and read.integer("log.roll.ms") < 1:
        raise read.error("log.roll.ms", "expected at least 1")


def _jitter(read: BrokerConfigReader) -> None:
    if read.value("log.roll.jitter.ms") is not None and read.integer("log.roll.jitter.ms") < 0:
        raise read.error("log.roll.jitter.ms", "expected at least 0")


def _retention(read: BrokerConfigReader) -> None:
    for key in ("log.retention.ms", "log.retention.minutes", "log.retention.hours"):
        if read.value(key) is not None:
            if read.value(key) == 0:
                raise read.error(key, "expected -1 (keep for ever) or at least 1")
            break


def _requests(read: BrokerConfigReader) -> None:
    requests = read.integer("queued.max.request.bytes")
    if 0 < requests < read.integer("socket.request.max.bytes"):
        raise read.error("queued.max.request.bytes", "expected 0, -1 or at least socket.request.max.bytes")


def _connections(read: BrokerConfigReader) -> None:
    overrides = read.connection_overrides()
    if read.integer("max.connections.per.ip") == 0 and not overrides:
        raise read.error("max.connections.per.ip", "0 needs max.connections.per.ip.overrides, else nobody gets in")


def _failed_logins(read: BrokerConfigReader) -> None:
    delay = read.integer("connection.failed.authentication.delay.ms")
    if delay >= read.integer("connections.max.idle.ms"):
        raise read.error("connection.failed.authentication.delay.ms", "expected less than connections.max.idle.ms")


def _cleaner(read: BrokerConfigReader) -> None:
    threads = read.integer("log.cleaner.threads")
    if threads < 1:
        raise read.error("log.cleaner.threads", "expected at least 1; log.cleaner.enable turns the cleaner off")
    if read.integer("log.cleaner.dedupe.buffer.size") // threads <= MEBIBYTE:
        raise read.error("log.cleaner.dedupe.buffer.size", "expected more than 1048576 for each of log.cleaner.threads")


def _selector(read: BrokerConfigReader) -> None:
    if read.value("replica.selector.class") not in (None, *REPLICA_SELECTORS):
        raise read.error("replica.selector.class", f"expected one of {', '.join(REPLICA_SELECTORS)}")


def _fetching(read: BrokerConfigReader) -> None:
    wait = read.integer("replica.fetch.wait.max.ms")
    if wait > read.integer("replica.socket.timeout.ms") or wait > read.integer("replica.lag.time.max.ms"):
        raise read.error(
            "replica.fetch.wait.max.ms", "expected at most replica.socket.timeout.ms and replica.lag.time.max.ms"
        )


RULES: Final[Sequence[Callable[[BrokerConfigReader], None]]] = (
    _rolling,
    _jitter,
    _retention,
    _requests,
    _connections,
    _failed_logins,
    _cleaner,
    _selector,
    _fetching,
)
"""Each raises ConfigError where it does not hold, or where a value that it needs is not valid."""
