"""AssignReplicasToDirs (api key 73): a broker tells in which of its directories its replicas lie (KIP-858)."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, int16, int32, int64, uuid


class AssignedPartition(Struct):
    """One partition."""

    partition_index: int = int32()


class AssignedTopic(Struct):
    """The partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: list[AssignedPartition] = array(AssignedPartition)


class AssignedDirectory(Struct):
    """The replicas in one directory."""

    id: UUID = uuid()
    topics: list[AssignedTopic] = array(AssignedTopic)


class AssignReplicasToDirsRequest(Message, api_key=73, versions="0", flexible="0+"):
    """The directories and what lies in them."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    directories: list[AssignedDirectory] = array(AssignedDirectory)


class AssignedPartitionResult(Struct):
    """What became of one partition."""

    partition_index: int = int32()
    error_code: int = int16()


class AssignedTopicResult(Struct):
    """The partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: list[AssignedPartitionResult] = array(AssignedPartitionResult)


class AssignedDirectoryResult(Struct):
    """The replicas in one directory."""

    id: UUID = uuid()
    topics: list[AssignedTopicResult] = array(AssignedTopicResult)


class AssignReplicasToDirsResponse(Message, api_key=73, versions="0", flexible="0+"):
    """What the controller made of it."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    directories: list[AssignedDirectoryResult] = array(AssignedDirectoryResult)
