"""OffsetFetch (api key 9): how far a group has read.

Version notes: all topics (null) and a top-level error come with v2, throttle time with v3, leader epochs with v5
(KIP-320), flexible encoding with v6, waiting for transactions with v7 (KIP-447), several groups at once with v8
(KIP-709), the member epochs of KIP-848 with v9, topic ids instead of names with v10.
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, boolean, int16, int32, int64, string, uuid


class OffsetFetchRequestTopic(Struct):
    """The partitions of one topic, before v8."""

    name: str = string()
    partition_indexes: list[int] = array(int32)


class OffsetFetchRequestTopics(Struct):
    """The partitions of one topic."""

    name: str = string("0-9")
    topic_id: UUID = uuid("10+")
    partition_indexes: list[int] = array(int32)


class OffsetFetchRequestGroup(Struct):
    """One group and its topics."""

    group_id: str = string()
    member_id: str | None = string("9+", nullable="9+", default=None)
    member_epoch: int = int32("9+", default=-1)
    topics: list[OffsetFetchRequestTopics] | None = array(OffsetFetchRequestTopics, nullable="0+")
    """Null: all that are stored."""


class OffsetFetchRequest(Message, api_key=9, versions="0-10", flexible="6+"):
    """The groups and partitions asked about."""

    group_id: str = string("0-7")
    topics: list[OffsetFetchRequestTopic] | None = array(OffsetFetchRequestTopic, "0-7", nullable="2-7")
    """Null: all that are stored."""
    groups: list[OffsetFetchRequestGroup] = array(OffsetFetchRequestGroup, "8+")
    require_stable: bool = boolean("7+")


class OffsetFetchResponsePartition(Struct):
    """The offset of one partition, before v8; -1 if there is none."""

    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32("5+", default=-1)
    metadata: str | None = string(nullable="0+")
    error_code: int = int16()


class OffsetFetchResponseTopic(Struct):
    """The offsets of one topic, before v8."""

    name: str = string()
    partitions: list[OffsetFetchResponsePartition] = array(OffsetFetchResponsePartition)


class OffsetFetchResponsePartitions(Struct):
    """The offset of one partition; -1 if there is none."""

    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(default=-1)
    metadata: str | None = string(nullable="0+")
    error_code: int = int16()


class OffsetFetchResponseTopics(Struct):
    """The offsets of one topic."""

    name: str = string("0-9")
    topic_id: UUID = uuid("10+")
    partitions: list[OffsetFetchResponsePartitions] = array(OffsetFetchResponsePartitions)


class OffsetFetchResponseGroup(Struct):
    """The offsets of one group."""

    group_id: str = string()
    topics: list[OffsetFetchResponseTopics] = array(OffsetFetchResponseTopics)
    error_code: int = int16()


class OffsetFetchResponse(Message, api_key=9, versions="0-10", flexible="6+"):
    """The offsets that are stored."""

    throttle_time_ms: int = int32("3+")
    topics: list[OffsetFetchResponseTopic] = array(OffsetFetchResponseTopic, "0-7")
    error_code: int = int16("2-7")
    groups: list[OffsetFetchResponseGroup] = array(OffsetFetchResponseGroup, "8+")
