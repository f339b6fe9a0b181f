"""DescribeQuorum (api key 55): who votes on the metadata, who follows it, and how far everybody is (KIP-595).

Version notes: times of fetches come with v1 (KIP-836), messages, directories and listeners of voters with v2 (KIP-853).
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, int16, int32, int64, string, uint16, uuid


class DescribeQuorumPartition(Struct):
    """One partition."""

    partition_index: int = int32()


class DescribeQuorumTopic(Struct):
    """The partitions of one topic."""

    topic_name: str = string()
    partitions: list[DescribeQuorumPartition] = array(DescribeQuorumPartition)


class DescribeQuorumRequest(Message, api_key=55, versions="0-2", flexible="0+"):
    """The partitions of the metadata log."""

    topics: list[DescribeQuorumTopic] = array(DescribeQuorumTopic)


class QuorumReplica(Struct):
    """How far one node is."""

    replica_id: int = int32()
    replica_directory_id: UUID = uuid("2+")
    log_end_offset: int = int64()
    last_fetch_timestamp: int = int64("1+", default=-1)
    """Milliseconds since 1970; -1: unknown."""
    last_caught_up_timestamp: int = int64("1+", default=-1)


class QuorumPartition(Struct):
    """The quorum of one partition."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string("2+", nullable="2+")
    leader_id: int = int32()
    leader_epoch: int = int32()
    high_watermark: int = int64()
    current_voters: list[QuorumReplica] = array(QuorumReplica)
    observers: list[QuorumReplica] = array(QuorumReplica)


class QuorumTopic(Struct):
    """The partitions of one topic."""

    topic_name: str = string()
    partitions: list[QuorumPartition] = array(QuorumPartition)


class QuorumListener(Struct):
    """Where a voter can be reached."""

    name: str = string("2+")
    host: str = string("2+")
    port: int = uint16("2+")


class QuorumNode(Struct):
    """The listeners of a voter."""

    node_id: int = int32("2+")
    listeners: list[QuorumListener] = array(QuorumListener, "2+")


class DescribeQuorumResponse(Message, api_key=55, versions="0-2", flexible="0+"):
    """The quorum as its leader sees it."""

    error_code: int = int16()
    error_message: str | None = string("2+", nullable="2+")
    topics: list[QuorumTopic] = array(QuorumTopic)
    nodes: list[QuorumNode] = array(QuorumNode, "2+")
