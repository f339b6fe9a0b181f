"""One heartbeat of a member: join, stay, change its mind, come closer to its target.

Owns: the steps of Kafka's consumerGroupHeartbeat, in their order; each works on the draft of the steps before it.
Must not know: timers, tokens, how records are written. Follows KIP-848, "Heartbeat Handling".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from broker.groups.consumer import records
from broker.groups.consumer.answers import HeartbeatResult
from broker.groups.consumer.draft import Draft
from broker.groups.consumer.member import (
    JOINING,
    LEAVING_FOR_A_WHILE,
    NO_PARTITIONS,
    Member,
    Metadata,
    Owned,
    Partitions,
)
from broker.groups.consumer.reconciliation import Aim, reconcile
from broker.groups.consumer.settings import ConsumerGroupSettings
from broker.groups.consumer.subscriptions import match_topics, metadata_hash, topic_ids, topic_names
from broker.groups.consumer.targets import assign, is_due
from broker.metadata.image import MetadataImage
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

_FIRST_EPOCH = 2
"""Of a group that was not there: 1 is that of a group nobody has joined."""


class Client(NamedTuple):
    """Where a request came from."""

    client_id: str
    host: str
    """As it is kept and shown: `/127.0.0.1`."""


class Circumstances(NamedTuple):
    """What a heartbeat is judged by, besides the group."""

    client: Client
    image: MetadataImage
    settings: ConsumerGroupSettings
    now: int
    topics_changed: bool
    """Whether the cluster's topics may be others than when the group last looked."""
    refresh_expressions: bool
    """Whether it is time to look for new topics that expressions match."""


def beat(draft: Draft, request: ConsumerGroupHeartbeatRequest, around: Circumstances) -> tuple[Member, HeartbeatResult]:
    """Write what the heartbeat changes into the draft; return the member as it is then, and the answer.

    Raises:
        KafkaError: the heartbeat is refused; the draft is worth nothing then.
    """
    owned = None if request.topic_partitions is None else owned_partitions(request.topic_partitions)
    before = _find_member(draft, request, owned, around.settings)
    names_changed, expression_changed = _update_metadata(draft, before, request, around)
    if around.refresh_expressions:
        _refresh_expressions(draft, around)
    _update_epoch(draft, names_changed or expression_changed, around)
    if is_due(draft.state, around.settings, around.now):
        assign(draft, around.image, around.settings, around.now)
    after = _reconcile(draft, request.member_id, owned, names_changed or expression_changed, around.image)
    return after, HeartbeatResult(
        member_id=after.member_id,
        member_epoch=after.epoch,
        heartbeat_interval_ms=around.settings.heartbeat_interval_ms,
        assignment=_partitions(after.assigned) if _is_told(request, before, after) else None,
    )


def owned_partitions(topics: Iterable[TopicPartitions]) -> Partitions:
    """Return the partitions that a member says it has."""
    owned: dict[UUID, frozenset[int]] = {}
    for topic in topics:
        owned[topic.topic_id] = owned.get(topic.topic_id, frozenset()).union(topic.partitions)
    return owned


def _find_member(
    draft: Draft, request: ConsumerGroupHeartbeatRequest, owned: Partitions | None, settings: ConsumerGroupSettings
) -> Member:
    state, member_id, joins = draft.state, request.member_id, request.member_epoch == JOINING
    member = state.members.get(member_id)
    if member is None and len(state.members) >= settings.max_size:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED, f"The group has reached its maximum of {settings.max_size} members."
        )
    if request.instance_id is not None:
        holder = state.static_member(request.instance_id)
        if joins:
            return _take_over(draft, member_id, holder) if holder is not None else member or Member(member_id)
        member = check_instance(holder, member_id, request.instance_id)
    if member is None:
        if not joins:
            raise unknown_member(state.group_id, member_id)
        return Member(member_id)
    _check_epoch(member, request.member_epoch, owned)
    return member


def _take_over(draft: Draft, member_id: str, holder: Member) -> Member:
    """Let a static member come back, with what it had: its instance has to have left before."""
    if holder.epoch != LEAVING_FOR_A_WHILE and holder.metadata.classic is None:
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


def check_instance(holder: Member | None, member_id: str, instance_id: str) -> Member:
    """Return the member that has the instance id; raises KafkaError if that is nobody, or not the one who says so."""
    if holder is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if holder.member_id != member_id:
        raise KafkaError(
            ErrorCode.FENCED_INSTANCE_ID, f"Member {member_id} was replaced: another has instance id {instance_id}."
        )
    return holder


