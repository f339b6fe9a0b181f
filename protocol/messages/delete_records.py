"""DeleteRecords (api key 21): move the start of a partition's log forward (KIP-107). Flexible since v2."""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int16, int32, int64, string


class DeleteRecordsPartition(Struct):
    """The offset of one partition."""

    partition_index: int = int32()
    offset: int = int64()
    """-1: the high watermark."""


class DeleteRecordsTopic(Struct):
    """The offsets of one topic."""

    name: str = string()
    partitions: list[DeleteRecordsPartition] = array(DeleteRecordsPartition)


class DeleteRecordsRequest(Message, api_key=21, versions="0-2", flexible="2+"):
    """The offsets up to which records may go."""

    topics: list[DeleteRecordsTopic] = array(DeleteRecordsTopic)
    timeout_ms: int = int32()


class DeleteRecordsPartitionResult(Struct):
    """The outcome for one partition."""

    partition_index: int = int32()
    low_watermark: int = int64()
    """Where the log begins now, on all its replicas."""
    error_code: int = int16()


class DeleteRecordsTopicResult(Struct):
    """The outcome for one topic."""

    name: str = string()
    partitions: list[DeleteRecordsPartitionResult] = array(DeleteRecordsPartitionResult)


class DeleteRecordsResponse(Message, api_key=21, versions="0-2", flexible="2+"):
    """Where each log begins now."""

    throttle_time_ms: int = int32()
    topics: list[DeleteRecordsTopicResult] = array(DeleteRecordsTopicResult)
