"""SyncGroup: the leader's assignment comes in, is written, and goes out.

Owns: who may ask for an assignment, and what depends on the record of it. Must not know: how it was made.
"""

from __future__ import annotations

from collections.abc import Mapping

from odradek.broker.coordinator.effects import Effects, Now, Token
from odradek.broker.groups.classic.rebalance import SYNC_TIMER, answer_sync, hand_out, prepare, withdraw
from odradek.broker.groups.classic.state import GroupData, metadata_record
from odradek.broker.groups.classic.states import ClassicGroupState, Event
from odradek.broker.groups.classic.validation import generation_error
from odradek.broker.groups.classic.values import SyncRequest, SyncResult
from odradek.protocol.errors import ErrorCode


def sync(group: GroupData, effects: Effects, request: SyncRequest, token: Token) -> None:
    """Answer a SyncGroup, or park it until the leader's assignment is written."""
    error = _error(group, request)
    if error is not ErrorCode.NONE:
        effects.answers.append((token, SyncResult(error)))
        return
    membership = group.membership
    membership.unsynced.discard(request.member_id)
    if not membership.unsynced:
        effects.timers.append((SYNC_TIMER, None))
    if group.state is ClassicGroupState.STABLE:
        assignment = membership.members[request.member_id].assignment
        stored = SyncResult(ErrorCode.NONE, group.protocol_type, group.protocol_name, assignment)
        effects.answers.append((token, stored))
        return
    # Of a member that asks twice the first request has nobody left to read its answer.
    answer_sync(group, effects, request.member_id, SyncResult(ErrorCode.REBALANCE_IN_PROGRESS))
    membership.syncs[request.member_id] = token
    # A leader that asks twice waits for its first assignment: what is told must be what was written last.
    if request.member_id == membership.leader and group.writing_generation != group.generation:
        _write_assignment(group, effects, request.assignments)


def _error(group: GroupData, request: SyncRequest) -> ErrorCode:
    if group.state is ClassicGroupState.EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = generation_error(group, request.member_id, request.group_instance_id, request.generation)
    if error is not ErrorCode.NONE:
        return error
    if _differ(request.protocol_type, group.protocol_type) or _differ(request.protocol_name, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _differ(said: str | None, known: str | None) -> bool:
    # Versions that do not say are believed.
    return said is not None and known is not None and said != known


def _write_assignment(group: GroupData, effects: Effects, assignments: Mapping[str, bytes]) -> None:
    generation = group.writing_generation = group.generation
    # A member that is not mentioned has nothing; who is mentioned and is no member gets nothing.
    complete = {member_id: assignments.get(member_id, b"") for member_id in group.membership.members}
    effects.records.append(metadata_record(group, complete))

    def written(error: ErrorCode, now: Now) -> Effects:
        then = Effects()
        if group.writing_generation == generation:
            group.writing_generation = None
        if group.state is not ClassicGroupState.COMPLETING_REBALANCE or group.generation != generation:
            return then  # the group went on without it
        if error is ErrorCode.NONE:
            for member in group.membership.members.values():
                member.assignment = complete.get(member.member_id, b"")
            group.move(Event.ASSIGNED, now)
            hand_out(group, then, ErrorCode.NONE)
        else:
            withdraw(group, then, error)
            prepare(group, then, now)
        return then

    effects.after = written
