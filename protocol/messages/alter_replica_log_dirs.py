"""AlterReplicaLogDirs (api key 34): move replicas to other log directories of the broker that is asked (KIP-113).

Version notes: v1 is as v0, flexible encoding comes with v2.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int16, int32, string


class AlterReplicaLogDirTopic(Struct):
    """The partitions of one topic that are to be there."""

    name: str = string()
    partitions: list[int] = array(int32)


class AlterReplicaLogDir(Struct):
    """A log directory, and what is to be in it."""

    path: str = string()
    """Absolute."""
    topics: list[AlterReplicaLogDirTopic] = array(AlterReplicaLogDirTopic)


class AlterReplicaLogDirsRequest(Message, api_key=34, versions="0-2", flexible="2+"):
    """Where replicas are to be."""

    dirs: list[AlterReplicaLogDir] = array(AlterReplicaLogDir)


class AlterReplicaLogDirPartitionResult(Struct):
    """Whether one partition is there, or on its way."""

    partition_index: int = int32()
    error_code: int = int16()


class AlterReplicaLogDirTopicResult(Struct):
    """The partitions of one topic."""

    topic_name: str = string()
    partitions: list[AlterReplicaLogDirPartitionResult] = array(AlterReplicaLogDirPartitionResult)


class AlterReplicaLogDirsResponse(Message, api_key=34, versions="0-2", flexible="2+"):
    """What has become of the wishes; the moves themselves go on."""

    throttle_time_ms: int = int32()
    results: list[AlterReplicaLogDirTopicResult] = array(AlterReplicaLogDirTopicResult)
