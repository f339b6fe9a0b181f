"""The writers of the data source `odradek`, in batch and streaming.

What they guarantee: a task ends well only when all its records are acknowledged (`acks=all`), and within the producer
of one task nothing is lost, doubled or reordered by sending again (idempotence, KIP-98). A task that fails and that
Spark tries again has a new producer and writes all of its records once more; so does a micro-batch that is repeated
after a restart. Every record is thus written at least once, as with Spark's own `kafka` sink. Readers who must see each
record once drop the doubles by something in the record that tells them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamWriter,
    DataSourceWriter,
    WriterCommitMessage,
)

from pyspark_odradek.errors import sentence_first
from pyspark_odradek.writing_columns import Outgoing, from_arrow, from_rows
from pyspark_odradek.writing_options import WriteOptions, write_options

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import Row, StructType


@dataclass
class Written(WriterCommitMessage):
    """What a task has written."""

    records: int


class BatchWriter(DataSourceArrowWriter):
    """Appends the rows of a DataFrame to topics."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task; return once all are acknowledged. Raises SourceError."""
        return write_batches(iterator, self._options)


class StreamRowWriter(DataSourceStreamWriter):
    """Appends the rows of a streaming query, for Spark 4.0, which has no Arrow record batches for it."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[Row]) -> Written:
        """Write the rows of a task of a micro-batch; return once all are acknowledged. Raises SourceError."""
        return _write([from_rows(iterator, self._options)], self._options)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: all records are acknowledged by now."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: records that other tasks have written stay."""


def batch_writer(schema: StructType, options: Mapping[str, str], overwrite: bool) -> DataSourceWriter:
    """Return the writer of a batch query. Raises OptionError, and ClusterError if the topic cannot be written."""
    return BatchWriter(_checked(schema, options, overwrite))


def stream_writer(schema: StructType, options: Mapping[str, str], overwrite: bool) -> DataSourceStreamWriter:
    """Return the writer of a streaming query; in the output mode `complete` each micro-batch is appended, too.

    Raises:
        OptionError: the options or columns are not those of the sink.
        ClusterError: the topic cannot be written.
    """
    del overwrite  # says that the output mode is `complete`
    checked = _checked(schema, options, overwrite=False)
    try:
        from pyspark_odradek.writing_stream import StreamWriter
    except ImportError:
        return StreamRowWriter(checked)
    return StreamWriter(checked)


def write_batches(batches: Iterable[pa.RecordBatch], options: WriteOptions) -> Written:
    """Write the rows of a task; return once all are acknowledged. Raises SourceError."""
    return _write((from_arrow(batch, options) for batch in batches), options)


def _checked(schema: StructType, options: Mapping[str, str], overwrite: bool) -> WriteOptions:
    from pyspark_odradek.writing_producer import Sink

    with sentence_first():
        checked = write_options(options, schema, overwrite)
        Sink(checked.producer).check(checked.topic)
        return checked


def _write(parts: Iterable[Iterable[Outgoing]], options: WriteOptions) -> Written:
    from pyspark_odradek.writing_producer import Sink

    with sentence_first():
        sink = Sink(options.producer)
        try:
            written = sum(sink.send(part) for part in parts)
            sink.finish()
        except BaseException:
            sink.discard()
            raise
        return Written(written)
