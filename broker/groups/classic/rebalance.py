"""The circle of a classic group: from a reason to rebalance to the next generation.

Owns: when joining begins, how long it is waited for, who is left behind, and what everybody who waited is told. Must
not know: which request or timer was the reason.

Follows: Kafka's group coordinator; KIP-62 (rebalance timeout), KIP-134 (initial delay), KIP-345 (static members).
"""

from __future__ import annotations

from odradek.broker.coordinator.effects import Effects, Now, TimerKey
from odradek.broker.groups.classic.membership import ClassicGroupMember
from odradek.broker.groups.classic.state import GroupData, InitialDelay, metadata_record
from odradek.broker.groups.classic.states import ClassicGroupState, Event
from odradek.broker.groups.classic.values import JoinResult, SyncResult
from odradek.protocol.errors import ErrorCode

SESSION = "session"
"""Kind of the timer that watches a member, or a member-to-be."""
JOIN_TIMER = TimerKey("join")
"""Ends the time to join."""
SYNC_TIMER = TimerKey("sync")
"""Ends the time to send SyncGroup."""


def watch(effects: Effects, member: ClassicGroupMember, delay_ms: int | None = None) -> None:
    """Wait for the next sign of life of a member, its session timeout unless told otherwise."""
    delay = member.session_timeout_ms if delay_ms is None else delay_ms
    effects.timers.append((TimerKey(SESSION, member.member_id), delay))


def forget(group: GroupData, effects: Effects, member_id: str) -> None:
    """Remove a member or member-to-be; whatever it waits for, it is told that it is no member."""
    answer_join(group, effects, member_id, JoinResult(ErrorCode.UNKNOWN_MEMBER_ID))
    answer_sync(group, effects, member_id, SyncResult(ErrorCode.UNKNOWN_MEMBER_ID))
    group.membership.remove(member_id)
    effects.timers.append((TimerKey(SESSION, member_id), None))


def answer_join(group: GroupData, effects: Effects, member_id: str, result: JoinResult) -> None:
    """Answer the parked JoinGroup of a member, if there is one."""
    token = group.membership.joins.pop(member_id, None)
    if token is not None:
        effects.answers.append((token, result))


def answer_sync(group: GroupData, effects: Effects, member_id: str, result: SyncResult) -> None:
    """Answer the parked SyncGroup of a member, if there is one."""
    token = group.membership.syncs.pop(member_id, None)
    if token is not None:
        effects.answers.append((token, result))


def generation_result(group: GroupData, member_id: str) -> JoinResult:
    """Return what a member of the current generation is told."""
    leads = member_id == group.membership.leader
    return JoinResult(
        ErrorCode.NONE,
        member_id,
        group.generation,
        group.protocol_type,
        group.protocol_name,
        group.membership.leader or "",
        members=group.membership.as_joined(group.protocol_name) if leads else (),
    )


def hand_out(group: GroupData, effects: Effects, error: ErrorCode) -> None:
    """Answer every parked SyncGroup with the member's assignment, or with an error."""
    for member_id in list(group.membership.syncs):
        member = group.membership.members[member_id]
        if error is ErrorCode.NONE:
            result = SyncResult(error, group.protocol_type, group.protocol_name, member.assignment)
        else:
            result = SyncResult(error)
        answer_sync(group, effects, member_id, result)
        # A session is not held against a member whose request is parked, so it begins anew here.
        watch(effects, member)


def withdraw(group: GroupData, effects: Effects, error: ErrorCode) -> None:
    """Take every assignment back, and answer every parked SyncGroup with an error."""
    for member in group.membership.members.values():
        member.assignment = b""
    hand_out(group, effects, error)


def rebalance_or_complete(group: GroupData, effects: Effects, now: Now) -> None:
    """Begin a rebalance; or if one is under way, end the time to join should everybody be there."""
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        complete_if_all_joined(group, effects, now)
    else:
        prepare(group, effects, now)


