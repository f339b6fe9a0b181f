"""JoinGroup (0-9), SyncGroup (0-5), Heartbeat (0-4) and LeaveGroup (0-5): the members of classic groups.

What is answered at once is answered by a plain call; a JoinGroup that waits for the other members, and a SyncGroup that
waits for the leader's, are parked without a task. Version notes: see the messages. JoinGroup gives new members an id
to come back with from v4 (KIP-394); LeaveGroup names several members, each with a result, from v3; SyncGroup must name
type and name of the protocol from v5 (KIP-559).
"""

from __future__ import annotations

from uuid import uuid4

from odradek.broker.coordinator.effects import OperationResult
from odradek.broker.coordinator.operations import RequestFailed
from odradek.broker.groups.classic.joining import refusal
from odradek.broker.groups.classic.values import (
    ClassicHeartbeat,
    JoinRequest,
    JoinResult,
    LeaveResult,
    LeavingMember,
    LeftMember,
    SupportedProtocol,
    SyncRequest,
    SyncResult,
)
from odradek.broker.groups.consumer.group import ConsumerGroup
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, then
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from odradek.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from odradek.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_FIRST_WITHOUT_PROTOCOL = 7
"""Before, JoinGroup says "no protocol" with an empty name."""
_FIRST_WITH_SEVERAL = 3
"""LeaveGroup: several members, each with a result."""
_FIRST_WITH_NAMED_PROTOCOL = 5
"""SyncGroup: the protocol must be named."""

MOST_PROTOCOLS = 1_000
"""Protocols that a member may offer: clients have one or two, and each is compared with those of all others."""


class GroupHandlers:
    """Answers the members of classic groups."""

    def __init__(self, coordinator: GroupCoordinator, clock: Clock) -> None:
        self._coordinator = coordinator
        self._clock = clock

    def join_group(
        self, context: RequestContext, request: JoinGroupRequest
    ) -> JoinGroupResponse | Deferred[JoinGroupResponse]:
        """Answer JoinGroup, or park it until the group is complete."""
        version = context.api_version

        def respond(answer: OperationResult) -> JoinGroupResponse:
            return _joined(answer, version, request.member_id)

        if len(request.protocols) > MOST_PROTOCOLS:
            return respond(RequestFailed(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        joining = _join_request(context, request)
        try:
            _check_group_id(request.group_id)
            shard = self._coordinator.shard(request.group_id)
        except KafkaError as refused:
            return respond(RequestFailed(refused.code))
        refused_at_once = refusal(joining, self._coordinator.limits, request.group_id in shard.groups)
        if refused_at_once is not None:
            return respond(refused_at_once)
        now = self._clock.now_ms()
        group = shard.classic_group(request.group_id, now)
        return then(shard.ask(group, lambda token: group.join(joining, token, now)), respond)

    def sync_group(
        self, context: RequestContext, request: SyncGroupRequest
    ) -> SyncGroupResponse | Deferred[SyncGroupResponse]:
        """Answer SyncGroup, or park it until the leader's assignment is written."""
        if context.api_version >= _FIRST_WITH_NAMED_PROTOCOL and (
            request.protocol_type is None or request.protocol_name is None
        ):
            return _synced(RequestFailed(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        try:
            _check_group_id(request.group_id)
            shard = self._coordinator.shard(request.group_id)
        except KafkaError as refused:
            return _synced(RequestFailed(refused.code))
        group = shard.groups.get(request.group_id)
        if group is None:
            return _synced(RequestFailed(ErrorCode.UNKNOWN_MEMBER_ID))
        syncing = SyncRequest(
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            request.protocol_type,
            request.protocol_name,
            {assignment.member_id: bytes(assignment.assignment) for assignment in request.assignments},
        )
        return then(shard.ask(group, lambda token: group.sync(syncing, token)), _synced)

    def heartbeat(
        self, _context: RequestContext, request: HeartbeatRequest
    ) -> HeartbeatResponse | Deferred[HeartbeatResponse]:
        """Answer Heartbeat."""
        try:
            _check_group_id(request.group_id)
            shard = self._coordinator.shard(request.group_id)
        except KafkaError as refused:
            if refused.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                return HeartbeatResponse()  # whoever it is, there is nothing yet that it would have to do
            return HeartbeatResponse(error_code=refused.code)
        group = shard.groups.get(request.group_id)
        if group is None:
            return HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        beat = ClassicHeartbeat(request.member_id, request.group_instance_id, request.generation_id)
        if isinstance(group, ConsumerGroup):
            return then(shard.ask(group, lambda token: group.classic_heartbeat(beat, token)), _beaten)
        return then(shard.ask(group, lambda token: group.heartbeat(beat, token)), _beaten)

    def leave_group(
        self, context: RequestContext, request: LeaveGroupRequest
    ) -> LeaveGroupResponse | Deferred[LeaveGroupResponse]:
        """Answer LeaveGroup."""
        version = context.api_version
        if version < _FIRST_WITH_SEVERAL:
            leaving = [LeavingMember(request.member_id)]
        else:
            leaving = [LeavingMember(member.member_id, member.group_instance_id) for member in request.members]

        def respond(answer: OperationResult) -> LeaveGroupResponse:
            return _left(answer, version)

        try:
            _check_group_id(request.group_id)
            shard = self._coordinator.shard(request.group_id)
        except KafkaError as refused:
            return respond(RequestFailed(refused.code))
        group = shard.groups.get(request.group_id)
        if group is None:
            strangers = tuple(LeftMember(*member, ErrorCode.UNKNOWN_MEMBER_ID) for member in leaving)
            return respond(LeaveResult(ErrorCode.NONE, strangers))
        return then(shard.ask(group, lambda token: group.leave(leaving, token, self._clock.now_ms())), respond)


def _check_group_id(group_id: str) -> None:
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)


def _join_request(context: RequestContext, request: JoinGroupRequest) -> JoinRequest:
    return JoinRequest(
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        client_id=context.client_id or "",
        client_host=f"/{context.client_host}",
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=tuple(SupportedProtocol(protocol.name, bytes(protocol.metadata)) for protocol in request.protocols),
        api_version=context.api_version,
        new_id=str(uuid4()),
    )


def _joined(answer: OperationResult, version: int, member_id: str) -> JoinGroupResponse:
    if not isinstance(answer, JoinResult):
        answer = JoinResult(answer.error, member_id)
    name = answer.protocol_name
    if answer.error is not ErrorCode.NONE:
        name = None
    return JoinGroupResponse(
        error_code=answer.error,
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name="" if name is None and version < _FIRST_WITHOUT_PROTOCOL else name,
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=member.member_id, group_instance_id=member.group_instance_id, metadata=member.metadata
            )
            for member in answer.members
        ],
    )


def _synced(answer: OperationResult) -> SyncGroupResponse:
    if not isinstance(answer, SyncResult):
        return SyncGroupResponse(error_code=answer.error)
    return SyncGroupResponse(
        error_code=answer.error,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name,
        assignment=answer.assignment,
    )


def _beaten(answer: OperationResult) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=answer.error)


def _left(answer: OperationResult, version: int) -> LeaveGroupResponse:
    members = answer.members if isinstance(answer, LeaveResult) else ()
    if version < _FIRST_WITH_SEVERAL:
        error = answer.error
        if error is ErrorCode.NONE and members:
            error = members[0].error
        return LeaveGroupResponse(error_code=error)
    return LeaveGroupResponse(
        error_code=answer.error,
        members=[
            MemberResponse(
                member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=member.error
            )
            for member in members
        ],
    )
