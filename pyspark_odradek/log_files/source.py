"""The data source `odradek-log`, as Spark sees it. Importing it is quick: every session of Spark does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader
    from pyspark.sql.types import StructType

    from pyspark_odradek.log_files.options import LogOptions


class LogFilesDataSource(DataSource):
    """Segment files of a log directory as DataFrames."""

    @classmethod
    def name(cls) -> str:
        """Return the name by which `format` finds the source."""
        return "odradek-log"

    def schema(self) -> str:
        """Return the columns, those of `odradek`. Raises OptionError."""
        from pyspark_odradek.schema import ddl

        return ddl(self._options().include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader. Raises OptionError."""
        from pyspark_odradek.errors import OptionError, sentence_first
        from pyspark_odradek.log_files.reader import make_reader
        from pyspark_odradek.schema import simple_string

        options = self._options()
        with sentence_first():
            expected = simple_string(options.include_headers)
            if schema.simpleString() != expected:
                raise OptionError(f"the columns of the source are fixed and no other schema can be given: {expected}")
            return make_reader(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002
        """Raise OptionError: files are read as they are."""
        from pyspark_odradek.errors import OptionError

        raise OptionError(
            "odradek-log reads what is on disk, in batch only; a stream is read through a broker: odradek"
        )

    def _options(self) -> LogOptions:
        from pyspark_odradek.errors import sentence_first
        from pyspark_odradek.log_files.options import log_options

        with sentence_first():
            return log_options(self.options)
