"""What a task does: it reads one range of offsets into Arrow record batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from pyspark_odradek.errors import sentence_first
from pyspark_odradek.offsets import OffsetRange
from pyspark_odradek.reading.options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa


@dataclasses.dataclass
class RangePartition(InputPartition):
    """A task of Spark: the range that it reads."""

    wanted: OffsetRange


def read(options: ReadOptions, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """Yield the records of a task's range. Raises SourceError; Spark then tries the task again, or ends the query."""
    from pyspark_odradek.client.settings import needs_librdkafka

    if not isinstance(partition, RangePartition):
        return  # Spark plans one task where there is nothing to read
    with sentence_first():
        if needs_librdkafka(options.kafka):
            yield from _messages(options, partition.wanted)
        else:
            yield from _batches(options, partition.wanted)


def _batches(options: ReadOptions, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    from pyspark_odradek.client.cluster import ClusterConnections
    from pyspark_odradek.client.fetching import read_bodies
    from pyspark_odradek.client.kept_connections import KEEPER
    from pyspark_odradek.client.settings import cluster_options
    from pyspark_odradek.columns.building import build

    def make() -> ClusterConnections:
        # The driver reached the cluster a moment ago: if it does not answer now it is expected back.
        settings = cluster_options(options.kafka, options.poll_timeout_s)
        return ClusterConnections(dataclasses.replace(settings, first_retry_timeout_s=settings.retry_timeout_s))

    key = (*sorted(options.kafka.items()), options.poll_timeout_s)
    with KEEPER.connections(key, make) as cluster:
        for bodies in read_bodies(cluster, wanted, options.fail_on_data_loss):
            yield from build(wanted, bodies, options.include_headers)


def _messages(options: ReadOptions, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    from pyspark_odradek.client.librdkafka import read_messages
    from pyspark_odradek.columns.messages import from_messages

    for messages in read_messages(
        options.kafka, options.group_id_prefix, wanted, options.fail_on_data_loss, options.poll_timeout_s
    ):
        yield from_messages(wanted, messages, options.include_headers)
