"""AlterPartitionReassignments (api key 45): move partitions to other replicas, or call such a move off (KIP-455).

Version notes: v1 can forbid that the number of replicas changes (KIP-860).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, boolean, int16, int32, string


class ReassignablePartition(Struct):
    """Where one partition is to go."""

    partition_index: int = int32()
    replicas: list[int] | None = array(int32, nullable="0+", default=None)
    """The first is the preferred leader; null calls a reassignment off."""


class ReassignableTopic(Struct):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[ReassignablePartition] = array(ReassignablePartition)


class AlterPartitionReassignmentsRequest(Message, api_key=45, versions="0-1", flexible="0+"):
    """The replicas that partitions are to have."""

    timeout_ms: int = int32(default=60000)
    allow_replication_factor_change: bool = boolean("1+", default=True)
    topics: list[ReassignableTopic] = array(ReassignableTopic)


class ReassignablePartitionResponse(Struct):
    """What became of one partition."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


class ReassignableTopicResponse(Struct):
    """What became of the partitions of one topic."""

    name: str = string()
    partitions: list[ReassignablePartitionResponse] = array(ReassignablePartitionResponse)


class AlterPartitionReassignmentsResponse(Message, api_key=45, versions="0-1", flexible="0+"):
    """Which of it has begun."""

    throttle_time_ms: int = int32()
    allow_replication_factor_change: bool = boolean("1+", default=True)
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    responses: list[ReassignableTopicResponse] = array(ReassignableTopicResponse)
