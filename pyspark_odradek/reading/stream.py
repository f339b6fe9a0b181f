"""The streaming reader: where micro-batches begin and end.

Spark keeps this object in a process on the driver while the query runs, and gives tasks a copy to read with. Spark 4.2
began to tell a source where a micro-batch starts and how much it may take; `limited_stream` has the reader for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from pyspark_odradek.errors import report, sentence_first
from pyspark_odradek.offsets import Checkpoint, Offsets, TopicPartition, from_checkpoint, to_checkpoint
from pyspark_odradek.reading import planning
from pyspark_odradek.reading.options import ReadOptions
from pyspark_odradek.reading.tasks import RangePartition, read

if TYPE_CHECKING:
    import pyarrow as pa

    from pyspark_odradek.client.view import ClusterView


class StreamReader(DataSourceStreamReader):
    """Reads a stream in micro-batches, each up to the end of all partitions."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._cluster: ClusterView | None = None
        self._known: frozenset[TopicPartition] = frozenset()
        """Partitions that were there, by which a deleted topic is told from one that never was."""
        self._ids: dict[str, UUID] = {}
        """Ids of topics that were there, by which one that was made anew is told from the one before."""

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cluster": None}

    def initialOffset(self) -> Checkpoint:
        """Return where a new query begins. Raises SourceError."""
        from pyspark_odradek.reading.resolving import resolve, subscribed

        with sentence_first():
            there = subscribed(self._view(), self._options)
            self._check_ids({partition.topic for partition in there})
            return to_checkpoint(resolve(self._view(), there, self._options.start, self._options, starting=True))

    def latestOffset(self) -> Checkpoint:  # type: ignore[override]  # the form of Spark 4.0 and 4.1
        """Return where the partitions end. Raises SourceError."""
        with sentence_first():
            return to_checkpoint(self._ends(self._may_be_missing()))

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> Sequence[InputPartition]:
        """Return the tasks of a micro-batch. Raises SourceError."""
        from pyspark_odradek.reading.resolving import earliest

        options = self._options
        with sentence_first():
            before, until = from_checkpoint(start), from_checkpoint(end)
            self._known |= before.keys() | until.keys()
            new = earliest(self._view(), until.keys() - before.keys())
            plan = planning.between(before, until, new)
            report(plan.data_loss, options.fail_on_data_loss)
            ranges = planning.split(plan.ranges, options.min_partitions, options.max_records_per_partition)
            return [RangePartition(wanted) for wanted in ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a task; see `tasks.read`."""
        return read(self._options, partition)

    def commit(self, end: Mapping[str, Any]) -> None:
        """Do nothing: Spark's checkpoint has the offsets, and the cluster need not know of them."""

    def stop(self) -> None:
        """Close the connections."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _view(self) -> ClusterView:
        from pyspark_odradek.reading.connecting import open_view

        if self._cluster is None:
            self._cluster = open_view(self._options)
        return self._cluster

    def _may_be_missing(self) -> frozenset[TopicPartition] | None:
        """Return which partitions may have been deleted; None, all, where the query is to go on whatever was lost."""
        return self._known if self._options.fail_on_data_loss else None

    def _ends(self, known: frozenset[TopicPartition] | None) -> Offsets:
        """Return where the partitions end; `known` as in `resolving.subscribed`."""
        from pyspark_odradek.reading.resolving import latest, subscribed

        there = subscribed(self._view(), self._options, known)
        self._check_ids({partition.topic for partition in there})
        ends = latest(self._view(), there)
        self._known |= ends.keys()
        return ends

    def _check_ids(self, topics: Collection[str]) -> None:
        """Report topics that were made anew: the offsets that were reached are those of others."""
        ids = self._view().topic_ids(topics)
        anew = [name for name in sorted(topics) if name in ids and ids[name] != self._ids.get(name, ids[name])]
        report([f"topic {name} was deleted and made anew" for name in anew], self._options.fail_on_data_loss)
        self._ids |= ids
