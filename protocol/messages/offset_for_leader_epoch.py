"""OffsetForLeaderEpoch (api key 23): where the records of a leader epoch end (KIP-101, KIP-279).

Version notes: the epoch in the answer comes with v1, the asker's current leader epoch with v2 (KIP-320), its replica
id with v3 (-1 for a consumer), flexible encoding with v4.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int16, int32, int64, string


class OffsetForLeaderPartition(Struct):
    """The epoch of one partition."""

    partition: int = int32()
    current_leader_epoch: int = int32("2+", default=-1)
    leader_epoch: int = int32()


class OffsetForLeaderTopic(Struct):
    """The epochs of one topic."""

    topic: str = string()
    partitions: list[OffsetForLeaderPartition] = array(OffsetForLeaderPartition)


class OffsetForLeaderEpochRequest(Message, api_key=23, versions="0-4", flexible="4+"):
    """The epochs asked about."""

    replica_id: int = int32("3+", default=-2)
    topics: list[OffsetForLeaderTopic] = array(OffsetForLeaderTopic)


class EpochEndOffset(Struct):
    """Where the epoch of one partition ends, or why it is not known."""

    error_code: int = int16()
    partition: int = int32()
    leader_epoch: int = int32("1+", default=-1)
    end_offset: int = int64(default=-1)


class OffsetForLeaderTopicResult(Struct):
    """The ends in one topic."""

    topic: str = string()
    partitions: list[EpochEndOffset] = array(EpochEndOffset)


class OffsetForLeaderEpochResponse(Message, api_key=23, versions="0-4", flexible="4+"):
    """Where the epochs end."""

    throttle_time_ms: int = int32("2+")
    topics: list[OffsetForLeaderTopicResult] = array(OffsetForLeaderTopicResult)
