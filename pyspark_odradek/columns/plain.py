"""Arrow columns record by record: for few records, and for those of Kafka's older formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from odradek.protocol.records.batch import CURRENT_MAGIC
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record, iter_body
from pyspark_odradek.columns import arrays
from pyspark_odradek.offsets import OffsetRange
from pyspark_odradek.schema import CREATE_TIME, LOG_APPEND_TIME, MAX_TIME_MS, NO_TIME, arrow_schema

if TYPE_CHECKING:
    from pyspark_odradek.columns.body import Body

_LONGS = 1 << 64


class Row(NamedTuple):
    """A record, and what its timestamp means: NO_TIME, CREATE_TIME or LOG_APPEND_TIME."""

    record: Record
    kind: int


def columns(wanted: OffsetRange, bodies: Sequence[Body], include_headers: bool) -> pa.RecordBatch:
    """Return the wanted records as an Arrow record batch; see `building.build`."""
    rows = [
        Row(record, _kind(body))
        for body in bodies
        for record in _records(body)
        if wanted.first <= record.offset < wanted.until
    ]
    return from_rows(wanted, rows, include_headers)


def from_rows(wanted: OffsetRange, rows: Sequence[Row], include_headers: bool) -> pa.RecordBatch:
    """Return rows of one partition as an Arrow record batch."""
    count = len(rows)
    topic, partition = wanted.partition
    schema = arrow_schema(include_headers)
    found = [
        arrays.binary([row.record.key for row in rows], pa.binary()),
        arrays.binary([row.record.value for row in rows], pa.binary()),
        arrays.repeated_text(topic, count),
        arrays.repeated_number(partition, count),
        arrays.numbers([row.record.offset for row in rows], pa.int64()),
        arrays.numbers([_microseconds(row.record.timestamp) for row in rows], schema.field("timestamp").type),
        arrays.numbers([row.kind for row in rows], pa.int32()),
    ]
    if include_headers:
        found.append(arrays.headers([row.record.headers for row in rows]))
    return pa.record_batch(found, schema)


def _kind(body: Body) -> int:
    if body.header.magic == 0:
        return NO_TIME
    return LOG_APPEND_TIME if body.header.is_log_append_time else CREATE_TIME


def _records(body: Body) -> Iterator[Record]:
    if body.header.magic != CURRENT_MAGIC:
        return iter_entry_records(memoryview(body.records))
    return iter_body(bytes(body.records), body.header)


def _microseconds(milliseconds: int) -> int | None:
    """Return a time as Spark counts it, None for one that it cannot hold; sums go round as 64 bits do."""
    wrapped = (milliseconds + _LONGS // 2) % _LONGS - _LONGS // 2
    return wrapped * 1000 if abs(wrapped) <= MAX_TIME_MS else None
