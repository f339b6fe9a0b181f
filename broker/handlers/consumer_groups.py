"""ConsumerGroupHeartbeat (0-1) and ConsumerGroupDescribe (0-1): the groups of KIP-848.

Version notes: from v1 on a client makes up its member id itself (KIP-1082) and may subscribe by regular expression;
members are shown with their type (KIP-1099).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from odradek.broker.coordinator.effects import OperationResult
from odradek.broker.groups.consumer.heartbeat import ClientInfo, ConsumerHeartbeatResult
from odradek.broker.groups.consumer.member import JOINING
from odradek.broker.groups.consumer.requests import check_heartbeat
from odradek.broker.groups.consumer.views import ConsumerGroupView, ConsumerMemberView, TopicView
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext, group_operations
from odradek.broker.runtime.deferred import Deferred, then
from odradek.protocol.acls import AclOperation, AclResourceType
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.consumer_group_describe import (
    Assignment as ShownAssignment,
)
from odradek.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
)
from odradek.protocol.messages.consumer_group_describe import (
    TopicPartitions as ShownTopic,
)
from odradek.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from odradek.protocol.uuids import random_uuid, to_text


class ConsumerGroupHandlers:
    """Answers members of consumer groups, and who wants to see them."""

    def __init__(self, coordinator: GroupCoordinator, clock: Clock) -> None:
        self._coordinator = coordinator
        self._clock = clock

    def heartbeat(
        self, context: RequestContext, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse | Deferred[ConsumerGroupHeartbeatResponse]:
        """Answer ConsumerGroupHeartbeat once what it changed is safe."""
        try:
            check_heartbeat(request, context.api_version, self._coordinator.consumer_settings.assignors)
            shard = self._coordinator.shard(request.group_id)
            group = shard.consumer_group(request.group_id, create=request.member_epoch == JOINING)
            if group is None:
                raise _not_found(request.group_id)
        except KafkaError as refused:
            return ConsumerGroupHeartbeatResponse(error_code=refused.code, error_message=refused.message or None)
        if not request.member_id:
            request.member_id = to_text(random_uuid())
        access = context.access
        sees = None if access is None else partial(access.may, AclOperation.DESCRIBE, AclResourceType.TOPIC)
        client = ClientInfo(context.client_id or "", f"/{context.client_host}", sees)
        now = self._clock.now_ms()
        answer = shard.ask(group, lambda token: group.heartbeat(request, client, token, now))
        return then(answer, _beaten)

    def describe(
        self, _context: RequestContext, request: ConsumerGroupDescribeRequest
    ) -> ConsumerGroupDescribeResponse:
        """Answer ConsumerGroupDescribe."""
        operations = group_operations(request.include_authorized_operations)
        return ConsumerGroupDescribeResponse(groups=[self._describe(name, operations) for name in request.group_ids])

    def _describe(self, group_id: str, operations: int) -> DescribedGroup:
        try:
            if not group_id:
                raise KafkaError(ErrorCode.INVALID_GROUP_ID)
            group = self._coordinator.shard(group_id).consumer_group(group_id, create=False)
            if group is None:
                raise _not_found(group_id)
        except KafkaError as refused:
            return DescribedGroup(group_id=group_id, error_code=refused.code, error_message=refused.message or None)
        return _shown_group(group.describe(), operations)


def _not_found(group_id: str) -> KafkaError:
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")


def _beaten(answer: OperationResult) -> ConsumerGroupHeartbeatResponse:
    if not isinstance(answer, ConsumerHeartbeatResult):
        return ConsumerGroupHeartbeatResponse(error_code=answer.error)
    return ConsumerGroupHeartbeatResponse(
        error_code=answer.error,
        error_message=answer.message,
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=None if answer.assignment is None else _assignment(answer.assignment),
    )


def _assignment(partitions: Mapping[UUID, frozenset[int]]) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=sorted(indexes)) for topic_id, indexes in partitions.items()
        ]
    )


def _shown_group(view: ConsumerGroupView, operations: int) -> DescribedGroup:
    return DescribedGroup(
        group_id=view.group_id,
        group_state=view.state,
        group_epoch=view.epoch,
        assignment_epoch=view.assignment_epoch,
        assignor_name=view.assignor,
        members=[_shown_member(member) for member in view.members],
        authorized_operations=operations,
    )


def _shown_member(view: ConsumerMemberView) -> Member:
    member = view.member
    said = member.metadata
    return Member(
        member_id=member.member_id,
        instance_id=said.instance_id,
        rack_id=said.rack_id,
        member_epoch=member.epoch,
        client_id=said.client_id,
        client_host=said.client_host,
        subscribed_topic_names=sorted(said.topics),
        subscribed_topic_regex=said.regex,
        assignment=_shown(view.assignment),
        target_assignment=_shown(view.target),
        member_type=member.type,
    )


def _shown(topics: Sequence[TopicView]) -> ShownAssignment:
    return ShownAssignment(
        topic_partitions=[
            ShownTopic(topic_id=topic.topic_id, topic_name=topic.name, partitions=topic.partitions) for topic in topics
        ]
    )
