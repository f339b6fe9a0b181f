"""AlterPartition: whether the leader of a partition may change its ISR, and what that leads to.

Pure. The checks stand in Kafka's order (`ReplicationControlManager.alterPartition`, KIP-497, KIP-704, KIP-841,
KIP-903). Must not know: connections, how records are stored.
"""

from odradek.broker.controller.controller_view import ControllerView, PartitionPlace
from odradek.broker.controller.partition_changes import NO_LEADER_CHANGE, Election, PartitionTarget, plan_change
from odradek.broker.metadata.image import PartitionImage, RecoveryState, TopicImage
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.broker.metadata.topic_drafts import merge
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResult,
    AlterPartitionState,
    AlterPartitionTopic,
    AlterPartitionTopicResult,
    IsrMember,
)

_FIRST_WITH_TOPIC_IDS = 2
"""From this version on topics have ids, and there are codes of their own for two refusals."""
_FIRST_WITH_EPOCHS = 3


def plan_isr_changes(
    view: ControllerView, request: AlterPartitionRequest, version: int
) -> tuple[list[MetadataRecord], AlterPartitionResponse]:
    """Return the records of the changes that can be made, and the answer to all of them.

    Raises KafkaError STALE_BROKER_EPOCH if the sender has registered anew or is unknown.
    """
    view.check_broker_epoch(request.broker_id, request.broker_epoch)
    records: list[MetadataRecord] = []
    response = AlterPartitionResponse()
    for wanted in request.topics:
        topic = _find(view, wanted, version)
        response.topics.append(
            AlterPartitionTopicResult(
                topic_name=wanted.topic_name,
                topic_id=wanted.topic_id,
                partitions=[
                    _unknown_topic(state, version)
                    if topic is None
                    else _alter(view, topic, request.broker_id, state, version, records)
                    for state in wanted.partitions
                ],
            )
        )
    return records, response


def _find(view: ControllerView, wanted: AlterPartitionTopic, version: int) -> TopicImage | None:
    if version >= _FIRST_WITH_TOPIC_IDS:
        return view.image.topic_by_id(wanted.topic_id)
    return view.image.topic(wanted.topic_name)


def _unknown_topic(state: AlterPartitionState, version: int) -> AlterPartitionResult:
    has_ids = version >= _FIRST_WITH_TOPIC_IDS
    code = ErrorCode.UNKNOWN_TOPIC_ID if has_ids else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return AlterPartitionResult(partition_index=state.partition_index, error_code=code)


def _alter(
    view: ControllerView,
    topic: TopicImage,
    sender: int,
    state: AlterPartitionState,
    version: int,
    records: list[MetadataRecord],
) -> AlterPartitionResult:
    index = state.partition_index
    if not 0 <= index < len(topic.partitions):
        return AlterPartitionResult(partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    partition = topic.partitions[index]
    members = state.new_isr_with_epochs
    if version < _FIRST_WITH_EPOCHS:
        members = [IsrMember(broker_id=broker_id) for broker_id in state.new_isr]
    refused = _refusal(view, partition, sender, state, members, version)
    if refused:
        return AlterPartitionResult(partition_index=index, error_code=refused)
    target = PartitionTarget(
        isr=tuple(member.broker_id for member in members),
        recovery_state=state.leader_recovery_state,
        election=Election.UNCLEAN if view.allows_unclean(topic) else Election.ONLINE,
    )
    change = plan_change(view, PartitionPlace(topic, index, partition), target)
    if change is not None:
        records.append(make_record(change, view.record_version))
        partition = merge(partition, change)
        if change.leader not in (sender, NO_LEADER_CHANGE):  # the change has ended a reassignment, and the leader's job
            has_code = version >= _FIRST_WITH_TOPIC_IDS
            code = ErrorCode.NEW_LEADER_ELECTED if has_code else ErrorCode.FENCED_LEADER_EPOCH
            return AlterPartitionResult(partition_index=index, error_code=code)
    return AlterPartitionResult(
        partition_index=index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )


def _refusal(
    view: ControllerView,
    partition: PartitionImage,
    sender: int,
    state: AlterPartitionState,
    members: list[IsrMember],
    version: int,
) -> ErrorCode:
    isr = [member.broker_id for member in members]
    if state.leader_epoch > partition.leader_epoch or state.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER  # the leader knows more than this controller: another one has taken over
    if state.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if sender != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if state.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    if len(set(isr)) < len(isr) or not set(isr) <= set(partition.replicas) or partition.leader not in isr:
        return ErrorCode.INVALID_REQUEST
    if state.leader_recovery_state not in (RecoveryState.RECOVERED, RecoveryState.RECOVERING):
        return ErrorCode.INVALID_REQUEST
    recovers = state.leader_recovery_state == RecoveryState.RECOVERING
    if recovers and (len(isr) > 1 or partition.leader_recovery_state == RecoveryState.RECOVERED):
        return ErrorCode.INVALID_REQUEST
    if not all(_is_eligible(view, member) for member in members):
        has_code = version >= _FIRST_WITH_TOPIC_IDS
        return ErrorCode.INELIGIBLE_REPLICA if has_code else ErrorCode.OPERATION_NOT_ATTEMPTED
    return ErrorCode.NONE


def _is_eligible(view: ControllerView, member: IsrMember) -> bool:
    return view.is_active(member.broker_id) and member.broker_epoch in (-1, view.brokers[member.broker_id].epoch)
