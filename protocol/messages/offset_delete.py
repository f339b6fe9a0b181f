"""OffsetDelete (api key 47): forget how far a group has read in partitions (KIP-496). Not flexible."""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int16, int32, string


class OffsetDeleteRequestPartition(Struct):
    """One partition."""

    partition_index: int = int32()


class OffsetDeleteRequestTopic(Struct):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[OffsetDeleteRequestPartition] = array(OffsetDeleteRequestPartition)


class OffsetDeleteRequest(Message, api_key=47, versions="0"):
    """The offsets to forget."""

    group_id: str = string()
    topics: list[OffsetDeleteRequestTopic] = array(OffsetDeleteRequestTopic)


class OffsetDeleteResponsePartition(Struct):
    """The outcome for one partition."""

    partition_index: int = int32()
    error_code: int = int16()


class OffsetDeleteResponseTopic(Struct):
    """The outcome for one topic."""

    name: str = string()
    partitions: list[OffsetDeleteResponsePartition] = array(OffsetDeleteResponsePartition)


class OffsetDeleteResponse(Message, api_key=47, versions="0"):
    """What became of each offset."""

    error_code: int = int16()
    throttle_time_ms: int = int32()
    topics: list[OffsetDeleteResponseTopic] = array(OffsetDeleteResponseTopic)
