"""From the options `kafka.*` to a client: which one can do what is asked, and its settings.

The names are those of Kafka's Java consumer, as users of Spark's own source have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark_odradek.client.cluster import ClusterOptions
from pyspark_odradek.errors import OptionError

_DEFAULT_PORT: Final = 9092
_MIN_FETCH_BYTES: Final = 1024 * 1024
_WITHOUT_EFFECT: Final = frozenset(
    {
        "group.id",
        "max.poll.records",
        "max.poll.interval.ms",
        "session.timeout.ms",
        "heartbeat.interval.ms",
        "auto.commit.interval.ms",
        "partition.assignment.strategy",
        "fetch.min.bytes",
        "fetch.max.wait.ms",
        "metadata.max.age.ms",
        "connections.max.idle.ms",
        "receive.buffer.bytes",
        "send.buffer.bytes",
        "reconnect.backoff.ms",
        "reconnect.backoff.max.ms",
        "retry.backoff.ms",
        "default.api.timeout.ms",
        "client.dns.lookup",
        "allow.auto.create.topics",
    }
)
"""Settings of Java's consumer that say nothing here: there is no group, and nothing is polled."""


def cluster_options(settings: Mapping[str, str], patience_s: float) -> ClusterOptions:
    """Return the options of the small client. Raises OptionError where a setting has no valid value."""
    isolation = settings.get("isolation.level", "read_uncommitted").lower()
    if isolation not in ("read_uncommitted", "read_committed"):
        raise OptionError(f"kafka.isolation.level must be read_uncommitted or read_committed, not {isolation}")
    return ClusterOptions(
        bootstrap=addresses(settings["bootstrap.servers"]),
        client_id=settings.get("client.id", "odradek-spark"),
        timeout_s=number(settings, "request.timeout.ms", 30_000) / 1000,
        patience_s=patience_s,
        read_committed=isolation == "read_committed",
    )


def addresses(text: str) -> tuple[tuple[str, int], ...]:
    """Return the hosts and ports of bootstrap.servers. Raises OptionError."""
    found = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        host, colon, port = part.rpartition(":") if not part.endswith("]") else (part, "", "")
        if not colon:
            host, port = part, str(_DEFAULT_PORT)
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise OptionError(f"kafka.bootstrap.servers must be like host1:9092,host2:9092, it has {part!r}")
        found.append((host.strip("[]"), int(port)))
    if not found:
        raise OptionError("kafka.bootstrap.servers names no broker; it must be like host1:9092,host2:9092")
    return tuple(found)


def number(settings: Mapping[str, str], name: str, default: int) -> int:
    """Return a setting that is a whole number. Raises OptionError."""
    text = settings.get(name, str(default)).strip()
    if not text.isdigit():
        raise OptionError(f"kafka.{name} must be a whole number, not {text!r}")
    return int(text)
