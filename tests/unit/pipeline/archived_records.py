"""Records as the archive's tasks write them, without Spark; and what DuckDB counts of their files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import duckdb
import pyarrow as pa

from odradek.pipeline.data_files import ArchiveTask, DataFile, TaskStore, from_row
from odradek.pipeline.layout import Layout, schema_of
from pyspark_odradek.offsets import OffsetRange, Offsets, TopicPartition

DAY_US = 86_400_000_000
FIRST_DAY = date(2026, 11, 21)
FIRST_US = (FIRST_DAY - date(1970, 1, 1)).days * DAY_US


def write(store: TaskStore, place: tuple[str, str], ranges: Sequence[OffsetRange]) -> list[DataFile]:
    """Write the records of these offsets, a task for each partition; four records make a day."""
    return [file for each in ranges for file in write_rows(store, place, pa.Table.from_batches([records(each)]))]


def write_rows(store: TaskStore, place: tuple[str, str], rows: pa.Table) -> list[DataFile]:
    """Write records as one task."""
    written = ArchiveTask(store, *place, "zstd", 1 << 20)(rows.to_batches())
    return [from_row(row) for batch in written for row in batch.to_pylist()]


def records(of: OffsetRange) -> pa.RecordBatch:
    """Return the records of some offsets with all columns, topic and date."""
    rows = [
        {
            "key": b"%d" % offset,
            "value": b"value" * 3,
            "partition": of.partition.partition,
            "offset": offset,
            "timestamp": FIRST_US + offset * DAY_US // 4,
            "timestampType": 0,
            "headers": [{"key": "h", "value": b"\xff"}],
            "topic": of.partition.topic,
            "date": FIRST_DAY.toordinal() - date(1970, 1, 1).toordinal() + offset // 4,
        }
        for offset in range(of.first, of.until)
    ]
    schema = schema_of(Layout())
    columns = [pa.array([row[name] for row in rows], _plain(schema.field(name).type)) for name in schema.names]
    return pa.RecordBatch.from_arrays(
        [column.cast(schema.field(number).type) for number, column in enumerate(columns)], schema=schema
    )


def counted(files: Sequence[str]) -> Offsets:
    """Return how many records DuckDB finds of each partition of topic `a`; checks that no offset is there twice."""
    query = 'SELECT partition, count(*), count(DISTINCT "offset"), max("offset") + 1 FROM read_parquet(?) GROUP BY 1'
    with duckdb.connect() as connection:
        rows = connection.execute(query, [list(files)]).fetchall() if files else []
    assert all(total == different == end for _, total, different, end in rows), rows
    return {TopicPartition("a", partition): total for partition, total, _, _ in rows}


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_timestamp(kind) else pa.int32() if pa.types.is_date(kind) else kind
