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

    from pyspark_odradek.options import ReadOptions


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
        from pyspark_odradek.batch import BatchReader

        return BatchReader(self._checked(schema, streaming=False))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the streaming reader. Raises OptionError."""
        from pyspark_odradek.streaming import make_reader

        return make_reader(self._checked(schema, streaming=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the batch writer. Raises OptionError, and ClusterError where the topic cannot be written."""
        from pyspark_odradek.writing import batch_writer

        return batch_writer(schema, self.options, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Return the streaming writer. Raises OptionError, and ClusterError where the topic cannot be written."""
        from pyspark_odradek.writing import stream_writer

        return stream_writer(schema, self.options, overwrite)

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
        from pyspark_odradek.options import read_options

        with sentence_first():
            return read_options(self.options, streaming)
