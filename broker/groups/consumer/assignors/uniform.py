"""The uniform assignor: all members get the same number of partitions, and keep as many of theirs as that allows.

Owns: the case in which all members subscribe to the same topics; the other is `mixed`. Balance comes before
stickiness, as in Kafka's uniform assignor; of members, those that have most keep the extra partition that does not
divide, so that no partition moves without need.
"""

from __future__ import annotations

from uuid import UUID

from odradek.broker.groups.consumer.assignors.mixed import assign_mixed
from odradek.broker.groups.consumer.assignors.spec import GroupSpec, in_order


def assign_uniformly(group: GroupSpec) -> dict[str, dict[UUID, frozenset[int]]]:
    """Give every member the same number of partitions, within one, as far as subscriptions allow."""
    subscriptions = {member.topics for member in group.members.values()}
    if len(subscriptions) > 1:
        return assign_mixed(group)
    return _assign_alike(group, next(iter(subscriptions), frozenset()))


def _assign_alike(group: GroupSpec, topics: frozenset[UUID]) -> dict[str, dict[UUID, frozenset[int]]]:
    order = in_order(topics)
    held: dict[str, list[tuple[UUID, int]]] = {}
    for member_id, member in group.members.items():
        held[member_id] = [
            (topic, partition)
            for topic in order
            for partition in sorted(member.current.get(topic, ()))
            if partition < group.partitions[topic]
        ]
    share, extra = divmod(sum(group.partitions[topic] for topic in topics), max(1, len(held)))
    kept: dict[str, list[tuple[UUID, int]]] = {}
    room: dict[str, int] = {}
    for index, member_id in enumerate(sorted(held, key=lambda member_id: (-len(held[member_id]), member_id))):
        quota = share + (index < extra)
        kept[member_id] = held[member_id][:quota]
        room[member_id] = quota - len(kept[member_id])
    taken = {partition for partitions in kept.values() for partition in partitions}
    free = (
        (topic, partition)
        for topic in order
        for partition in range(group.partitions[topic])
        if (topic, partition) not in taken
    )
    for member_id in sorted(room):
        for _ in range(room[member_id]):
            kept[member_id].append(next(free))
    return {member_id: by_topic(kept[member_id]) for member_id in group.members}


def by_topic(partitions: list[tuple[UUID, int]]) -> dict[UUID, frozenset[int]]:
    """Return partitions sorted into their topics."""
    topics: dict[UUID, set[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, set()).add(partition)
    return {topic: frozenset(indexes) for topic, indexes in topics.items()}
