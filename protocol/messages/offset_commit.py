"""OffsetCommit (api key 8): store how far a group has read.

Version notes: generation and member come with v1, a retention time with v2 to v4, throttle time with v3, leader
epochs with v6 (KIP-320), static members with v7 (KIP-345), flexible encoding with v8, the member epochs of KIP-848
with v9, topic ids instead of names with v10.
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, int16, int32, int64, string, uuid


class OffsetCommitRequestPartition(Struct):
    """The offset of one partition."""

    partition_index: int = int32()
    committed_offset: int = int64()
    commit_timestamp: int = int64("1", default=-1)
    """Milliseconds since 1970; -1: now."""
    committed_leader_epoch: int = int32("6+", default=-1)
    committed_metadata: str | None = string(nullable="0+")


class OffsetCommitRequestTopic(Struct):
    """The offsets of one topic."""

    name: str = string("0-9")
    topic_id: UUID = uuid("10+")
    partitions: list[OffsetCommitRequestPartition] = array(OffsetCommitRequestPartition)


class OffsetCommitRequest(Message, api_key=8, versions="0-10", flexible="8+"):
    """The offsets to store."""

    group_id: str = string()
    generation_id_or_member_epoch: int = int32("1+", default=-1)
    member_id: str = string("1+")
    group_instance_id: str | None = string("7+", nullable="7+", default=None)
    retention_time_ms: int = int64("2-4", default=-1)
    topics: list[OffsetCommitRequestTopic] = array(OffsetCommitRequestTopic)


class OffsetCommitResponsePartition(Struct):
    """The outcome for one partition."""

    partition_index: int = int32()
    error_code: int = int16()


class OffsetCommitResponseTopic(Struct):
    """The outcome for one topic."""

    name: str = string("0-9")
    topic_id: UUID = uuid("10+")
    partitions: list[OffsetCommitResponsePartition] = array(OffsetCommitResponsePartition)


class OffsetCommitResponse(Message, api_key=8, versions="0-10", flexible="8+"):
    """What became of each offset."""

    throttle_time_ms: int = int32("3+")
    topics: list[OffsetCommitResponseTopic] = array(OffsetCommitResponseTopic)
