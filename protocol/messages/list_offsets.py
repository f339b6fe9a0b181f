"""ListOffsets (api key 2): the offset that belongs to a timestamp, or to a special point of a partition.

Version notes: v0 answers with a list of offsets, v1 and later with one offset and its timestamp; the isolation level
comes with v2 (KIP-98), leader epochs with v4 (KIP-320), flexible encoding with v6, the timestamps -3 (greatest
timestamp) with v7, -4 (earliest local) with v8, -5 (latest tiered) with v9, a timeout for tiered storage with v10, -6
(earliest pending upload) with v11.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int8, int16, int32, int64, string


class ListOffsetsPartition(Struct):
    """The question about one partition."""

    partition_index: int = int32()
    current_leader_epoch: int = int32("4+", default=-1)
    timestamp: int = int64()
    """Milliseconds since 1970, or a special point: -1 latest, -2 earliest, -3 the greatest timestamp and so on."""
    max_num_offsets: int = int32("0", default=1)


class ListOffsetsTopic(Struct):
    """The questions about one topic."""

    name: str = string()
    partitions: list[ListOffsetsPartition] = array(ListOffsetsPartition)


class ListOffsetsRequest(Message, api_key=2, versions="0-11", flexible="6+"):
    """Timestamps to look up."""

    replica_id: int = int32()
    isolation_level: int = int8("2+")
    """0: all records; 1: committed records only."""
    topics: list[ListOffsetsTopic] = array(ListOffsetsTopic)
    timeout_ms: int = int32("10+")


class ListOffsetsPartitionResponse(Struct):
    """The answer about one partition."""

    partition_index: int = int32()
    error_code: int = int16()
    old_style_offsets: list[int] = array(int64, "0")
    timestamp: int = int64("1+", default=-1)
    offset: int = int64("1+", default=-1)
    leader_epoch: int = int32("4+", default=-1)


class ListOffsetsTopicResponse(Struct):
    """The answers about one topic."""

    name: str = string()
    partitions: list[ListOffsetsPartitionResponse] = array(ListOffsetsPartitionResponse)


class ListOffsetsResponse(Message, api_key=2, versions="0-11", flexible="6+"):
    """The offsets that were found."""

    throttle_time_ms: int = int32("2+")
    topics: list[ListOffsetsTopicResponse] = array(ListOffsetsTopicResponse)
