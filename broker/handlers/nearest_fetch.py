"""Consumers that say where they are, and have a nearer replica than the leader: they are sent there (KIP-392)."""

from __future__ import annotations

from collections.abc import Callable

from odradek.broker.handlers.fetch_reading import FetchJob, FetchRead, FetchReader
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.partitions.topic_partitions import TopicPartitions
from odradek.protocol.hot.fetch import FetchResult
from odradek.protocol.messages.fetch import FetchPartition

NearestReplica = Callable[[Partition, str, int], int | None]
"""The broker that a consumer in a rack should read from at an offset; None where that is the leader."""


class NearestFetchReader(FetchReader):
    """Tells consumers of a partition that is led here where they should read it, and reads the others."""

    def __init__(self, partitions: PartitionTable, nearest: NearestReplica) -> None:
        super().__init__(partitions)
        self._nearest = nearest

    def _read(
        self, job: FetchJob, topic: TopicPartitions | None, wanted: FetchPartition, found: FetchRead
    ) -> FetchResult:
        partition = topic.get(wanted.partition) if topic is not None else None
        if partition is not None and partition.replicas is not None:
            nearest = self._nearest(partition, job.request.rack_id, wanted.fetch_offset)
            if nearest is not None:
                partition.check_leader_epoch(wanted.current_leader_epoch)
                found.refuse()
                return FetchResult(
                    wanted.partition,
                    0,
                    partition.high_watermark,
                    partition.last_stable_offset,
                    partition.log.log_start_offset,
                    preferred_read_replica=nearest,
                )
        return super()._read(job, topic, wanted, found)
