"""The batch reader of `odradek-log`: from options, and filters where Spark hands them over, to tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from pyspark_odradek.errors import OptionError, SourceError, sentence_first
from pyspark_odradek.log_files.conditions import EVERYTHING, conditions_of
from pyspark_odradek.log_files.options import LogOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from pyspark_odradek.log_files.planning import SegmentPart


@dataclass
class PiecesPartition(InputPartition):
    """A task of Spark: the pieces of segments that it reads."""

    pieces: Sequence[SegmentPart]


class LogFilesReader(DataSourceReader):
    """Reads what is on disk when the query is planned."""

    def __init__(self, options: LogOptions) -> None:
        self._options = options
        self._conditions = EVERYTHING

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks. Raises SourceError."""
        from odradek.storage.errors import StorageError
        from pyspark_odradek.log_files.files import LogFiles
        from pyspark_odradek.log_files.planning import plan

        with sentence_first():
            try:
                return [PiecesPartition(pieces) for pieces in plan(LogFiles(), self._options, self._conditions)]
            except StorageError as damaged:
                raise SourceError(str(damaged)) from damaged

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a task. Raises SourceError."""
        from pyspark_odradek.log_files.files import LogFiles
        from pyspark_odradek.log_files.segments import read_pieces

        if not isinstance(partition, PiecesPartition):
            return  # Spark plans one task where there is nothing to read
        options = self._options
        with sentence_first():
            yield from read_pieces(LogFiles(), partition.pieces, options.include_headers, options.skip_damaged)


class FilteringLogFilesReader(LogFilesReader):
    """Reads only the bytes that the filters of the query need.

    Spark (4.1 to 4.3) keeps what it planned with the filters of one query for all others on the same DataFrame, and so
    loses rows of them. Therefore this is only done where it is asked for, and whoever does loads one DataFrame for each
    query; the other options choose bytes without that danger.
    """

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Take note of what the filters say, and leave all of them to Spark, too: batches have more records."""
        self._conditions = conditions_of(filters)
        return filters


def make_reader(options: LogOptions) -> LogFilesReader:
    """Return a reader, one that takes filters if the options say so.

    Raises:
        OptionError: this version of Spark has no filters to hand over.
    """
    if not options.filter_pushdown:
        return LogFilesReader(options)
    if not hasattr(DataSourceReader, "pushFilters"):
        raise OptionError("filterPushdown needs Spark 4.1 or newer; other options choose what is read with any version")
    return FilteringLogFilesReader(options)
