"""The steps by which a member's request changes a consumer group, whichever protocol the member speaks.

Owns: taking over a static member's place, and the way from what a member says of itself to what it has: metadata,
expressions, the group's epoch, the target, one step of reconciliation. Each works on the draft of the steps before it,
in the order of Kafka's coordinator. Must not know: requests and answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from odradek.broker.groups.consumer import records
from odradek.broker.groups.consumer.draft import Draft
from odradek.broker.groups.consumer.member import (
    JOINING,
    LEAVING_FOR_A_WHILE,
    NO_PARTITIONS,
    ConsumerGroupMember,
    MemberSubscription,
    Partitions,
)
from odradek.broker.groups.consumer.reconciliation import ReconciliationTarget, reconcile
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.broker.groups.consumer.state import ConsumerGroupState
from odradek.broker.groups.consumer.subscriptions import compile_expression, metadata_hash, topic_ids, topic_names
from odradek.broker.groups.consumer.targets import assign, is_due
from odradek.broker.metadata.image import MetadataImage
from odradek.protocol.errors import ErrorCode, KafkaError


class HeartbeatContext(NamedTuple):
    """What a request is judged by, besides the group and whom it comes from."""

    image: MetadataImage
    settings: ConsumerGroupSettings
    now: int
    topics_changed: bool
    """Whether the cluster's topics may be others than when the group last looked."""
    sees: Callable[[str], bool] | None = None
    """Whether the client that is heard of may know of a topic; None where it may know of all."""


class MemberChanges(NamedTuple):
    """What a member changed its mind about."""

    names: bool
    expression: bool
    is_resolved: bool = False
    """Whether it is known which topics the new expression matches, or there is none any more."""

    @property
    def any(self) -> bool:
        """Whether it subscribes to something else."""
        return self.names or self.expression

    @property
    def begins_epoch(self) -> bool:
        """Whether the group has to be assigned anew; of an expression that is not resolved yet nothing is known."""
        return self.names or (self.expression and self.is_resolved)


def take_over(draft: Draft, member_id: str, holder: ConsumerGroupMember, *, must_be_away: bool) -> ConsumerGroupMember:
    """Let a static member come back, with what it had; its instance has to have left before, if `must_be_away`."""
    if must_be_away and holder.epoch != LEAVING_FOR_A_WHILE and holder.metadata.classic is None:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"The instance id {holder.metadata.instance_id} is owned by member {holder.member_id}.",
        )
    group_id, target = draft.state.group_id, draft.state.targets.get(holder.member_id, NO_PARTITIONS)
    member = holder._replace(member_id=member_id, epoch=JOINING, previous_epoch=JOINING)
    draft.emit_all(records.member_gone(group_id, holder.member_id))
    draft.emit(
        records.member_metadata(group_id, member),
        records.target_assignment(group_id, member_id, target),
        records.current_assignment(group_id, member),
    )
    return member


def member_of(state: ConsumerGroupState, member_id: str, instance_id: str | None) -> ConsumerGroupMember:
    """Return the member that says so; raises KafkaError UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID."""
    error = state.identities.error_of(member_id, instance_id)
    if error is ErrorCode.NONE:
        return state.members[member_id]
    if error is ErrorCode.FENCED_INSTANCE_ID:
        raise KafkaError(error, f"Member {member_id} was replaced: another has instance id {instance_id}.")
    if instance_id is not None:
        raise KafkaError(error, f"Instance id {instance_id} is unknown.")
    raise KafkaError(error, f"Member {member_id} is not a member of group {state.group_id}.")


def check_room(draft: Draft, member_id: str, settings: ConsumerGroupSettings) -> None:
    """Raise KafkaError GROUP_MAX_SIZE_REACHED if the group can take nobody who is no member yet."""
    if member_id not in draft.state.members and len(draft.state.members) >= settings.max_size:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED, f"The group has reached its maximum of {settings.max_size} members."
        )


def write_metadata(draft: Draft, before: ConsumerGroupMember, new: MemberSubscription) -> MemberChanges:
    """Write what a member says of itself, if that is new.

    Raises:
        KafkaError: INVALID_REGULAR_EXPRESSION.
    """
    old = before.metadata
    if new == old:
        return MemberChanges(False, False)
    group_id = draft.state.group_id
    draft.emit(records.member_metadata(group_id, before._replace(metadata=new)))
    changes = MemberChanges(new.topics != old.topics, new.regex != old.regex)
    if changes.expression:
        if old.regex and old.regex in draft.state.expressions and not draft.state.subscribers(old.regex):
            draft.emit(records.regular_expression_gone(group_id, old.regex))
        if new.regex and draft.state.subscribers(new.regex) == 1:
            compile_expression(new.regex)
        changes = changes._replace(is_resolved=not new.regex or new.regex in draft.state.expressions)
    return changes


def advance(
    draft: Draft, member_id: str, owned: Partitions | None, changes: MemberChanges, environment: HeartbeatContext
) -> ConsumerGroupMember:
    """Bring the group and the member as far as they can come now; return the member as it is then."""
    _update_epoch(draft, changes.begins_epoch, environment)
    if is_due(draft.state, environment.settings, environment.now):
        assign(draft, environment.image, environment.settings, environment.now)
    return _reconcile(draft, member_id, owned, changes.any, environment.image)


def _update_epoch(draft: Draft, changed: bool, environment: HeartbeatContext) -> None:
    state = draft.state
    if not changed and not environment.topics_changed:
        return
    digest = metadata_hash(state, environment.image)
    if changed or digest != state.metadata_hash:
        draft.emit(records.group_epoch(state.group_id, state.epoch + 1, digest))
    if state.has_partition_metadata:
        draft.emit(records.partition_metadata_gone(state.group_id))


def _reconcile(
    draft: Draft, member_id: str, owned: Partitions | None, subscription_changed: bool, image: MetadataImage
) -> ConsumerGroupMember:
    state = draft.state
    member = state.members[member_id]
    if not subscription_changed and member.is_reconciled_to(state.assignment_epoch):
        return member
    aim = ReconciliationTarget(
        epoch=state.assignment_epoch,
        target=state.targets.get(member_id, NO_PARTITIONS),
        subscribed=topic_ids(topic_names(state, member), image),
        owners=state.owners,
        owned=owned,
        subscription_changed=subscription_changed,
    )
    moved = reconcile(member, aim)
    if moved != member:
        draft.emit(records.current_assignment(state.group_id, moved))
    return moved
