"""Produce (api key 0): append record batches to partitions.

Version notes: the append time comes with v2, the transactional id and record format 2 with v3, the log start offset
with v5, per-batch errors with v8, flexible encoding with v9, the current leader and its endpoint as tags with v10
(KIP-951), topic ids instead of names with v13 (KIP-516). With acks 0 there is no response at all.
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import (
    Message,
    RecordData,
    Struct,
    array,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uuid,
)


class PartitionProduceData(Struct):
    """The batches for one partition."""

    index: int = int32()
    records: RecordData | None = records(nullable="0+")


class TopicProduceData(Struct):
    """The batches for one topic."""

    name: str = string("0-12")
    topic_id: UUID = uuid("13+")
    partition_data: list[PartitionProduceData] = array(PartitionProduceData)


class ProduceRequest(Message, api_key=0, versions="0-13", flexible="9+"):
    """Record batches to append, by topic and partition."""

    transactional_id: str | None = string("3+", nullable="3+", default=None)
    acks: int = int16()
    """0: no answer; 1: once the leader has it; -1: once all in-sync replicas have it."""
    timeout_ms: int = int32()
    topic_data: list[TopicProduceData] = array(TopicProduceData)


class BatchIndexAndErrorMessage(Struct):
    """A record that was refused: all records of the request's batch count as failed with it."""

    batch_index: int = int32()
    batch_index_error_message: str | None = string(nullable="0+", default=None)


class LeaderIdAndEpoch(Struct):
    """Who leads the partition, told to those who asked the wrong broker."""

    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)


class PartitionProduceResponse(Struct):
    """The outcome for one partition."""

    index: int = int32()
    error_code: int = int16()
    base_offset: int = int64()
    log_append_time_ms: int = int64("2+", default=-1)
    log_start_offset: int = int64("5+", default=-1)
    record_errors: list[BatchIndexAndErrorMessage] = array(BatchIndexAndErrorMessage, "8+")
    error_message: str | None = string("8+", nullable="8+", default=None)
    current_leader: LeaderIdAndEpoch = struct(LeaderIdAndEpoch, "10+", tag=0)


class TopicProduceResponse(Struct):
    """The outcome for one topic."""

    name: str = string("0-12")
    topic_id: UUID = uuid("13+")
    partition_responses: list[PartitionProduceResponse] = array(PartitionProduceResponse)


class NodeEndpoint(Struct):
    """Where a leader that is named in the answer can be reached."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)


class ProduceResponse(Message, api_key=0, versions="0-13", flexible="9+"):
    """Where the batches were put, or why not."""

    responses: list[TopicProduceResponse] = array(TopicProduceResponse)
    throttle_time_ms: int = int32("1+")
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "10+", tag=0)
