"""How a member comes from the partitions it has to those it is to have: revoke before assign.

Owns: the step that one heartbeat takes a member further. Must not know: targets' making, records, requests. A
partition is given to a member only when no other has it, and is taken as given up only when the member's own list of
what it owns no longer has it. Follows KIP-848, "Member Assignment Reconciliation", and Kafka's
CurrentAssignmentBuilder.

    STABLE                 another epoch (or subscription) -> next step of the whole
    UNREVOKED_PARTITIONS   still owns what it must give up -> stays; else -> next step of the whole
    UNRELEASED_PARTITIONS  -> next step of the whole

The next step: keep what is both owned and in the target; if something must be given up -> UNREVOKED_PARTITIONS, in
the old epoch. Otherwise go to the target's epoch with all of the target that is free; if some is not ->
UNRELEASED_PARTITIONS; otherwise -> STABLE.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple
from uuid import UUID

from odradek.broker.groups.consumer.member import NOTHING, ConsumerGroupMember, MemberState, Owned, Partitions
from odradek.protocol.errors import ErrorCode, KafkaError


class ReconciliationTarget(NamedTuple):
    """Where a member is to go, and what stands in its way."""

    epoch: int
    target: Partitions
    subscribed: Set[UUID]
    """Topics the member subscribes to and that exist: all else in the target counts as not there."""
    owners: Mapping[tuple[UUID, int], str]
    owned: Partitions | None
    """What the member says it has; None if it does not say."""
    subscription_changed: bool = False


def reconcile(member: ConsumerGroupMember, aim: ReconciliationTarget) -> ConsumerGroupMember:
    """Return the member one step further, or as it is; raises KafkaError FENCED_MEMBER_EPOCH for an unknown state."""
    match member.state:
        case MemberState.STABLE:
            if member.epoch != aim.epoch:
                return _next(member, aim, member.epoch)
            return _drop_unsubscribed(member, aim) if aim.subscription_changed else member
        case MemberState.UNREVOKED_PARTITIONS:
            if _owns_any(aim.owned, member.revoking):
                return _drop_unsubscribed(member, aim) if aim.subscription_changed else member
            return _next(member, aim, member.epoch)
        case MemberState.UNRELEASED_PARTITIONS:
            return _next(member, aim, member.epoch)
        case MemberState.UNKNOWN:
            if aim.owned is None or aim.owned:
                raise KafkaError(
                    ErrorCode.FENCED_MEMBER_EPOCH,
                    "The member is in an unknown state: it must abandon all its partitions and rejoin.",
                )
            return _next(member, aim, aim.epoch)


def _next(member: ConsumerGroupMember, aim: ReconciliationTarget, epoch: int) -> ConsumerGroupMember:
    keep: dict[UUID, Mapping[int, int]] = {}
    revoke: dict[UUID, Mapping[int, int]] = {}
    add: dict[UUID, list[int]] = {}
    unreleased = False
    for topic in aim.target.keys() | member.assigned.keys():
        target = aim.target.get(topic, frozenset()) if topic in aim.subscribed else frozenset()
        current = member.assigned.get(topic, {})
        kept = {partition: since for partition, since in current.items() if partition in target}
        if kept:
            keep[topic] = kept
        if len(kept) < len(current):
            revoke[topic] = {partition: since for partition, since in current.items() if partition not in target}
        for partition in target:
            if partition in kept:
                continue
            if aim.owners.get((topic, partition), member.member_id) == member.member_id:
                add.setdefault(topic, []).append(partition)
            else:
                unreleased = True
    if revoke and _owns_any(aim.owned, revoke):
        return _moved(member, epoch, MemberState.UNREVOKED_PARTITIONS, keep, revoke)
    for topic, partitions in add.items():
        keep[topic] = {**keep.get(topic, {}), **dict.fromkeys(partitions, aim.epoch)}
    state = MemberState.UNRELEASED_PARTITIONS if unreleased else MemberState.STABLE
    return _moved(member, aim.epoch, state, keep, NOTHING)


def _drop_unsubscribed(member: ConsumerGroupMember, aim: ReconciliationTarget) -> ConsumerGroupMember:
    """Take away at once what the member no longer subscribes to: the next target comes later."""
    gone = {topic: partitions for topic, partitions in member.assigned.items() if topic not in aim.subscribed}
    if not gone:
        return member
    keep = {topic: partitions for topic, partitions in member.assigned.items() if topic in aim.subscribed}
    revoke: dict[UUID, Mapping[int, int]] = dict(member.revoking)
    for topic, partitions in gone.items():
        revoke[topic] = {**revoke.get(topic, {}), **partitions}
    if _owns_any(aim.owned, revoke):
        return _moved(member, member.epoch, MemberState.UNREVOKED_PARTITIONS, keep, revoke)
    return _moved(member, member.epoch, member.state, keep, member.revoking)


def _owns_any(owned: Partitions | None, revoking: Owned) -> bool:
    """Whether the member may still have any of them; it has, as long as it does not say what it has."""
    if owned is None:
        return True
    return any(not partitions.isdisjoint(revoking.get(topic, {})) for topic, partitions in owned.items())


def _moved(
    member: ConsumerGroupMember, epoch: int, state: MemberState, assigned: Owned, revoking: Owned
) -> ConsumerGroupMember:
    return member._replace(epoch=epoch, previous_epoch=member.epoch, state=state, assigned=assigned, revoking=revoking)
