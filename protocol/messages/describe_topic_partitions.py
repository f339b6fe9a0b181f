"""DescribeTopicPartitions (api key 75): partitions of topics, page by page (KIP-966)."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, boolean, int16, int32, string, struct, uuid
from odradek.protocol.codec.fields import MIN_INT32


class TopicRequest(Struct):
    """One topic."""

    name: str = string()


class Cursor(Struct):
    """The first partition of the next page."""

    topic_name: str = string()
    partition_index: int = int32()


class DescribeTopicPartitionsRequest(Message, api_key=75, versions="0", flexible="0+"):
    """The topics to describe, and where to go on."""

    topics: list[TopicRequest] = array(TopicRequest)
    response_partition_limit: int = int32(default=2000)
    cursor: Cursor | None = struct(Cursor, nullable="0+")


class DescribeTopicPartitionsResponsePartition(Struct):
    """A partition and its replicas."""

    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(default=-1)
    replica_nodes: list[int] = array(int32)
    isr_nodes: list[int] = array(int32)
    eligible_leader_replicas: list[int] | None = array(int32, nullable="0+", default=None)
    last_known_elr: list[int] | None = array(int32, nullable="0+", default=None)
    offline_replicas: list[int] = array(int32)


class DescribeTopicPartitionsResponseTopic(Struct):
    """A topic, or why it cannot be described."""

    error_code: int = int16()
    name: str | None = string(nullable="0+")
    topic_id: UUID = uuid()
    is_internal: bool = boolean()
    partitions: list[DescribeTopicPartitionsResponsePartition] = array(DescribeTopicPartitionsResponsePartition)
    topic_authorized_operations: int = int32(default=MIN_INT32)


class DescribeTopicPartitionsResponse(Message, api_key=75, versions="0", flexible="0+"):
    """A page of partitions."""

    throttle_time_ms: int = int32()
    topics: list[DescribeTopicPartitionsResponseTopic] = array(DescribeTopicPartitionsResponseTopic)
    next_cursor: Cursor | None = struct(Cursor, nullable="0+")
