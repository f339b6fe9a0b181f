"""The options and columns of a writer, with the names and meanings of Spark's own `kafka` sink.

Reading them checks everything that can be checked without a cluster, so that a mistake is told when the query starts.
The settings `kafka.*` have the names of Kafka's Java producer; librdkafka knows most of them, others are translated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark_odradek.client.setting_names import OF_READERS
from pyspark_odradek.client.settings import librdkafka_settings
from pyspark_odradek.errors import OptionError
from pyspark_odradek.option_values import boolean, given_options, kafka_settings

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

HEADERS_TYPE: Final = "array<struct<key:string,value:binary>>"
COLUMN_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "topic": ("string",),
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "partition": ("int",),
    "headers": (HEADERS_TYPE,),
    "timestamp": ("timestamp", "double"),
}
"""The columns that are written, and the types that each can have; other columns are left out, as Spark's sink does."""

_KNOWN: Final = {"topic": "topic", "includeheaders": "includeHeaders"}
_FORBIDDEN_SETTINGS: Final = {
    "key.serializer": "keys are written as they are; turn them into strings or bytes in the DataFrame",
    "value.serializer": "values are written as they are; turn them into strings or bytes in the DataFrame",
    "partitioner.class": "there is no Java client here; kafka.partitioner takes the names that librdkafka has",
    "interceptor.classes": "there is no Java client here",
    "metric.reporters": "there is no Java client here",
    "max.block.ms": "a task waits for room as long as records may wait: set kafka.delivery.timeout.ms",
    "partitioner.adaptive.partitioning.enable": "records without a key go to partitions at random, whichever are slow",
    "partitioner.availability.timeout.ms": "records without a key go to partitions at random, whichever are slow",
    "partitioner.ignore.keys": "set kafka.partitioner=random to have keys ignored",
    "socket.connection.setup.timeout.max.ms": "the time to connect does not grow here;"
    " socket.connection.setup.timeout.ms says it",
    "transactional.id": "a task that Spark tries again could not go on with the transaction of the one before; the"
    " relay has --transactional-id",
}
_DEFAULTS: Final[Mapping[str, str]] = {
    "acks": "all",
    "partitioner": "murmur2_random",  # keys land where Java's producers put them
    "linger.ms": "20",
    "message.max.bytes": "1048576",
    "delivery.timeout.ms": "120000",
    "queue.buffering.max.kbytes": "65536",
    "queue.buffering.max.messages": "500000",
    "topic.metadata.propagation.max.ms": "5000",
    "client.id": "odradek-spark",
}
_TRANSACTION_TIMEOUT_MS: Final = "60000"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How and where to write."""

    producer: Mapping[str, Any]
    """Settings of librdkafka's producer."""
    topic: str | None
    """Wins over the column."""
    timestamps_in_seconds: bool
    """Whether the column timestamp has seconds as `double`; otherwise it has Spark's timestamps."""
    columns: tuple[str, ...]
    """Names of all columns, in their order."""


def write_options(
    options: Mapping[str, str], schema: StructType, overwrite: bool, transactional: bool = False
) -> WriteOptions:
    """Return the options of a writer for rows of this schema; `transactional` for one that writes in transactions.

    Raises:
        OptionError: an option is missing, unknown or has no valid value, or the columns are not those of the sink.
    """
    given = given_options(options, _KNOWN)
    if overwrite:
        raise OptionError("a topic cannot be overwritten, only appended to: use mode('append')")
    boolean(given, "includeHeaders", default=False)
    topic = given.get("topic")
    if topic is not None and not topic.strip():
        raise OptionError("the option topic names no topic")
    columns = tuple(schema.fieldNames())
    types = _check_columns(schema)
    if topic is None and "topic" not in types:
        raise OptionError("nothing says where to write: give the option topic, or a column topic")
    return WriteOptions(
        producer=(transactional_settings if transactional else producer_settings)(kafka_settings(options)),
        topic=topic,
        timestamps_in_seconds=types.get("timestamp") == "double",
        columns=columns,
    )


def producer_settings(settings: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings for librdkafka's producer, with our defaults.

    A producer is idempotent unless a setting rules that out, as with Java's. Raises OptionError.
    """
    for name in settings:
        if name in _FORBIDDEN_SETTINGS:
            raise OptionError(f"kafka.{name} cannot be set: {_FORBIDDEN_SETTINGS[name]}")
        if name in OF_READERS:
            raise OptionError(f"kafka.{name} cannot be set: it is a setting of consumers, and says nothing to a writer")
    found = librdkafka_settings(settings)
    if "max.request.size" in found:
        found["message.max.bytes"] = found.pop("max.request.size")
    if "buffer.memory" in found:
        found["queue.buffering.max.kbytes"] = str(max(1, _bytes(found.pop("buffer.memory")) // 1024))
    same = {"message.timeout.ms": "delivery.timeout.ms", "queue.buffering.max.ms": "linger.ms"}
    found = {same.get(name, name): value for name, value in found.items()}
    idempotent = (
        found.get("acks", "all").lower() in ("all", "-1")
        and found.get("retries") != "0"
        and found.get("max.in.flight.requests.per.connection", "5") in ("1", "2", "3", "4", "5")
    )
    return {**_DEFAULTS, "enable.idempotence": str(idempotent).lower(), **found, "delivery.report.only.error": True}


def transactional_settings(settings: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings for a producer that writes in transactions, but for its id.

    Records have as long to arrive as a transaction may take. Raises OptionError.
    """
    found = {"transaction.timeout.ms": _TRANSACTION_TIMEOUT_MS, **producer_settings(settings)}
    if found["enable.idempotence"] != "true":
        raise OptionError(
            "transactions need an idempotent producer: kafka.acks must be all, kafka.retries not 0, at most 5 requests"
            " in flight, and kafka.enable.idempotence not false"
        )
    if not {"delivery.timeout.ms", "message.timeout.ms"} & settings.keys():
        found["delivery.timeout.ms"] = found["transaction.timeout.ms"]
    return found


def _check_columns(schema: StructType) -> dict[str, str]:
    """Return the type of each column that is written. Raises OptionError."""
    types: dict[str, str] = {}
    for field in schema.fields:
        allowed = COLUMN_TYPES.get(field.name)
        if allowed is None:
            continue
        if field.name in types:
            raise OptionError(f"the column {field.name} is there twice")
        kind = field.dataType.simpleString()
        kind = "string" if kind.startswith("string ") else kind  # with a collation
        if kind not in allowed:
            raise OptionError(f"the column {field.name} must be of type {' or '.join(allowed)}, it is {kind}")
        types[field.name] = kind
    if "value" not in types:
        raise OptionError(f"a column value is missing; there are {', '.join(schema.fieldNames()) or 'none'}")
    return types


def _bytes(text: str) -> int:
    if not text.strip().isdigit():
        raise OptionError(f"kafka.buffer.memory must be a number of bytes, not {text!r}")
    return int(text)
