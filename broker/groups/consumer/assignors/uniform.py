"""The uniform assignor: all members get the same number of partitions, and keep as many of theirs as that allows.

Balance comes before stickiness, as in Kafka's uniform assignor. Where all subscribe to the same topics, those members
that have most keep the extra partition that does not divide, so that no partition moves without need. Where they do
not, members keep what they have; free partitions go to the least loaded of their subscribers, those with fewest
possible subscribers first; then single partitions move from members with more to members with at least two fewer,
until none can. Each such move makes the sum of the squares of the loads smaller, so this ends. Follows the principles
of Kafka's UniformHeterogeneousAssignmentBuilder.
"""

from __future__ import annotations

from uuid import UUID

from odradek.broker.groups.consumer.assignors.spec import GroupSpec, in_order


def assign_uniformly(group: GroupSpec) -> dict[str, dict[UUID, frozenset[int]]]:
    """Give every member the same number of partitions, within one, as far as subscriptions allow."""
    subscriptions = {member.topics for member in group.members.values()}
    if len(subscriptions) > 1:
        return _assign_mixed(group)
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


def _assign_mixed(group: GroupSpec) -> dict[str, dict[UUID, frozenset[int]]]:
    """Give every member the same number of partitions, as far as subscriptions and single moves allow."""
    topics = in_order(frozenset[UUID]().union(*(member.topics for member in group.members.values())))
    subscribers = {
        topic: sorted(m for m, member in group.members.items() if topic in member.topics) for topic in topics
    }
    owners = _kept(group)
    load = dict.fromkeys(group.members, 0)
    for member_id in owners.values():
        load[member_id] += 1

    partitions = [(topic, partition) for topic in topics for partition in range(group.partitions[topic])]
    partitions.sort(key=lambda p: (-group.partitions[p[0]] / len(subscribers[p[0]]), len(subscribers[p[0]]), p[1]))
    for topic, partition in partitions:
        if (topic, partition) not in owners:
            least = min(subscribers[topic], key=load.__getitem__)
            owners[topic, partition] = least
            load[least] += 1
    _balance([p for p in partitions if len(subscribers[p[0]]) > 1], subscribers, owners, load)

    sets: dict[str, dict[UUID, set[int]]] = {member_id: {} for member_id in group.members}
    for (topic, partition), member_id in owners.items():
        sets[member_id].setdefault(topic, set()).add(partition)
    return {
        member_id: {topic: frozenset(indexes) for topic, indexes in by_topic.items()}
        for member_id, by_topic in sets.items()
    }


def _kept(group: GroupSpec) -> dict[tuple[UUID, int], str]:
    return {
        (topic, partition): member_id
        for member_id, member in group.members.items()
        for topic, partitions in member.current.items()
        if topic in member.topics
        for partition in sorted(partitions)
        if partition < group.partitions[topic]
    }


def _balance(
    partitions: list[tuple[UUID, int]],
    subscribers: dict[UUID, list[str]],
    owners: dict[tuple[UUID, int], str],
    load: dict[str, int],
) -> None:
    moved = True
    while moved:
        moved = False
        for topic, partition in partitions:
            owner = owners[topic, partition]
            least = min(subscribers[topic], key=load.__getitem__)
            if load[owner] > load[least] + 1:
                owners[topic, partition] = least
                load[owner] -= 1
                load[least] += 1
                moved = True
