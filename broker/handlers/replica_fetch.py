"""What a fetch of a follower reads, and what its leader learns from it (KIP-101, KIP-595, KIP-903).

A follower reads up to the end of the log, and says with the offset that it asks for how far it is. That counts once for
a request, however often a fetch that waits looks again. Rules: Kafka's replication, leader side of a replica fetch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from odradek.broker.handlers.fetch_reading import FetchJob, FetchRead, FetchReader, unknown_topic
from odradek.broker.partitions.delayed_operation import Watched
from odradek.broker.partitions.partition import NO_LEADER_EPOCH, Partition
from odradek.broker.partitions.roles import LeaderReplicas
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.partitions.topic_partitions import TopicPartitions
from odradek.broker.runtime.responses import FileRegion
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.hot.fetch import FetchResult
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, ReplicaState
from odradek.storage.log.divergence import divergence

FIRST_REPLICA_STATE = 15
FIRST_REPLICA = 0
"""Ids below are those of consumers."""


class LeaderQuota(Protocol):
    """How much followers may be sent of partitions that are moved (leader.replication.throttled.rate)."""

    def holds_back(self, partition: Partition) -> bool:
        """Whether a follower that is not in sync gets nothing of a partition now."""

    def sent(self, partition: Partition, size: int) -> None:
        """Note bytes that a follower is sent."""


def is_of_replica(request: FetchRequest, version: int) -> bool:
    """Whether a follower asks, and not a consumer."""
    if version >= FIRST_REPLICA_STATE:
        return request.replica_state.replica_id >= FIRST_REPLICA
    return request.replica_id >= FIRST_REPLICA


def replica_of(request: FetchRequest, version: int) -> ReplicaState:
    """Which follower asks."""
    return request.replica_state if version >= FIRST_REPLICA_STATE else ReplicaState(replica_id=request.replica_id)


class ReplicaFetchReader(FetchReader):
    """Finds what the partitions have for a follower."""

    def __init__(self, partitions: PartitionTable, quota: LeaderQuota | None) -> None:
        super().__init__(partitions)
        self._quota = quota

    def watched(self, job: FetchJob) -> Sequence[Watched]:
        """Return the partitions of the fetch that this broker leads; with a session, what watches over them."""
        if job.quiet is not None:
            job.quiet.watch()
            return (job.quiet,)
        return self._watched(job, TopicPartitions.get)

    def _read(
        self, job: FetchJob, topic: TopicPartitions | None, wanted: FetchPartition, found: FetchRead
    ) -> FetchResult:
        if topic is None:
            raise unknown_topic(job.version)
        index, offset = wanted.partition, wanted.fetch_offset
        partition = topic.get(index)
        if partition is None:
            raise topic.missing(index)
        partition.check_leader_epoch(wanted.current_leader_epoch)
        asking = replica_of(job.request, job.version)
        replicas = _replicas(partition, asking, wanted)
        log = partition.log
        leader_end, start = log.log_end_offset, log.log_start_offset
        if job.quiet is not None and job.session is not None:
            job.quiet.look(job.session.key_of(topic.topic_id, topic.name, index), partition)
        if offset == leader_end and wanted.last_fetched_epoch == log.leader_epochs.latest:
            self._note(job, partition, replicas, asking, wanted, leader_end)
            _found_level(job, topic, index, replicas, asking)
            return FetchResult(index, 0, partition.high_watermark, -1, start)  # what nearly all of many partitions are
        diverging = divergence(partition.log, wanted.last_fetched_epoch, offset)
        if diverging is not None:
            found.refuse()
            return FetchResult(index, 0, partition.high_watermark, -1, start, diverging=diverging)
        quota, replica = self._quota, asking.replica_id
        is_held_back = quota is not None and not replicas.is_in_sync(replica) and quota.holds_back(partition)
        max_bytes = 0 if is_held_back else max(min(wanted.partition_max_bytes, found.room), 0)
        piece = partition.read(offset, max_bytes, leader_end, found.size == 0 and not is_held_back, found.waits)
        self._note(job, partition, replicas, asking, wanted, leader_end)
        if partition.log.segments.goes_on_after(piece.segment_base, leader_end) and not is_held_back:
            found.is_urgent = True
        high_watermark, length = partition.high_watermark, piece.length
        if length <= 0:
            if offset == leader_end:
                _found_level(job, topic, index, replicas, asking)
            return FetchResult(index, 0, high_watermark, -1, start)
        assert piece.file is not None
        found.size += length
        found.room = found.room - length if length < found.room else 0
        if quota is not None:
            quota.sent(partition, length)
        return FetchResult(index, 0, high_watermark, -1, start, FileRegion(piece.file, piece.position, length))

    @staticmethod
    def _note(
        job: FetchJob,
        partition: Partition,
        replicas: LeaderReplicas,
        asking: ReplicaState,
        wanted: FetchPartition,
        leader_end: int,
    ) -> None:
        """Let the leader note how far the follower is, unless it has for this request."""
        noted = job.noted
        if noted is None:
            noted = job.noted = set()
        if partition not in noted:
            noted.add(partition)
            offset, start = wanted.fetch_offset, wanted.log_start_offset
            replicas.fetched(asking.replica_id, asking.replica_epoch, offset, start, leader_end)


def _found_level(
    job: FetchJob, topic: TopicPartitions, index: int, replicas: LeaderReplicas, asking: ReplicaState
) -> None:
    """Note that the follower has everything: nothing need be looked at before something happens, if it is in sync."""
    if job.quiet is not None and job.session is not None and replicas.is_in_sync(asking.replica_id):
        job.quiet.found_level(job.session.key_of(topic.topic_id, topic.name, index), replicas)


def _replicas(partition: Partition, asking: ReplicaState, wanted: FetchPartition) -> LeaderReplicas:
    """What the leader knows of the others, of which the one who asks must be one.

    Raises:
        KafkaError: UNKNOWN_LEADER_EPOCH or NOT_LEADER_OR_FOLLOWER for one that is not assigned, as far as known;
            NOT_LEADER_OR_FOLLOWER for one with an old broker epoch.
    """
    replicas = partition.replicas
    if replicas is None or not replicas.has_replica(asking.replica_id):
        # its metadata may be newer than ours, and it has to ask again
        has_epoch = wanted.current_leader_epoch != NO_LEADER_EPOCH
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH if has_epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER)
    replicas.check_broker_epoch(asking.replica_id, asking.replica_epoch)
    return replicas
