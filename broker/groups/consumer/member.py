"""A member of a consumer group: what it said of itself, its epoch and its partitions.

Owns: the values, and how they follow from records. Must not know: the group around them. Follows KIP-848.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple
from uuid import UUID

from odradek.protocol.messages.group_records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    TopicPartitions,
)

Partitions = Mapping[UUID, frozenset[int]]
"""Partitions by topic id."""
Owned = Mapping[UUID, Mapping[int, int]]
"""Partitions by topic id, each with the epoch in which its member got it."""

NOTHING: Final[Mapping[UUID, Mapping[int, int]]] = MappingProxyType({})
NO_PARTITIONS: Final[Mapping[UUID, frozenset[int]]] = MappingProxyType({})

JOINING: Final = 0
"""Member epoch of a request to join."""
LEAVING: Final = -1
"""Member epoch of a request to leave."""
LEAVING_FOR_A_WHILE: Final = -2
"""Member epoch of a static member that will be back within its session, in its request and in its record."""


class MemberState(IntEnum):
    """How far a member is from its target, with the numbers of its record."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """It has yet to give up partitions, and stays in its epoch until then."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that other members have yet to give up."""
    UNKNOWN = 127
    """A state of some later version."""


class MemberType(IntEnum):
    """The protocol that a member speaks, with the numbers of ConsumerGroupDescribe."""

    CLASSIC = 0
    CONSUMER = 1


class MemberSubscription(NamedTuple):
    """Who a member is, and what it subscribes to."""

    client_id: str = ""
    client_host: str = ""
    instance_id: str | None = None
    rack_id: str | None = None
    topics: frozenset[str] = frozenset()
    regex: str | None = ""
    """Null as well as empty: no regular expression."""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicMemberMetadata | None = None
    """Given for members of the classic protocol, in a group that is on its way to the new one or back."""


class ConsumerGroupMember(NamedTuple):
    """A member as its records have it."""

    member_id: str
    metadata: MemberSubscription = MemberSubscription()
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Owned = NOTHING
    revoking: Owned = NOTHING
    """What it still owns, and has to give up."""

    @property
    def type(self) -> MemberType:
        """The protocol it speaks."""
        return MemberType.CONSUMER if self.metadata.classic is None else MemberType.CLASSIC

    def is_reconciled_to(self, epoch: int) -> bool:
        """Whether it has all of the target of that epoch, and nothing else."""
        return self.state is MemberState.STABLE and self.epoch == epoch

    def owns_only(self, owned: Partitions | None) -> bool:
        """Whether all that the member says it has is its own; None says nothing."""
        if owned is None:
            return False
        return all(partitions <= self.assigned.get(topic, {}).keys() for topic, partitions in owned.items())


def metadata_from_record(value: ConsumerGroupMemberMetadataValue) -> MemberSubscription:
    """Return what a member's metadata record says."""
    return MemberSubscription(
        client_id=value.client_id,
        client_host=value.client_host,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        topics=frozenset(value.subscribed_topic_names),
        regex=value.subscribed_topic_regex,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        assignor=value.server_assignor,
        classic=value.classic_member_metadata,
    )


def with_assignment(
    member: ConsumerGroupMember, value: ConsumerGroupCurrentMemberAssignmentValue
) -> ConsumerGroupMember:
    """Return the member with the epochs and partitions of its assignment record."""
    try:
        state = MemberState(value.state)
    except ValueError:
        state = MemberState.UNKNOWN
    return member._replace(
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=state,
        assigned=_owned(value.assigned_partitions, value.member_epoch),
        revoking=_owned(value.partitions_pending_revocation, value.member_epoch),
    )


def _owned(topics: Iterable[TopicPartitions], member_epoch: int) -> Owned:
    """Records of before Kafka 4.3 have no epochs of partitions: the member's stands for them."""
    owned: dict[UUID, Mapping[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = [member_epoch] * len(topic.partitions)
        owned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return owned
