"""Arrow columns record by record: for few records, and for those of Kafka's older formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from protocol.records.batch import CURRENT_MAGIC
from protocol.records.reading import iter_entry_records
from protocol.records.record import Headers, Record, iter_body
from pyspark_odradek.schema import arrow_schema

if TYPE_CHECKING:
    from pyspark_odradek.columns.building import Body, Wanted


def columns(wanted: Wanted, bodies: Sequence[Body], include_headers: bool) -> pa.RecordBatch:
    """Return the wanted records as an Arrow record batch; see `building.build`."""
    rows: list[Record] = []
    kinds: list[int] = []
    for body in bodies:
        before = len(rows)
        rows += (record for record in _records(body) if wanted.first <= record.offset < wanted.until)
        kinds += [int(body.header.is_log_append_time)] * (len(rows) - before)
    count = len(rows)
    data: list[object] = [
        [row.key for row in rows],
        [row.value for row in rows],
        [wanted.topic] * count,
        [wanted.partition] * count,
        [row.offset for row in rows],
        [row.timestamp * 1000 for row in rows],
        kinds,
    ]
    if include_headers:
        data.append([_headers(row.headers) for row in rows])
    schema = arrow_schema(include_headers)
    return pa.record_batch([pa.array(values, field.type) for values, field in zip(data, schema, strict=True)], schema)


def _records(body: Body) -> Iterator[Record]:
    if body.header.magic != CURRENT_MAGIC:
        return iter_entry_records(memoryview(body.records))
    return iter_body(bytes(body.records), body.header)


def _headers(headers: Headers) -> list[dict[str, object]] | None:
    """Return a record's headers as Arrow takes them; null where there are none, as Spark's own source has it."""
    return [{"key": name.decode(errors="replace"), "value": value} for name, value in headers] if headers else None
