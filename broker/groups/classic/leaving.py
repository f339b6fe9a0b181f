"""LeaveGroup: members that say goodbye, and static members that an administrator removes.

Owns: who can be removed by whom. Must not know: what the others do about it (`rebalance`).

Follows: Kafka's group coordinator; KIP-345 (removal by instance id).
"""

from __future__ import annotations

from collections.abc import Sequence

from odradek.broker.coordinator.effects import Effects, Now, Token
from odradek.broker.groups.classic.rebalance import complete_if_all_joined, forget, prepare
from odradek.broker.groups.classic.state import GroupData
from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.broker.groups.classic.values import LeaveResult, LeavingMember, LeftMember
from odradek.protocol.errors import ErrorCode


def leave(group: GroupData, effects: Effects, leaving: Sequence[LeavingMember], token: Token, now: Now) -> None:
    """Remove those who are members, and answer for each."""
    if group.state is ClassicGroupState.DEAD:
        effects.answers.append((token, LeaveResult(ErrorCode.COORDINATOR_NOT_AVAILABLE)))
        return
    left = tuple(
        LeftMember(member.member_id, member.group_instance_id, _remove(group, effects, member)) for member in leaving
    )
    effects.answers.append((token, LeaveResult(ErrorCode.NONE, left)))
    if all(member.error is not ErrorCode.NONE for member in left):
        return
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        complete_if_all_joined(group, effects, now)
    elif group.state is not ClassicGroupState.EMPTY:
        prepare(group, effects, now)


def _remove(group: GroupData, effects: Effects, leaving: LeavingMember) -> ErrorCode:
    membership = group.membership
    member_id, error = leaving.member_id, ErrorCode.NONE
    if not member_id or member_id not in membership.pending:
        member_id, error = membership.identities.find(leaving)
    if error is ErrorCode.NONE:
        forget(group, effects, member_id)
    return error
