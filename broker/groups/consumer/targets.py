"""The target assignment of a group: which assignor makes it, and the records that say what changed.

Owns: the call of an assignor with all members of a draft. Must not know: how a member comes to its target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from odradek.broker.groups.consumer import records
from odradek.broker.groups.consumer.assignors.range import assign_ranges
from odradek.broker.groups.consumer.assignors.spec import Assignor, GroupSpec, MemberSpec
from odradek.broker.groups.consumer.assignors.uniform import assign_uniformly
from odradek.broker.groups.consumer.draft import Draft
from odradek.broker.groups.consumer.member import NO_PARTITIONS
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.broker.groups.consumer.state import ConsumerGroupState
from odradek.broker.groups.consumer.subscriptions import topic_ids, topic_names
from odradek.broker.metadata.image import MetadataImage

ASSIGNORS: Mapping[str, Assignor] = {"uniform": assign_uniformly, "range": assign_ranges}
"""By the names that members and configs call them, in the order of Kafka's config; the first is the default."""


def assignor_name(state: ConsumerGroupState, settings: ConsumerGroupSettings) -> str:
    """Return the assignor that most members ask for; the default if none does, or if what they ask for is gone."""
    votes = Counter(member.metadata.assignor for member in state.members.values())
    return max(settings.assignors, key=lambda name: votes[name])


def is_due(state: ConsumerGroupState, settings: ConsumerGroupSettings, now: int) -> bool:
    """Whether a new target may be made: the first at once, others not too soon after the last."""
    if state.epoch <= state.assignment_epoch:
        return False
    since = now - state.assignment_timestamp
    return not state.assignment_timestamp or not 0 <= since < settings.assignment_interval_ms


def assign(draft: Draft, image: MetadataImage, settings: ConsumerGroupSettings, now: int) -> None:
    """Make the target assignment of the group's epoch."""
    state = draft.state
    members = {
        member_id: MemberSpec(
            topics=topic_ids(topic_names(state, member), image),
            current=state.targets.get(member_id, NO_PARTITIONS),
            instance_id=member.metadata.instance_id,
        )
        for member_id, member in state.members.items()
    }
    wanted = frozenset().union(*(member.topics for member in members.values()))
    counts = {topic: len(image.topics_by_id[topic].partitions) for topic in wanted}
    targets = ASSIGNORS[assignor_name(state, settings)](GroupSpec(members, counts))
    for member_id, target in targets.items():
        if member_id not in state.targets or state.targets[member_id] != target:
            draft.emit(records.target_assignment(state.group_id, member_id, target))
    draft.emit(records.target_epoch(state.group_id, state.epoch, now))
