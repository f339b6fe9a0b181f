"""What a task does: it reads one range of offsets into Arrow record batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from pyspark_odradek.errors import sentence_first
from pyspark_odradek.offsets import Range
from pyspark_odradek.options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class RangePartition(InputPartition):
    """A task of Spark: the range that it reads."""

    wanted: Range


def read(options: ReadOptions, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """Yield the records of a task's range. Raises SourceError; Spark then tries the task again, or ends the query."""
    if not isinstance(partition, RangePartition):
        return  # Spark plans one task where there is nothing to read
    from pyspark_odradek.client.cluster import Cluster
    from pyspark_odradek.client.fetching import read_bodies
    from pyspark_odradek.client.settings import cluster_options
    from pyspark_odradek.columns.building import Wanted, build

    with sentence_first():
        cluster = Cluster(cluster_options(options.kafka, options.patience_s))
        (topic, number), first, until = partition.wanted
        wanted = Wanted(topic, number, first, until)
        try:
            for bodies in read_bodies(cluster, partition.wanted, options.fail_on_data_loss):
                yield build(wanted, bodies, options.include_headers)
        finally:
            cluster.close()
