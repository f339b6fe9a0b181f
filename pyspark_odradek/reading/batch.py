"""The batch reader: from options to a fixed set of ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from pyspark_odradek.errors import report, sentence_first
from pyspark_odradek.reading import planning
from pyspark_odradek.reading.options import ReadOptions
from pyspark_odradek.reading.tasks import RangePartition, read

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    """Reads from the starting to the ending offsets, as they are when the query starts."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Return one task per range. Raises SourceError."""
        from pyspark_odradek.reading.connecting import connect
        from pyspark_odradek.reading.resolving import earliest, latest, resolve, subscribed

        options = self._options
        with sentence_first(), connect(options) as cluster:
            there = subscribed(cluster, options)
            start = resolve(cluster, there, options.start, options, starting=True)
            end = resolve(cluster, there, options.end, options, starting=False)
            plan = planning.inside(start, end, earliest(cluster, there), latest(cluster, there))
            report(plan.data_loss, options.fail_on_data_loss)
            ranges = planning.split(plan.ranges, options.min_partitions, options.max_records_per_partition)
            return [RangePartition(wanted) for wanted in ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a task; see `tasks.read`."""
        return read(self._options, partition)
