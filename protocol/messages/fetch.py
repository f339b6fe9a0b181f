"""Fetch (api key 1): read record batches from partitions.

Version notes: throttle time comes with v1, a total byte limit with v3, isolation levels with v4 (KIP-98), the log
start offset with v5, sessions with v7 (KIP-227), the client's leader epoch with v9 (KIP-320), the rack and read
replicas with v11 (KIP-392), flexible encoding and log divergence with v12, topic ids instead of names with v13
(KIP-516), the replica's state as a tag with v15 (KIP-903), the leaders' endpoints with v16 (KIP-951), the replica's
directory with v17 (KIP-853), its high watermark with v18 (KIP-1166).
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import (
    Message,
    RecordData,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uuid,
)
from odradek.protocol.codec.fields import MAX_INT32, MAX_INT64


class ReplicaState(Struct):
    """Which replica asks; -1 for a consumer."""

    replica_id: int = int32(default=-1)
    replica_epoch: int = int64(default=-1)


class FetchPartition(Struct):
    """Where to read in one partition."""

    partition: int = int32()
    current_leader_epoch: int = int32("9+", default=-1)
    fetch_offset: int = int64()
    last_fetched_epoch: int = int32("12+", default=-1)
    log_start_offset: int = int64("5+", default=-1)
    partition_max_bytes: int = int32()
    replica_directory_id: UUID = uuid("17+", tag=0)
    high_watermark: int = int64("18+", default=MAX_INT64, tag=1)


class FetchTopic(Struct):
    """The partitions of one topic."""

    topic: str = string("0-12")
    topic_id: UUID = uuid("13+")
    partitions: list[FetchPartition] = array(FetchPartition)


class ForgottenTopic(Struct):
    """Partitions to drop from the fetch session."""

    topic: str = string("0-12")
    topic_id: UUID = uuid("13+")
    partitions: list[int] = array(int32)


class FetchRequest(Message, api_key=1, versions="0-18", flexible="12+"):
    """The partitions to read, and how long and for how much to wait."""

    cluster_id: str | None = string("12+", nullable="12+", default=None, tag=0)
    replica_id: int = int32("0-14", default=-1)
    replica_state: ReplicaState = struct(ReplicaState, "15+", tag=1)
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32("3+", default=MAX_INT32)
    isolation_level: int = int8("4+")
    """0: all records; 1: committed records only."""
    session_id: int = int32("7+")
    session_epoch: int = int32("7+", default=-1)
    """-1: no session; 0: begin one."""
    topics: list[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array(ForgottenTopic, "7+")
    rack_id: str = string("11+")


class EpochEndOffset(Struct):
    """The last epoch and offset that reader and leader share."""

    epoch: int = int32(default=-1)
    end_offset: int = int64(default=-1)


class LeaderIdAndEpoch(Struct):
    """Who leads the partition, told to those who asked the wrong broker."""

    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)


class SnapshotId(Struct):
    """The snapshot to fetch instead, where the offset is before the log's start (KRaft)."""

    end_offset: int = int64(default=-1)
    epoch: int = int32(default=-1)


class AbortedTransaction(Struct):
    """A transaction whose records a reader of committed data drops."""

    producer_id: int = int64()
    first_offset: int = int64()


class PartitionData(Struct):
    """The batches of one partition, and where its log stands."""

    partition_index: int = int32()
    error_code: int = int16()
    high_watermark: int = int64()
    last_stable_offset: int = int64("4+", default=-1)
    log_start_offset: int = int64("5+", default=-1)
    diverging_epoch: EpochEndOffset = struct(EpochEndOffset, "12+", tag=0)
    current_leader: LeaderIdAndEpoch = struct(LeaderIdAndEpoch, "12+", tag=1)
    snapshot_id: SnapshotId = struct(SnapshotId, "12+", tag=2)
    aborted_transactions: list[AbortedTransaction] | None = array(AbortedTransaction, "4+", nullable="4+")
    preferred_read_replica: int = int32("11+", default=-1)
    records: RecordData | None = records(nullable="0+")


class FetchableTopicResponse(Struct):
    """The batches of one topic."""

    topic: str = string("0-12")
    topic_id: UUID = uuid("13+")
    partitions: list[PartitionData] = array(PartitionData)


class NodeEndpoint(Struct):
    """Where a leader that is named in the answer can be reached."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)


class FetchResponse(Message, api_key=1, versions="0-18", flexible="12+"):
    """The batches that were found."""

    throttle_time_ms: int = int32("1+")
    error_code: int = int16("7+")
    session_id: int = int32("7+")
    responses: list[FetchableTopicResponse] = array(FetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "16+", tag=0)
