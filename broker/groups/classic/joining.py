"""JoinGroup: who is let in, who must come again, and who is already there.

Owns: the checks of a JoinGroup in Kafka's order, and what a group does with one that passes. Must not know: how a
rebalance goes on (`rebalance`), nor how a static member is replaced (`static`).

Follows: Kafka's group coordinator; KIP-394 (members come back with the id they were given), KIP-389 (group size).
"""

from __future__ import annotations

from odradek.broker.coordinator.effects import Effects, Now, TimerKey, Token
from odradek.broker.groups.classic.membership import ClassicGroupMember
from odradek.broker.groups.classic.rebalance import (
    SESSION,
    answer_join,
    complete_if_all_joined,
    forget,
    generation_result,
    rebalance_or_complete,
    watch,
)
from odradek.broker.groups.classic.state import GroupData
from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.broker.groups.classic.static import replace
from odradek.broker.groups.classic.validation import member_error
from odradek.broker.groups.classic.values import ClassicGroupLimits, JoinRequest, JoinResult
from odradek.protocol.errors import ErrorCode

MEMBER_ID_REQUIRED_VERSION = 4
"""From here on a new member must come again with the id it is given, so that a lost answer leaves no dead member."""


def refusal(request: JoinRequest, limits: ClassicGroupLimits, group_exists: bool) -> JoinResult | None:
    """Return why a JoinGroup is refused before any group is asked, or created; None: go on."""
    if not limits.min_session_timeout_ms <= request.session_timeout_ms <= limits.max_session_timeout_ms:
        return JoinResult(ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
    if len(request.protocols) > limits.max_protocols or any(
        len(protocol.metadata) > limits.max_metadata_bytes for protocol in request.protocols
    ):
        return JoinResult(ErrorCode.INVALID_REQUEST, request.member_id)
    if request.member_id and not group_exists:
        return JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
    return None


def join(group: GroupData, effects: Effects, request: JoinRequest, token: Token, now: Now) -> None:
    """Answer a JoinGroup, or park it."""
    error = _error(group, effects, request, now)
    if error is not ErrorCode.NONE:
        # Who is turned away at the door is not named.
        member_id = "" if error is ErrorCode.GROUP_MAX_SIZE_REACHED else request.member_id
        effects.answers.append((token, JoinResult(error, member_id)))
    elif not request.member_id:
        _join_stranger(group, effects, request, token, now)
    elif request.member_id in group.membership.pending and request.group_instance_id is None:
        _add(group, effects, request, request.member_id, token, now)
    else:
        _join_member(group, effects, request, token, now)


def _error(group: GroupData, effects: Effects, request: JoinRequest, now: Now) -> ErrorCode:
    if group.state is ClassicGroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if not _has_room(group, request.member_id):
        if request.member_id:
            forget(group, effects, request.member_id)
            if group.state is ClassicGroupState.PREPARING_REBALANCE:
                complete_if_all_joined(group, effects, now)
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if not _fits(group, request):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.NONE


def _has_room(group: GroupData, member_id: str) -> bool:
    membership = group.membership
    if group.state is ClassicGroupState.EMPTY:
        return True
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        # Those who joined are counted, not the members: so a group that is too large, because the limit was lowered,
        # shrinks in its next rebalance to those who came first.
        return member_id in membership.joins or len(membership.joins) < group.limits.max_size
    return member_id in membership.members or len(membership.members) < group.limits.max_size


def _fits(group: GroupData, request: JoinRequest) -> bool:
    if group.state is ClassicGroupState.EMPTY:
        return bool(request.protocol_type) and bool(request.protocols)
    return group.protocol_type == request.protocol_type and any(
        group.membership.all_speak(protocol.name) for protocol in request.protocols
    )


def _join_stranger(group: GroupData, effects: Effects, request: JoinRequest, token: Token, now: Now) -> None:
    instance_id = request.group_instance_id
    if instance_id is not None:
        new_id = f"{instance_id}-{request.new_id}"
        old_id = group.membership.static_ids.get(instance_id)
        if old_id is None:
            _add(group, effects, request, new_id, token, now)
        else:
            replace(group, effects, request, (old_id, new_id), token, now)
        return
    new_id = f"{request.client_id}-{request.new_id}"
    if request.api_version < MEMBER_ID_REQUIRED_VERSION:
        _add(group, effects, request, new_id, token, now)
        return
    group.membership.pending.add(new_id)
    effects.timers.append((TimerKey(SESSION, new_id), request.session_timeout_ms))
    effects.answers.append((token, JoinResult(ErrorCode.MEMBER_ID_REQUIRED, new_id)))


def _add(group: GroupData, effects: Effects, request: JoinRequest, member_id: str, token: Token, now: Now) -> None:
    member = ClassicGroupMember(member_id, request.group_instance_id, request.client_id, request.client_host)
    member.protocols = request.protocols
    member.take_timeouts(request)
    member.is_new = True
    if not group.membership.members:
        group.protocol_type = request.protocol_type
    group.membership.add(member)
    group.membership.joins[member_id] = token
    if group.initial_delay is not None:
        group.initial_delay.new_member = True
    # It may not know its id yet, so it cannot send heartbeats; a client that is gone must not be waited for forever.
    watch(effects, member, group.limits.new_member_join_timeout_ms)
    rebalance_or_complete(group, effects, now)


def _join_member(group: GroupData, effects: Effects, request: JoinRequest, token: Token, now: Now) -> None:
    member_id = request.member_id
    error = member_error(group, member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        effects.answers.append((token, JoinResult(error, member_id)))
        return
    member = group.membership.members[member_id]
    same = member.protocols == request.protocols
    # A follower with nothing new, or anybody in a generation that just began, may have missed its answer. A leader
    # that comes again in a stable group wants a rebalance: something changed that only it can see.
    follows = group.state is ClassicGroupState.STABLE and member_id != group.membership.leader
    if same and (follows or group.state is ClassicGroupState.COMPLETING_REBALANCE):
        effects.answers.append((token, generation_result(group, member_id)))
        return
    group.membership.teach(member, request.protocols)
    member.take_timeouts(request)
    # The member asks a second time: the first request's connection is gone, and so is whoever would read its answer.
    answer_join(group, effects, member_id, JoinResult(ErrorCode.REBALANCE_IN_PROGRESS, member_id))
    group.membership.joins[member_id] = token
    rebalance_or_complete(group, effects, now)
