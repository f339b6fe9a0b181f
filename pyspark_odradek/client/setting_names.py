"""Which settings of Kafka's Java clients mean what here: used, taken though they say nothing, or refused with a reason.

What is in none of these tables goes to librdkafka, which refuses what it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark_odradek.errors import OptionError


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


OF_GROUPS: Final = _names(
    """auto.commit.interval.ms group.id group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms
    max.poll.interval.ms max.poll.records partition.assignment.strategy session.timeout.ms"""
)
"""Settings that a reader takes and that say nothing to it: it joins no group, and is not polled."""
KEPT_ANYWAY: Final = _names("metadata.max.age.ms")
"""Settings that a reader keeps to whatever they say: it asks in each micro-batch and when a leader moves."""

USED: Final = _names(
    """bootstrap.servers check.crcs client.id client.rack connections.max.idle.ms default.api.timeout.ms
    exclude.internal.topics fetch.max.bytes fetch.max.wait.ms fetch.min.bytes isolation.level max.partition.fetch.bytes
    receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retry.backoff.max.ms
    retry.backoff.ms sasl.jaas.config sasl.login.callback.handler.class sasl.mechanism sasl.mechanisms
    sasl.oauthbearer.client.id sasl.oauthbearer.client.secret sasl.oauthbearer.extensions sasl.oauthbearer.method
    sasl.oauthbearer.scope sasl.oauthbearer.token.endpoint.url sasl.password sasl.username security.protocol
    send.buffer.bytes socket.connection.setup.timeout.ms ssl.ca.location ssl.ca.pem ssl.certificate.location
    ssl.endpoint.identification.algorithm ssl.key.location ssl.key.password ssl.keystore.location ssl.keystore.type
    ssl.truststore.certificates ssl.truststore.location ssl.truststore.type"""
)
"""Settings that the small client acts upon."""

AS_IT_IS: Final[Mapping[str, tuple[str, str]]] = {
    "allow.auto.create.topics": ("false", "reading makes no topic; create it first"),
    "client.dns.lookup": ("use_all_dns_ips", "all addresses of a name are tried"),
}
"""Settings that can only have the value by which a reader works anyway, and why."""

_NO_JAVA: Final = "there is no Java client here"
_REFUSED: Final[Mapping[str, str]] = {
    "metadata.recovery.rebootstrap.trigger.ms": "a reader asks the bootstrap servers whenever no other broker answers",
    "metadata.recovery.strategy": "a reader asks the bootstrap servers whenever no other broker answers",
    "metric.reporters": _NO_JAVA,
    "metrics.num.samples": _NO_JAVA,
    "metrics.recording.level": _NO_JAVA,
    "metrics.sample.window.ms": _NO_JAVA,
    "security.providers": _NO_JAVA,
    "socket.connection.setup.timeout.max.ms": "the time to connect does not grow here;"
    " socket.connection.setup.timeout.ms says it",
}
"""Settings of Java's consumer that cannot be kept to, and why."""

OF_READERS: Final = OF_GROUPS | _names(
    """allow.auto.create.topics auto.offset.reset check.crcs client.rack default.api.timeout.ms enable.auto.commit
        enable.auto.offset.store enable.partition.eof exclude.internal.topics fetch.error.backoff.ms fetch.max.bytes
        fetch.max.wait.ms fetch.message.max.bytes fetch.min.bytes fetch.queue.backoff.ms fetch.wait.max.ms
        group.protocol.type isolation.level key.deserializer max.partition.fetch.bytes queued.max.messages.kbytes
        queued.min.messages value.deserializer"""
)
"""Settings that say something to those who read, and nothing to those who write; Java's names and librdkafka's."""

_LIBRDKAFKA: Final[Mapping[str, str]] = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
"""Settings that librdkafka has under another name."""
_SYSTEMS_OWN: Final = "-1"
"""Java's size of a buffer that is left to the system, which is 0 to librdkafka."""


def check_reader(settings: Mapping[str, str]) -> None:
    """Raise OptionError for a setting that a reader cannot keep to."""
    for name, value in settings.items():
        if name in _REFUSED:
            raise OptionError(f"kafka.{name} cannot be set: {_REFUSED[name]}")
        possible, why = AS_IT_IS.get(name, (value, ""))
        if value.strip().lower() != possible.strip().lower():
            raise OptionError(f"kafka.{name} can only be {possible}: {why}")


def librdkafka_named(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings under the names that librdkafka has for them."""
    found = {}
    for name, value in settings.items():
        if name.endswith(".buffer.bytes") and value.strip() == _SYSTEMS_OWN:
            value = "0"
        found[_LIBRDKAFKA.get(name, name)] = value
    return found
