"""Admission of the batches of a Produce request: to which partition one goes, or what it is refused with before any log
is asked.

Three ways lead here: batches as they came, those of a transaction, which their coordinator was asked about before, and
those that were made of the message sets of old clients. Must not know: how batches are appended, what is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.broker.handlers.old_produce import Outcomes
from odradek.broker.handlers.produce_waiting import ACKS_ALL, ACKS_LEADER, ACKS_NONE
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.topic_partitions import TopicPartitions
from odradek.broker.runtime.context import RequestContext
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.produce import PartitionProduceData
from odradek.storage.validation import check_produce_records

if TYPE_CHECKING:  # most producers need none of it
    from odradek.broker.handlers.transactional_produce import Verified

_ACKS = (ACKS_ALL, ACKS_LEADER, ACKS_NONE)
_NOTHING = memoryview(b"")
ADMIN_CLIENT_ID = "__admin_client"
"""The one client id that may write to internal topics, as in Kafka."""

Admit = Callable[[RequestContext, TopicPartitions, PartitionProduceData, int], tuple[Partition, memoryview]]
"""Gives the partition and the batch to append to it, or raises KafkaError."""


def admit_batch(
    context: RequestContext, topic: TopicPartitions, data: PartitionProduceData, acks: int
) -> tuple[Partition, memoryview]:
    """The partition and the records to append to it; raises KafkaError for what no log need be asked about."""
    partition = topic.get(data.index)
    if partition is None:
        raise topic.missing(data.index)
    records = data.records
    check_produce_records(records, context.api_version)
    if acks not in _ACKS:
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
    if topic.is_internal and context.client_id != ADMIN_CLIENT_ID:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic {topic.name} is internal")
    if acks == ACKS_ALL and partition.replicas is not None:
        partition.replicas.check_enough()
    assert isinstance(records, memoryview)  # not null, and what is decoded from a frame is a view of it
    return partition, records


def admit_verified(verified: Verified) -> Admit:
    """The same for records whose transaction was verified; what the coordinator said of it comes first."""

    def admit(
        context: RequestContext, topic: TopicPartitions, data: PartitionProduceData, acks: int
    ) -> tuple[Partition, memoryview]:
        partition = topic.get(data.index)
        if partition is not None:
            verified.check(partition)
        return admit_batch(context, topic, data, acks)

    return admit


def admit_converted(outcomes: Outcomes) -> Admit:
    """The same for records that were converted before: `outcomes` has the batches, and what is wrong with the others.

    In old versions no check of the records comes before those that the partition makes.
    """

    def admit(
        context: RequestContext, topic: TopicPartitions, data: PartitionProduceData, acks: int
    ) -> tuple[Partition, memoryview]:
        outcome = outcomes.get(id(data))
        if outcome is None:  # the partition was not here when the others were converted
            outcome = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        data.records = outcome if isinstance(outcome, memoryview) else _NOTHING
        admitted = admit_batch(context, topic, data, acks)
        if isinstance(outcome, KafkaError):
            raise outcome
        return admitted

    return admit
