"""The data source `odradek`, as Spark sees it. Importing it is quick: every session of Spark does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType

    from pyspark_odradek.reading.options import ReadOptions
    from pyspark_odradek.writing.options import WriteOptions


class OdradekDataSource(DataSource):
    """Topics of a Kafka cluster as DataFrames."""

    @classmethod
    def name(cls) -> str:
        """Return the name by which `format` finds the source."""
        return "odradek"

    def schema(self) -> str:
        """Return the columns. Raises OptionError for mistakes in the options, before any query starts."""
        from pyspark_odradek.schema import ddl

        return ddl(self._options(streaming=None).include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the batch reader. Raises OptionError."""
        from pyspark_odradek.reading.batch import BatchReader

        return BatchReader(self._checked(schema, streaming=False))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the streaming reader. Raises OptionError."""
        return stream_reader(self._checked(schema, streaming=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the batch writer. Raises OptionError, and ClusterError where the topic cannot be written."""
        from pyspark_odradek.writing.writers import BatchWriter, checked_options

        return BatchWriter(checked_options(schema, self.options, overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002
        """Return the streaming writer; in the output mode `complete` (`overwrite`) each micro-batch is appended, too.

        Raises OptionError, and ClusterError where the topic cannot be written.
        """
        from pyspark_odradek.writing.writers import checked_options

        return stream_writer(checked_options(schema, self.options, overwrite=False))

    def _checked(self, schema: StructType, streaming: bool) -> ReadOptions:
        from pyspark_odradek.errors import OptionError, sentence_first
        from pyspark_odradek.schema import simple_string

        options = self._options(streaming)
        with sentence_first():
            expected = simple_string(options.include_headers)
            if schema.simpleString() != expected:
                raise OptionError(f"the columns of the source are fixed and no other schema can be given: {expected}")
        return options

    def _options(self, streaming: bool | None) -> ReadOptions:
        from pyspark_odradek.errors import sentence_first
        from pyspark_odradek.reading.options import read_options

        with sentence_first():
            return read_options(self.options, streaming)


def stream_reader(options: ReadOptions) -> DataSourceStreamReader:
    """Return the streaming reader that this version of Spark can work with.

    Raises:
        OptionError: a limit is asked for, and Spark is too old for one.
    """
    try:
        from pyspark_odradek.reading.limited_stream import LimitedStreamReader
    except ImportError:
        if options.max_offsets_per_trigger is not None or options.min_offsets_per_trigger is not None:
            from pyspark_odradek.errors import OptionError

            raise OptionError(
                "maxOffsetsPerTrigger and minOffsetsPerTrigger need Spark 4.2 or newer: older versions do not tell a"
                " source in Python where a micro-batch begins"
            ) from None
        from pyspark_odradek.reading.stream import StreamReader

        return StreamReader(options)
    return LimitedStreamReader(options)


def stream_writer(options: WriteOptions) -> DataSourceStreamWriter:
    """Return the streaming writer that this version of Spark can work with."""
    try:
        from pyspark_odradek.writing.arrow_stream import StreamArrowWriter
    except ImportError:
        from pyspark_odradek.writing.writers import StreamRowWriter

        return StreamRowWriter(options)
    return StreamArrowWriter(options)
