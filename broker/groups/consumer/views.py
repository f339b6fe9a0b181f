"""What administrators are shown of a consumer group.

Owns: the group as ConsumerGroupDescribe and ListGroups have it, with names for topic ids. Must not know: messages.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from odradek.broker.groups.consumer.member import NO_PARTITIONS, ConsumerGroupMember
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.broker.groups.consumer.state import ConsumerGroupState
from odradek.broker.groups.consumer.targets import assignor_name
from odradek.broker.metadata.image import MetadataImage


class TopicView(NamedTuple):
    """Partitions of a topic that exists."""

    topic_id: UUID
    name: str
    partitions: list[int]


class ConsumerMemberView(NamedTuple):
    """A member, what it has, and what it is to have."""

    member: ConsumerGroupMember
    assignment: list[TopicView]
    target: list[TopicView]


class ConsumerGroupView(NamedTuple):
    """A group."""

    group_id: str
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: list[ConsumerMemberView]


def describe(state: ConsumerGroupState, settings: ConsumerGroupSettings, image: MetadataImage) -> ConsumerGroupView:
    """Return the group as it is now. Topics that were deleted are left out."""
    members = [
        ConsumerMemberView(
            member,
            _topics(_owned(member), image),
            _topics(dict(state.targets.get(member_id, NO_PARTITIONS)), image),
        )
        for member_id, member in state.members.items()
    ]
    name = assignor_name(state, settings)
    return ConsumerGroupView(state.group_id, state.name, state.epoch, state.assignment_epoch, name, members)


def _owned(member: ConsumerGroupMember) -> dict[UUID, frozenset[int]]:
    """What the member has, and what it has yet to give up."""
    return {
        topic: frozenset(member.assigned.get(topic, {})).union(member.revoking.get(topic, {}))
        for topic in member.assigned.keys() | member.revoking.keys()
    }


def _topics(partitions: dict[UUID, frozenset[int]], image: MetadataImage) -> list[TopicView]:
    found = ((image.topics_by_id.get(topic_id), indexes) for topic_id, indexes in partitions.items())
    return [TopicView(topic.topic_id, topic.name, sorted(indexes)) for topic, indexes in found if topic is not None]
