"""From rows and Arrow record batches to what a producer is given. Pure: nothing here knows of a producer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark_odradek.errors import SourceError
from pyspark_odradek.writing.options import WriteOptions

if TYPE_CHECKING:
    import pyarrow as pa

ANY_PARTITION: Final = -1
NOW: Final = 0
_MAX_PARTITION: Final = 0x7FFF_FFFF
_MICROSECONDS: Final = 1_000_000


class Outgoing(NamedTuple):
    """A record to be written."""

    topic: str
    key: bytes | str | None
    value: bytes | str | None
    partition: int
    """ANY_PARTITION: the producer chooses."""
    timestamp: int
    """In milliseconds; NOW: the time at which it is written."""
    headers: list[tuple[str, str | bytes | None]] | None


def from_arrow(batch: pa.RecordBatch, options: WriteOptions) -> Iterator[Outgoing]:
    """Yield the records of an Arrow record batch. Raises SourceError where a row cannot be written."""
    columns = {
        name: _values(column)
        for name, column in zip(options.columns, batch.columns, strict=True)
        if name in ("topic", "key", "value", "partition", "timestamp", "headers")
    }
    return _outgoing(columns, options)


def from_rows(rows: Iterable[Any], options: WriteOptions) -> Iterator[Outgoing]:
    """Yield the records of rows of Spark. Raises SourceError where a row cannot be written."""
    at = {name: position for position, name in enumerate(options.columns)}
    for row in rows:
        columns = {name: [_plain(row[position])] for name, position in at.items()}
        yield from _outgoing(columns, options)


def _outgoing(columns: Mapping[str, Sequence[Any]], options: WriteOptions) -> Iterator[Outgoing]:
    none: Iterable[Any] = repeat(None)
    topics = repeat(options.topic) if options.topic is not None else columns["topic"]
    rest = [columns.get(name, none) for name in ("key", "partition", "timestamp", "headers")]
    for topic, value, key, partition, timestamp, headers in zip(topics, columns["value"], *rest, strict=False):
        yield Outgoing(
            _topic(topic),
            key,
            value,
            ANY_PARTITION if partition is None else _partition(partition),
            NOW if timestamp is None else _milliseconds(timestamp, options.timestamps_in_seconds),
            None if headers is None else _headers(headers),
        )


def _values(column: pa.Array) -> list[Any]:
    """Return the values of a column; times as numbers."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, datetime):
        return round(value.timestamp() * _MICROSECONDS)
    return value


def _milliseconds(timestamp: float, in_seconds: bool) -> int:
    """Return a time as a producer takes it: whole milliseconds; it has no times before 1970."""
    return max(NOW, round(timestamp * 1000) if in_seconds else int(timestamp) // 1000)


def _topic(topic: str | None) -> str:
    if not topic:
        raise SourceError("a row has no topic: give the option topic, or fill the column topic in every row")
    return topic


def _partition(partition: int) -> int:
    if not 0 <= partition <= _MAX_PARTITION:
        raise SourceError(f"a row has the partition {partition}: it must be 0 or more, or null for any")
    return partition


def _headers(headers: Iterable[Any]) -> list[tuple[str, str | bytes | None]]:
    found: list[tuple[str, str | bytes | None]] = []
    for header in headers:
        name, value = (header["key"], header["value"]) if header is not None else (None, None)
        if name is None:
            raise SourceError("a row has a header without a name")
        found.append((name, None if value is None else bytes(value)))
    return found
