"""The requests of members of the classic protocol in a consumer group: effects around `classic_members`.

Owns: answers, sessions and the timers by which such members are watched: told to join again they have to, having
joined they have to send SyncGroup, each within their rebalance timeout. Must not know: what the requests change.
"""

from __future__ import annotations

from collections.abc import Sequence

from odradek.broker.coordinator.effects import Effects, Now, OperationResult, Token
from odradek.broker.groups.classic.values import (
    ClassicHeartbeat,
    HeartbeatResult,
    JoinRequest,
    JoinResult,
    LeaveResult,
    LeavingMember,
    SyncRequest,
    SyncResult,
)
from odradek.broker.groups.consumer import classic_members
from odradek.broker.groups.consumer.core import GroupCore
from odradek.broker.groups.consumer.draft import Draft
from odradek.broker.groups.consumer.member import ConsumerGroupMember
from odradek.broker.groups.consumer.migration import can_downgrade
from odradek.protocol.errors import ErrorCode, KafkaError


def join(core: GroupCore, request: JoinRequest, token: Token, now: Now) -> Effects:
    """Answer a JoinGroup that passed `joining.refusal`, with the epoch the member is in now."""
    environment, draft = core.environment(now), Draft(core.state)
    try:
        member, answer = classic_members.join(draft, request, environment)
    except KafkaError as error:
        return _answered(token, JoinResult(error.code))
    if member is None:
        return _answered(token, answer)
    joined: ConsumerGroupMember = member
    if _takes_over(core, draft, request):
        effects = core.become_classic(draft, (), now, rebalances=_must_rebalance(core, draft, joined))
        effects.answers.append((token, answer))
        return effects

    def written(following: Effects) -> None:
        core.remember(following, environment)
        core.begin_session(following, joined)
        core.await_sync(following, joined)

    effects = core.write(draft, written)
    effects.answers.append((token, answer))
    return effects


def _takes_over(core: GroupCore, draft: Draft, request: JoinRequest) -> bool:
    """Whether a static member took the place of the last one that spoke the consumer protocol, and the group may be
    a classic one."""
    instance_id = request.group_instance_id
    replaced = None if instance_id is None else core.state.static_member(instance_id)
    if replaced is None or replaced.metadata.classic is not None:
        return False
    return can_downgrade(draft.state, (), core.settings())


def _must_rebalance(core: GroupCore, draft: Draft, joined: ConsumerGroupMember) -> bool:
    """Whether not everybody has by now what the group was about to give them."""
    before, state = core.state.static_member(joined.metadata.instance_id or ""), draft.state
    if before is None or before.metadata.topics != joined.metadata.topics or before.metadata.regex:
        return True
    is_due = state.epoch > state.assignment_epoch
    return is_due or not all(member.is_reconciled_to(state.epoch) for member in state.members.values())


def sync(core: GroupCore, request: SyncRequest, token: Token) -> Effects:
    """Answer a SyncGroup with what the member has now."""
    try:
        answer = classic_members.sync(core.state, request, core.image())
    except KafkaError as error:
        effects = _answered(token, SyncResult(error.code))
        if error.code is ErrorCode.REBALANCE_IN_PROGRESS:
            core.await_rejoin(effects, core.state.members[request.member_id])
        return effects
    effects, member = _answered(token, answer), core.state.members[request.member_id]
    core.synced(effects, member)
    core.begin_session(effects, member)
    return effects


def heartbeat(core: GroupCore, request: ClassicHeartbeat, token: Token) -> Effects:
    """Answer a Heartbeat: the member lives, and learns whether it has to join again."""
    try:
        member, rejoins = classic_members.must_rejoin(core.state, request)
    except KafkaError as error:
        return _answered(token, HeartbeatResult(error.code))
    effects = _answered(token, HeartbeatResult(ErrorCode.REBALANCE_IN_PROGRESS if rejoins else ErrorCode.NONE))
    core.begin_session(effects, member)
    if rejoins:
        core.await_rejoin(effects, member)
    return effects


def leave(core: GroupCore, leaving: Sequence[LeavingMember], token: Token, now: Now) -> Effects:
    """Answer a LeaveGroup."""
    found = [classic_members.find_leaving(core.state, one) for one in leaving]
    members = {member.member_id: member for member, _ in found if member is not None}
    effects = core.remove(members.values(), now) if members else Effects()
    effects.answers.append((token, LeaveResult(ErrorCode.NONE, tuple(result for _, result in found))))
    return effects


def _answered(token: Token, answer: OperationResult) -> Effects:
    effects = Effects()
    effects.answers.append((token, answer))
    return effects
