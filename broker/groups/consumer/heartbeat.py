"""One heartbeat of a member: join, stay, change its mind, come closer to its target.

Owns: the steps of Kafka's consumerGroupHeartbeat, in their order. Must not know: timers, tokens, how records are
written. Follows KIP-848, "Heartbeat Handling".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from odradek.broker.groups.consumer.draft import Draft
from odradek.broker.groups.consumer.member import JOINING, ConsumerGroupMember, MemberSubscription, Owned, Partitions
from odradek.broker.groups.consumer.steps import (
    HeartbeatContext,
    advance,
    check_room,
    member_of,
    take_over,
    write_metadata,
)
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions


class ConsumerHeartbeatResult(NamedTuple):
    """The answer to a heartbeat. In a refusal only error and message say anything."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Partitions | None = None
    """What the member is to have now; None: as before."""


class ClientInfo(NamedTuple):
    """Where a request came from."""

    client_id: str
    host: str
    """As it is kept and shown: `/127.0.0.1`."""
    sees: Callable[[str], bool] | None = None
    """Whether the client may know of a topic; None where it may know of all."""


def beat(
    draft: Draft, request: ConsumerGroupHeartbeatRequest, client: ClientInfo, environment: HeartbeatContext
) -> tuple[ConsumerGroupMember, ConsumerHeartbeatResult]:
    """Write what the heartbeat changes into the draft; return the member as it is then, and the answer.

    Raises:
        KafkaError: the heartbeat is refused; the draft is worth nothing then.
    """
    owned = None if request.topic_partitions is None else owned_partitions(request.topic_partitions)
    check_room(draft, request.member_id, environment.settings)
    before = _find_member(draft, request, owned)
    changes = write_metadata(draft, before, _said(before.metadata, request, client))
    after = advance(draft, request.member_id, owned, changes, environment)
    return after, ConsumerHeartbeatResult(
        member_id=after.member_id,
        member_epoch=after.epoch,
        heartbeat_interval_ms=environment.settings.heartbeat_interval_ms,
        assignment=_partitions(after.assigned) if _is_told(request, before, after) else None,
    )


def owned_partitions(topics: Iterable[TopicPartitions]) -> Partitions:
    """Return the partitions that a member says it has."""
    owned: dict[UUID, set[int]] = {}
    for topic in topics:
        owned.setdefault(topic.topic_id, set()).update(topic.partitions)
    return {topic_id: frozenset(partitions) for topic_id, partitions in owned.items()}


def _find_member(draft: Draft, request: ConsumerGroupHeartbeatRequest, owned: Partitions | None) -> ConsumerGroupMember:
    state, member_id, joins = draft.state, request.member_id, request.member_epoch == JOINING
    member = state.members.get(member_id)
    if request.instance_id is not None and joins:
        holder = state.static_member(request.instance_id)
        if holder is not None:
            return take_over(draft, member_id, holder, must_be_away=True)
        return member or ConsumerGroupMember(member_id)
    if not joins:
        member = member_of(state, member_id, request.instance_id)
    elif member is None:
        return ConsumerGroupMember(member_id)
    _check_epoch(member, request.member_epoch, owned)
    return member


def _check_epoch(member: ConsumerGroupMember, epoch: int, owned: Partitions | None) -> None:
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


def _said(old: MemberSubscription, request: ConsumerGroupHeartbeatRequest, client: ClientInfo) -> MemberSubscription:
    """What a request leaves out stays as it was."""
    names = request.subscribed_topic_names
    return MemberSubscription(
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


def _is_told(request: ConsumerGroupHeartbeatRequest, before: ConsumerGroupMember, after: ConsumerGroupMember) -> bool:
    """An assignment is told to who joins, says all of itself, or has another one now."""
    subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    full = request.rebalance_timeout_ms != -1 and subscribes and request.topic_partitions is not None
    return full or request.member_epoch == JOINING or not _same_partitions(before.assigned, after.assigned)


def _same_partitions(one: Owned, other: Owned) -> bool:
    return one is other or _partitions(one) == _partitions(other)


def _partitions(owned: Owned) -> Mapping[UUID, frozenset[int]]:
    return {topic: frozenset(partitions) for topic, partitions in owned.items()}
