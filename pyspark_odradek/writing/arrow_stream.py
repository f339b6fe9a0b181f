"""The streaming writer for Spark 4.1 and newer, which hands Arrow record batches to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from pyspark_odradek.writing.options import WriteOptions
from pyspark_odradek.writing.writers import RecordsWritten, write_batches

if TYPE_CHECKING:
    import pyarrow as pa


class StreamArrowWriter(DataSourceStreamArrowWriter):
    """Appends the rows of a streaming query to topics; see `writing` for what it guarantees."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> RecordsWritten:
        """Write the rows of a task of a micro-batch; return once all are acknowledged. Raises SourceError."""
        return write_batches(iterator, self._options)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: all records are acknowledged by now."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: records that other tasks have written stay."""
