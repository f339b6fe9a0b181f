"""AlterPartition (api key 56): the leader of partitions has the controller change their ISRs (KIP-497).

Version notes: recovery after an unclean election comes with v1 (KIP-704), topic ids with v2 (KIP-841), broker
epochs of the members with v3 (KIP-903). Kafka 4 speaks v2 and later.
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, int8, int16, int32, int64, string, uuid


class IsrMember(Struct):
    """A member of the ISR, and the registration that the leader knows it by."""

    broker_id: int = int32("3+")
    broker_epoch: int = int64("3+", default=-1)
    """-1: not checked."""


class AlterPartitionState(Struct):
    """The state that the leader wants."""

    partition_index: int = int32()
    leader_epoch: int = int32()
    new_isr: list[int] = array(int32, "0-2")
    new_isr_with_epochs: list[IsrMember] = array(IsrMember, "3+")
    leader_recovery_state: int = int8("1+")
    partition_epoch: int = int32()


class AlterPartitionTopic(Struct):
    """The partitions of one topic."""

    topic_name: str = string("0-1")
    topic_id: UUID = uuid("2+")
    partitions: list[AlterPartitionState] = array(AlterPartitionState)


class AlterPartitionRequest(Message, api_key=56, versions="0-3", flexible="0+"):
    """The changes that the leader wants."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    topics: list[AlterPartitionTopic] = array(AlterPartitionTopic)


class AlterPartitionResult(Struct):
    """The state that the partition is in now."""

    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    leader_epoch: int = int32()
    isr: list[int] = array(int32)
    leader_recovery_state: int = int8("1+")
    partition_epoch: int = int32()


class AlterPartitionTopicResult(Struct):
    """The partitions of one topic."""

    topic_name: str = string("0-1")
    topic_id: UUID = uuid("2+")
    partitions: list[AlterPartitionResult] = array(AlterPartitionResult)


class AlterPartitionResponse(Message, api_key=56, versions="0-3", flexible="0+"):
    """What the controller made of them."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    topics: list[AlterPartitionTopicResult] = array(AlterPartitionTopicResult)
