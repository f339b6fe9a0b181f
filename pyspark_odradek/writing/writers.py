"""The writers, in batch and streaming."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamWriter,
    WriterCommitMessage,
)

from pyspark_odradek.errors import sentence_first
from pyspark_odradek.writing.columns import Outgoing, from_arrow, from_rows
from pyspark_odradek.writing.options import WriteOptions, write_options

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import Row, StructType


@dataclass
class RecordsWritten(WriterCommitMessage):
    """What a task has written."""

    records: int


class BatchWriter(DataSourceArrowWriter):
    """Appends the rows of a DataFrame to topics."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> RecordsWritten:
        """Write the rows of a task; return once all are acknowledged. Raises SourceError."""
        return write_batches(iterator, self._options)


class StreamRowWriter(DataSourceStreamWriter):
    """Appends the rows of a streaming query, for Spark 4.0, which has no Arrow record batches for it."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[Row]) -> RecordsWritten:
        """Write the rows of a task of a micro-batch; return once all are acknowledged. Raises SourceError."""
        return _write([from_rows(iterator, self._options)], self._options)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: all records are acknowledged by now."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: records that other tasks have written stay."""


def write_batches(batches: Iterable[pa.RecordBatch], options: WriteOptions) -> RecordsWritten:
    """Write the rows of a task; return once all are acknowledged. Raises SourceError."""
    return _write((from_arrow(batch, options) for batch in batches), options)


def checked_options(schema: StructType, options: Mapping[str, str], overwrite: bool) -> WriteOptions:
    """Return the options of a writer whose cluster answers.

    Raises:
        OptionError: the options or columns are not those of the sink.
        ClusterError: the topic cannot be written.
    """
    from pyspark_odradek.writing.producer import Sink

    with sentence_first():
        checked = write_options(options, schema, overwrite)
        Sink(checked.producer).check(checked.topic)
        return checked


def _write(parts: Iterable[Iterable[Outgoing]], options: WriteOptions) -> RecordsWritten:
    from pyspark_odradek.writing.producer import Sink

    with sentence_first():
        sink = Sink(options.producer)
        try:
            written = sum(sink.send(part) for part in parts)
            sink.finish()
        except BaseException:
            sink.discard()
            raise
        return RecordsWritten(written)