def unknown_member(group_id: str, member_id: str) -> KafkaError:
    """The error of a request by somebody who is no member."""
    return KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}.")


def _check_epoch(member: Member, epoch: int, owned: Partitions | None) -> None:
    """The epoch before is accepted of a member that has nothing but its own: it may have missed an answer."""
    if epoch in (JOINING, member.epoch):
        return
    if epoch < member.epoch and epoch == member.previous_epoch and member.owns_only(owned):
        return
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The member's epoch {epoch} is not the one known to the coordinator ({member.epoch})."
        " The member must abandon all its partitions and rejoin.",
    )


def _update_metadata(
    draft: Draft, before: Member, request: ConsumerGroupHeartbeatRequest, around: Circumstances
) -> tuple[bool, bool]:
    """Write what is new about the member; return whether its topics and whether its expression are others now."""
    old, new = before.metadata, _said(before.metadata, request, around.client)
    if new == old:
        return False, False
    group_id = draft.state.group_id
    draft.emit(records.member_metadata(group_id, before._replace(metadata=new)))
    expression_changed = new.regex != old.regex
    if expression_changed:
        if old.regex and old.regex in draft.state.expressions and not draft.state.subscribers(old.regex):
            draft.emit(records.regular_expression_gone(group_id, old.regex))
        if new.regex and new.regex not in draft.state.expressions:
            _resolve(draft, new.regex, around)
    return new.topics != old.topics, expression_changed


def _said(old: Metadata, request: ConsumerGroupHeartbeatRequest, client: Client) -> Metadata:
    """What a request leaves out stays as it was."""
    names = request.subscribed_topic_names
    return Metadata(
        client_id=client.client_id,
        client_host=client.host,
        instance_id=old.instance_id if request.instance_id is None else request.instance_id,
        rack_id=old.rack_id if request.rack_id is None else request.rack_id,
        topics=old.topics if names is None else frozenset(names),
        regex=old.regex if request.subscribed_topic_regex is None else request.subscribed_topic_regex,
        rebalance_timeout_ms=old.rebalance_timeout_ms
        if request.rebalance_timeout_ms == -1
        else request.rebalance_timeout_ms,
        assignor=old.assignor if request.server_assignor is None else request.server_assignor,
    )


def _resolve(draft: Draft, expression: str, around: Circumstances) -> None:
    topics = match_topics(expression, around.image)
    group_id = draft.state.group_id
    draft.emit(records.regular_expression(group_id, expression, topics, around.image.offset, around.now))


def _refresh_expressions(draft: Draft, around: Circumstances) -> None:
    for expression, resolved in list(draft.state.expressions.items()):
        topics = match_topics(expression, around.image)
        if topics != resolved.topics:
            group_id = draft.state.group_id
            draft.emit(records.regular_expression(group_id, expression, topics, around.image.offset, around.now))


def _update_epoch(draft: Draft, changed: bool, around: Circumstances) -> None:
    state = draft.state
    bump = changed or state.epoch == 0
    if not bump and not around.topics_changed and not around.refresh_expressions:
        return
    digest = metadata_hash(state, around.image)
    if bump or digest != state.metadata_hash:
        draft.emit(records.group_epoch(state.group_id, state.epoch + 1 if state.epoch else _FIRST_EPOCH, digest))
    if state.has_partition_metadata:
        draft.emit(records.partition_metadata_gone(state.group_id))


def _reconcile(
    draft: Draft, member_id: str, owned: Partitions | None, subscription_changed: bool, image: MetadataImage
) -> Member:
    state = draft.state
    member = state.members[member_id]
    if not subscription_changed and member.is_reconciled_to(state.assignment_epoch):
        return member
    aim = Aim(
        epoch=max(1, state.assignment_epoch),
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


def _is_told(request: ConsumerGroupHeartbeatRequest, before: Member, after: Member) -> bool:
    """An assignment is told to who joins, says all of itself, or has another one now."""
    subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    full = request.rebalance_timeout_ms != -1 and subscribes and request.topic_partitions is not None
    return full or request.member_epoch == JOINING or not _same_partitions(before.assigned, after.assigned)


def _same_partitions(one: Owned, other: Owned) -> bool:
    return one is other or _partitions(one) == _partitions(other)


def _partitions(owned: Owned) -> Mapping[UUID, frozenset[int]]:
    return {topic: frozenset(partitions) for topic, partitions in owned.items()}