def prepare(group: GroupData, effects: Effects, now: Now) -> None:
    """Begin to wait for members to join."""
    if group.state is ClassicGroupState.COMPLETING_REBALANCE:
        withdraw(group, effects, ErrorCode.REBALANCE_IN_PROGRESS)
    group.membership.unsynced.clear()
    effects.timers.append((SYNC_TIMER, None))
    was_empty = group.state is ClassicGroupState.EMPTY
    group.move(Event.REBALANCE, now)
    if was_empty:
        delay_ms = group.limits.initial_rebalance_delay_ms
        group.initial_delay = InitialDelay(delay_ms, max(group.membership.rebalance_timeout_ms() - delay_ms, 0))
        effects.timers.append((JOIN_TIMER, delay_ms))
    elif group.membership.all_joined():
        complete(group, effects, now)
    else:
        effects.timers.append((JOIN_TIMER, group.membership.rebalance_timeout_ms()))


def complete_if_all_joined(group: GroupData, effects: Effects, now: Now) -> None:
    """End the time to join early if nobody is missing; an initial rebalance runs its time, for those yet unknown."""
    if group.initial_delay is None and group.membership.all_joined():
        complete(group, effects, now)


def join_time_over(group: GroupData, effects: Effects, now: Now) -> None:
    """End the time to join, or extend an initial rebalance for which members still come."""
    delay = group.initial_delay
    if delay is not None and delay.new_member and delay.remaining_ms:
        extended_ms = min(group.limits.initial_rebalance_delay_ms, delay.remaining_ms)
        group.initial_delay = InitialDelay(extended_ms, max(delay.remaining_ms - delay.delay_ms, 0))
        effects.timers.append((JOIN_TIMER, extended_ms))
    else:
        complete(group, effects, now)


def complete(group: GroupData, effects: Effects, now: Now) -> None:
    """Begin the next generation with those who joined, and the static members who keep their place."""
    effects.timers.append((JOIN_TIMER, None))
    membership = group.membership
    for member in list(membership.members.values()):
        if member.group_instance_id is None and member.member_id not in membership.joins:
            forget(group, effects, member.member_id)
    if not membership.elect() and membership.members:
        # Only static members are left, and none of them is here: wait until one comes or their sessions end.
        effects.timers.append((JOIN_TIMER, membership.rebalance_timeout_ms()))
        return
    group.initial_delay = None
    group.next_generation(now)
    if not membership.members:
        effects.records.append(metadata_record(group, {}))
        return
    for member in membership.members.values():
        answer_join(group, effects, member.member_id, generation_result(group, member.member_id))
        watch(effects, member)
        member.is_new = False
        membership.unsynced.add(member.member_id)
    effects.timers.append((SYNC_TIMER, membership.rebalance_timeout_ms()))


def sync_time_over(group: GroupData, effects: Effects, now: Now) -> None:
    """Remove the members that did not send SyncGroup, and rebalance among the others."""
    if (
        group.state not in (ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE)
        or not group.membership.unsynced
    ):
        return
    for member_id in list(group.membership.unsynced):
        forget(group, effects, member_id)
    prepare(group, effects, now)


def session_over(group: GroupData, effects: Effects, member_id: str, now: Now) -> None:
    """Remove a member that gave no sign of life, or a member-to-be that did not come back."""
    membership = group.membership
    member = membership.members.get(member_id)
    if member is None:
        if member_id not in membership.pending:
            return
        membership.remove(member_id)
    else:
        if not member.is_new and (member_id in membership.joins or member_id in membership.syncs):
            return  # it waits for us, not we for it; the answer begins a new session
        forget(group, effects, member_id)
        if group.state in (ClassicGroupState.STABLE, ClassicGroupState.COMPLETING_REBALANCE):
            prepare(group, effects, now)
            return
    # Unlike a member that leaves, one that falls silent ends even an initial rebalance (as in Kafka).
    if group.state is ClassicGroupState.PREPARING_REBALANCE and membership.all_joined():
        complete(group, effects, now)
