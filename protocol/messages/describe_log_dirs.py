"""DescribeLogDirs (api key 35): the partitions in each log directory of a broker and their sizes (KIP-113).

Version notes: flexible encoding comes with v2, a top-level error with v3, the size of the volume with v4 (KIP-827),
whether the directory is cordoned with v5 (KIP-1066).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, boolean, int16, int32, int64, string


class DescribableLogDirTopic(Struct):
    """The partitions of one topic."""

    topic: str = string()
    partitions: list[int] = array(int32)


class DescribeLogDirsRequest(Message, api_key=35, versions="0-5", flexible="2+"):
    """The partitions to look at."""

    topics: list[DescribableLogDirTopic] | None = array(DescribableLogDirTopic, nullable="0+")
    """Null: all of them."""


class DescribeLogDirsPartition(Struct):
    """One partition and its size in bytes."""

    partition_index: int = int32()
    partition_size: int = int64()
    offset_lag: int = int64()
    """Records the replica is behind."""
    is_future_key: bool = boolean()
    """True for the copy that is to replace the replica, when it moves between directories."""


class DescribeLogDirsTopic(Struct):
    """The partitions of one topic in it."""

    name: str = string()
    partitions: list[DescribeLogDirsPartition] = array(DescribeLogDirsPartition)


class DescribeLogDirsResult(Struct):
    """One log directory."""

    error_code: int = int16()
    log_dir: str = string()
    topics: list[DescribeLogDirsTopic] = array(DescribeLogDirsTopic)
    total_bytes: int = int64("4+", default=-1)
    usable_bytes: int = int64("4+", default=-1)
    is_cordoned: bool = boolean("5+")


class DescribeLogDirsResponse(Message, api_key=35, versions="0-5", flexible="2+"):
    """The log directories of the broker."""

    throttle_time_ms: int = int32()
    error_code: int = int16("3+")
    results: list[DescribeLogDirsResult] = array(DescribeLogDirsResult)
