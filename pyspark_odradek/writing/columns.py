"""From rows and Arrow record batches to what a producer is given. Pure: nothing here knows of a producer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark_odradek.errors import SourceError
from pyspark_odradek.writing.options import COLUMN_TYPES, WriteOptions

if TYPE_CHECKING:
    import pyarrow as pa

ANY_PARTITION: Final = -1
NOW: Final = 0
_MAX_PARTITION: Final = 0x7FFF_FFFF
_MICROSECONDS: Final = 1_000_000
_ROWS_AT_ONCE: Final = 1000


Outgoing: TypeAlias = tuple[
    str, bytes | str | None, bytes | str | None, int, int, list[tuple[str, str | bytes | None]] | None
]
"""A record to be written, in the order in which a producer is given it: topic, value, key, partition (ANY_PARTITION: it
chooses), timestamp (in milliseconds; NOW: the time at which it is written) and headers."""


def from_arrow(batch: pa.RecordBatch, options: WriteOptions) -> Iterator[Outgoing]:
    """Return the records of an Arrow record batch. Raises SourceError where a row cannot be written."""
    columns = zip(options.columns, batch.columns, strict=True)
    return _outgoing({name: _values(column) for name, column in columns if name in COLUMN_TYPES}, options)


def from_rows(rows: Iterable[Any], options: WriteOptions) -> Iterator[Outgoing]:
    """Yield the records of rows of Spark. Raises SourceError where a row cannot be written."""
    rest = iter(rows)
    while some := list(islice(rest, _ROWS_AT_ONCE)):
        columns = zip(options.columns, zip(*some, strict=True), strict=True)
        yield from _outgoing(
            {name: list(map(_plain, column)) for name, column in columns if name in COLUMN_TYPES}, options
        )


def _outgoing(columns: Mapping[str, Sequence[Any]], options: WriteOptions) -> Iterator[Outgoing]:
    """Return the records that columns stand for: each column is made ready as a whole, no code runs for each record."""

    def each(name: str, change: Callable[[Any], Any], missing: Any) -> Iterable[Any]:
        if name not in columns:
            return repeat(missing)
        return [missing if value is None else change(value) for value in columns[name]]

    in_seconds = options.timestamps_in_seconds
    return zip(
        _topics(columns["topic"]) if options.topic is None else repeat(options.topic),
        columns["value"],
        columns.get("key", repeat(None)),
        each("partition", _partition, ANY_PARTITION),
        each("timestamp", lambda timestamp: _milliseconds(timestamp, in_seconds), NOW),
        each("headers", _headers, None),
        strict=False,  # what is the same for all does not end
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


def _topics(topics: Sequence[str | None]) -> Sequence[Any]:
    if not all(topics):
        raise SourceError("a row has no topic: give the option topic, or fill the column topic in every row")
    return topics


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
