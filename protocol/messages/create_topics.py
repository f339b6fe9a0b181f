"""CreateTopics (api key 19): create topics, or say what creating them would give.

Version notes: validate-only comes with v1, throttle time with v2, the broker's defaults (-1 partitions, -1 replicas)
with v4 (KIP-464), flexible encoding and what was created with v5 (KIP-525), quota errors with v6 (KIP-599), topic ids
in answers with v7 (KIP-516).
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, boolean, int8, int16, int32, string, uuid


class CreatableReplicaAssignment(Struct):
    """The brokers of one partition, the preferred leader first."""

    partition_index: int = int32()
    broker_ids: list[int] = array(int32)


class CreatableTopicConfig(Struct):
    """A config to set on the topic."""

    name: str = string()
    value: str | None = string(nullable="0+")


class CreatableTopic(Struct):
    """One topic: counts of partitions and replicas, or assignments."""

    name: str = string()
    num_partitions: int = int32()
    """-1: the default of the broker, or the count of assignments."""
    replication_factor: int = int16()
    """-1: the default of the broker, or given by the assignments."""
    assignments: list[CreatableReplicaAssignment] = array(CreatableReplicaAssignment)
    configs: list[CreatableTopicConfig] = array(CreatableTopicConfig)


class CreateTopicsRequest(Message, api_key=19, versions="0-7", flexible="5+"):
    """The topics to create."""

    topics: list[CreatableTopic] = array(CreatableTopic)
    timeout_ms: int = int32(default=60000)
    validate_only: bool = boolean("1+")


class CreatableTopicConfigs(Struct):
    """A config in effect on the new topic."""

    name: str = string()
    value: str | None = string(nullable="0+")
    read_only: bool = boolean()
    config_source: int = int8(default=-1)
    is_sensitive: bool = boolean()


class CreatableTopicResult(Struct):
    """One topic as it was created, or why it was not."""

    name: str = string()
    topic_id: UUID = uuid("7+")
    error_code: int = int16()
    error_message: str | None = string("1+", nullable="1+")
    topic_config_error_code: int = int16("5+", tag=0)
    """Why the configs are missing, if they may not be seen."""
    num_partitions: int = int32("5+", default=-1)
    replication_factor: int = int16("5+", default=-1)
    configs: list[CreatableTopicConfigs] | None = array(CreatableTopicConfigs, "5+", nullable="5+")


class CreateTopicsResponse(Message, api_key=19, versions="0-7", flexible="5+"):
    """What became of each topic."""

    throttle_time_ms: int = int32("2+")
    topics: list[CreatableTopicResult] = array(CreatableTopicResult)
