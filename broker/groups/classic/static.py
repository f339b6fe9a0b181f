"""A static member that comes back under a new id, and takes its old place.

Owns: how the old holder of an instance id is fenced, and when the group need not rebalance for it. Must not know: how
members are let in otherwise.

Follows: KIP-345 (static membership), KIP-814 (a leader that comes back is told to keep the assignment).
"""

from __future__ import annotations

from odradek.broker.coordinator.effects import Effects, Now, TimerKey, Token
from odradek.broker.groups.classic.membership import ClassicGroupMember
from odradek.broker.groups.classic.rebalance import (
    SESSION,
    answer_join,
    answer_sync,
    generation_result,
    rebalance_or_complete,
    watch,
)
from odradek.broker.groups.classic.state import GroupData, metadata_record
from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.broker.groups.classic.values import JoinRequest, JoinResult, SyncResult
from odradek.protocol.errors import ErrorCode

SKIP_ASSIGNMENT_VERSION = 9
"""From here on a leader can be told that the assignment stands."""


def replace(
    group: GroupData, effects: Effects, request: JoinRequest, ids: tuple[str, str], token: Token, now: Now
) -> None:
    """Give the place of a static member to the same instance under its new id; `ids` are the old and the new one."""
    old_id, new_id = ids
    membership = group.membership
    old_leader = membership.leader or ""
    before = membership.members[old_id]
    _rename(group, effects, old_id, new_id)
    member = membership.members[new_id]
    membership.teach(member, request.protocols)
    member.take_timeouts(request)
    watch(effects, member)
    membership.joins[new_id] = token
    if group.state is not ClassicGroupState.STABLE or membership.select_protocol() != group.protocol_name:
        # In CompletingRebalance too: the leader may have been told the old id, and would assign nothing to the new one.
        rebalance_or_complete(group, effects, now)
    else:
        _keep_generation(group, effects, request, before, new_id, old_leader)


def _keep_generation(
    group: GroupData, effects: Effects, request: JoinRequest, before: ClassicGroupMember, new_id: str, old_leader: str
) -> None:
    # Nothing changes for the others, but the new id must survive a restart before anybody is told of it.
    membership = group.membership
    token = membership.joins[new_id]
    effects.records.append(
        metadata_record(group, {member.member_id: member.assignment for member in membership.members.values()})
    )

    def written(error: ErrorCode, _now: Now) -> Effects:
        then = Effects()
        if membership.joins.get(new_id) is not token:
            return then  # something else was quicker, and has answered
        if error is ErrorCode.NONE:
            answer_join(group, then, new_id, _keeping_result(group, request, new_id, old_leader))
            return then
        failed = JoinResult(error, "", group.generation, group.protocol_type, group.protocol_name, old_leader)
        answer_join(group, then, new_id, failed)
        member = membership.members[new_id]
        membership.teach(member, before.protocols)
        member.session_timeout_ms = before.session_timeout_ms
        member.rebalance_timeout_ms = before.rebalance_timeout_ms
        _rename(group, then, new_id, before.member_id)
        watch(then, membership.members[before.member_id])
        return then

    effects.after = written


def _keeping_result(group: GroupData, request: JoinRequest, new_id: str, old_leader: str) -> JoinResult:
    result = generation_result(group, new_id)
    if request.api_version >= SKIP_ASSIGNMENT_VERSION:
        return result._replace(skip_assignment=new_id == group.membership.leader)
    # It cannot be told, so it is not told that it leads either: it would assign anew and nobody would take part.
    return result._replace(leader=old_leader, members=())


def _rename(group: GroupData, effects: Effects, old_id: str, new_id: str) -> None:
    fenced = ErrorCode.FENCED_INSTANCE_ID
    answer_join(group, effects, old_id, JoinResult(fenced, old_id))
    answer_sync(group, effects, old_id, SyncResult(fenced))
    group.membership.rename(old_id, new_id)
    effects.timers.append((TimerKey(SESSION, old_id), None))
