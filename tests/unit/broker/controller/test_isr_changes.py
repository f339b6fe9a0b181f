"""AlterPartition: every check, in Kafka's order, and what a change leads to."""

from uuid import UUID

import pytest

from odradek.broker.controller.isr_changes import plan_isr_changes
from odradek.broker.metadata.image import MetadataImage
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResult,
    AlterPartitionState,
    AlterPartitionTopic,
    IsrMember,
)
from odradek.protocol.messages.metadata_records import BrokerRegistrationChangeRecord
from tests.unit.broker.controller.cluster import (
    TOPIC,
    TOPIC_ID,
    change,
    cluster,
    fenced,
    messages_of,
    partition,
    view_of,
)

SHUTS_DOWN = BrokerRegistrationChangeRecord(broker_id=3, broker_epoch=300, in_controlled_shutdown=1)
IMAGE = cluster(partition([1, 2, 3], isr=[1, 2]))


def asked(isr: list[int], number: int = 0, topic_id: UUID = TOPIC_ID, **state: int) -> AlterPartitionRequest:
    """Return a request of broker 1 for one partition, with the epochs that are right."""
    members = [IsrMember(broker_id=one, broker_epoch=one * 100) for one in isr]
    wanted = AlterPartitionState(partition_index=number, leader_epoch=5, partition_epoch=7, new_isr_with_epochs=members)
    wanted.new_isr = isr
    for name, value in state.items():
        setattr(wanted, name, value)
    topic = AlterPartitionTopic(topic_id=topic_id, topic_name=TOPIC, partitions=[wanted])
    return AlterPartitionRequest(broker_id=1, broker_epoch=100, topics=[topic])


def answered(
    request: AlterPartitionRequest, image: MetadataImage = IMAGE, version: int = 3
) -> tuple[list[object], AlterPartitionResult]:
    """Return the records and the answer for the only partition."""
    records, response = plan_isr_changes(view_of(image), request, version)
    return messages_of(records), response.topics[0].partitions[0]


def test_change_of_the_isr_is_recorded_and_told() -> None:
    """The answer has the state after it: the partition epoch has risen, the leader epoch not."""
    records, result = answered(asked([1, 2, 3]))
    assert records == [change(isr=[1, 2, 3])]
    assert result == AlterPartitionResult(leader_id=1, leader_epoch=5, isr=[1, 2, 3], partition_epoch=8)


def test_isr_that_is_so_already_is_told_without_a_record() -> None:
    """A request that comes twice does no harm."""
    assert answered(asked([1, 2])) == (
        [],
        AlterPartitionResult(leader_id=1, leader_epoch=5, isr=[1, 2], partition_epoch=7),
    )


def test_stale_sender_is_refused_as_a_whole() -> None:
    """Another registration than the sender's is in force."""
    request = asked([1])
    request.broker_epoch = 99
    with pytest.raises(KafkaError) as caught:
        plan_isr_changes(view_of(IMAGE), request, 3)
    assert caught.value.code is ErrorCode.STALE_BROKER_EPOCH


@pytest.mark.parametrize(
    ("request_", "code", "old_code"),
    [
        (asked([1], topic_id=UUID(int=9)), ErrorCode.UNKNOWN_TOPIC_ID, None),
        (asked([1], number=4), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (asked([1], number=-1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (asked([1], leader_epoch=6), ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_CONTROLLER),
        (asked([1], leader_epoch=4, partition_epoch=8), ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_CONTROLLER),
        (asked([1], leader_epoch=4), ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH),
        (asked([1], partition_epoch=6), ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.INVALID_UPDATE_VERSION),
        (asked([1, 1]), ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        (asked([1, 4]), ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        (asked([2, 3]), ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        (asked([]), ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        (asked([1, 2], leader_recovery_state=1), ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        (asked([1], leader_recovery_state=1), ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        (asked([1], leader_recovery_state=2), ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
    ],
)
def test_each_check_has_its_code(request_: AlterPartitionRequest, code: ErrorCode, old_code: ErrorCode | None) -> None:
    """Versions 0 and 1 know topics by name."""
    assert answered(request_) == (
        [],
        AlterPartitionResult(partition_index=request_.topics[0].partitions[0].partition_index, error_code=code),
    )
    if old_code is not None:
        assert answered(request_, version=1)[1].error_code == old_code


def test_who_does_not_lead_may_not_change_the_isr() -> None:
    """INVALID_REQUEST, after the leader epoch and before the partition epoch."""
    request = asked([1], partition_epoch=6)
    request.broker_id, request.broker_epoch = 2, 200
    assert answered(request)[1].error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("away", [fenced(3), SHUTS_DOWN])
def test_member_that_cannot_serve_is_ineligible(away: BrokerRegistrationChangeRecord) -> None:
    """The leader keeps what it has; before version 2 there was no code of its own."""
    image = cluster(partition([1, 2, 3], isr=[1, 2]), away)
    assert answered(asked([1, 2, 3]), image)[1].error_code == ErrorCode.INELIGIBLE_REPLICA
    assert answered(asked([1, 2, 3]), image, 1)[1].error_code == ErrorCode.OPERATION_NOT_ATTEMPTED


def test_member_of_another_registration_is_ineligible() -> None:
    """It has started anew since it caught up, and may have lost records (KIP-903); -1 and old versions do not say."""
    request = asked([1, 2, 3])
    members = request.topics[0].partitions[0].new_isr_with_epochs
    members[2].broker_epoch = 299
    assert answered(request)[1].error_code == ErrorCode.INELIGIBLE_REPLICA
    members[2].broker_epoch = -1
    assert answered(request)[1].error_code == ErrorCode.NONE


def test_end_of_a_reassignment_that_moves_the_leader_is_told_as_an_error() -> None:
    """The record is written all the same; the leader has to look at the metadata."""
    moving = partition([3, 1], isr=[1], leader=1, removing_replicas=[1], adding_replicas=[3])
    records, result = answered(asked([1, 3]), cluster(moving))
    assert len(records) == 1
    assert result == AlterPartitionResult(error_code=ErrorCode.NEW_LEADER_ELECTED)
    assert answered(asked([1, 3]), cluster(moving), 1)[1].error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_leader_that_has_recovered_may_say_so() -> None:
    """From then on others may come into the ISR (KIP-704)."""
    image = cluster(partition([1, 2], isr=[1], leader_recovery_state=1))
    records, result = answered(asked([1]), image)
    assert records == [change(leader_recovery_state=0)]
    assert result.error_code == ErrorCode.NONE
