"""From the options `kafka.*` to a client: which one can do what is asked, and its settings.

The names are those of Kafka's Java consumer, as users of Spark's own source have them. The small client knows some of
them; where there are others, librdkafka reads, which has the same names for most and refuses what it does not know.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Final, TypeAlias

from odradek.client.connection import Buffers
from odradek.client.login import login_of, uses_tls
from odradek.client.settings import SettingError, librdkafka_names
from odradek.client.tls import tls_context
from odradek.protocol.sasl import MakeExchange
from pyspark_odradek.client.backoff import Backoff
from pyspark_odradek.client.cluster import FETCH_BYTES, FETCH_MAX_BYTES, ClusterOptions
from pyspark_odradek.client.setting_names import AS_IT_IS, KEPT_ANYWAY, OF_GROUPS, USED, check_reader, librdkafka_named
from pyspark_odradek.errors import OptionError

Settings: TypeAlias = Mapping[str, str]

PLANNING_RETRY_TIMEOUT_S: Final = 10.0
"""For how long a cluster is tried that never answered before: whoever starts a query waits for it."""

_DEFAULT_PORT: Final = 9092


def needs_librdkafka(settings: Settings) -> bool:
    """Return whether these settings ask for more than the small client does."""
    return bool(settings.keys() - USED - OF_GROUPS - KEPT_ANYWAY - AS_IT_IS.keys())


def cluster_options(settings: Settings, retry_timeout_s: float) -> ClusterOptions:
    """Return the options of the small client. Raises OptionError where a setting has no valid value."""
    check_reader(settings)
    isolation = _one_of(settings, "isolation.level", ("read_uncommitted", "read_committed"))
    found = _translated(settings)
    api_timeout_s = _number(settings, "default.api.timeout.ms", int(PLANNING_RETRY_TIMEOUT_S * 1000)) / 1000
    return ClusterOptions(
        bootstrap=addresses(settings["bootstrap.servers"]),
        client_id=settings.get("client.id", "odradek-spark"),
        request_timeout_s=_number(settings, "request.timeout.ms", 30_000) / 1000,
        retry_timeout_s=retry_timeout_s,
        first_retry_timeout_s=min(retry_timeout_s, api_timeout_s),
        connect_timeout_s=_number(settings, "socket.connection.setup.timeout.ms", 10_000) / 1000,
        retry_backoff=_backoff(settings, "retry.backoff", 100),
        reconnect_backoff=_backoff(settings, "reconnect.backoff", 50),
        idle_timeout_s=_number(settings, "connections.max.idle.ms", 540_000) / 1000,
        buffers=Buffers(_buffer(settings, "receive.buffer.bytes"), _buffer(settings, "send.buffer.bytes")),
        read_committed=isolation == "read_committed",
        internal_topics=_one_of(settings, "exclude.internal.topics", ("true", "false")) == "false",
        rack=settings.get("client.rack", "").strip(),
        fetch_bytes=_number(settings, "max.partition.fetch.bytes", FETCH_BYTES),
        fetch_max_bytes=_number(settings, "fetch.max.bytes", FETCH_MAX_BYTES),
        fetch_min_bytes=_number(settings, "fetch.min.bytes", 1),
        fetch_max_wait_ms=_number(settings, "fetch.max.wait.ms", 500),
        check_crcs=_one_of(settings, "check.crcs", ("true", "false")) == "true",
        tls=_tls(found) if uses_tls(found) else None,
        login=_login(found),
    )


def librdkafka_settings(settings: Settings) -> dict[str, str]:
    """Return the settings for librdkafka, which does not know all of Java's names.

    Raises:
        OptionError: a setting has a value that cannot be translated.
    """
    return _translated(librdkafka_named(settings))


def librdkafka_reader_settings(settings: Settings) -> dict[str, str]:
    """Return the settings for librdkafka of one who reads.

    Raises:
        OptionError: a setting cannot be kept to, or has a value that cannot be translated.
    """
    check_reader(settings)
    not_its_own = OF_GROUPS | {"allow.auto.create.topics", "default.api.timeout.ms", "exclude.internal.topics"}
    return librdkafka_settings({name: value for name, value in settings.items() if name not in not_its_own})


def addresses(text: str) -> tuple[tuple[str, int], ...]:
    """Return the hosts and ports of bootstrap.servers. Raises OptionError."""
    found = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        host, colon, port = ("", "", "") if part.endswith("]") else part.rpartition(":")
        if not colon:
            host, port = part, str(_DEFAULT_PORT)
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise OptionError(f"kafka.bootstrap.servers must be like host1:9092,host2:9092, it has {part!r}")
        found.append((host.rpartition("//")[2].strip("[]"), int(port)))
    if not found:
        raise OptionError("kafka.bootstrap.servers names no broker; it must be like host1:9092,host2:9092")
    return tuple(found)


def _number(settings: Settings, name: str, default: int) -> int:
    text = settings.get(name, str(default)).strip()
    if not text.isdigit() or not 0 < int(text) < 2**31:
        raise OptionError(f"kafka.{name} must be a whole number above 0, not {text!r}")
    return int(text)


def _backoff(settings: Settings, name: str, first_ms: int) -> Backoff:
    first = _number(settings, f"{name}.ms", first_ms) / 1000
    return Backoff(first, _number(settings, f"{name}.max.ms", 1000) / 1000)


def _buffer(settings: Settings, name: str) -> int | None:
    """Return the size of a buffer of a socket, None where it is left to the system."""
    return None if settings.get(name, "-1").strip() == "-1" else _number(settings, name, 0)


def _one_of(settings: Settings, name: str, values: tuple[str, str]) -> str:
    """Return a setting that has one of two values, the first where it is not set."""
    value = settings.get(name, values[0]).strip().lower()
    if value not in values:
        raise OptionError(f"kafka.{name} must be {values[0]} or {values[1]}, not {value!r}")
    return value


def _translated(settings: Settings) -> dict[str, str]:
    """Return settings by librdkafka's names. Raises OptionError where they are Java's alone."""
    try:
        return librdkafka_names(settings)
    except SettingError as wrong:
        raise OptionError(f"kafka.{wrong}") from wrong


def _tls(settings: Settings) -> ssl.SSLContext:
    """Return how to speak TLS. Raises OptionError where files cannot be used."""
    try:
        return tls_context(settings)
    except (OSError, ValueError) as wrong:
        raise OptionError(f"the TLS files that kafka.ssl.* name cannot be used: {wrong}") from wrong


def _login(settings: Settings) -> MakeExchange | None:
    """Return how to authenticate. Raises OptionError where the settings do not say it."""
    try:
        return login_of(settings)
    except ValueError as wrong:
        raise OptionError(f"kafka.{wrong}") from wrong
