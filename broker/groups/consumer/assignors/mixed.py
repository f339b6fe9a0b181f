"""The uniform assignor where members subscribe to different topics.

Members keep what they have; free partitions go to the least loaded of their subscribers, those with fewest possible
subscribers first; then single partitions move from members with more to members with at least two fewer, until none
can. Each such move makes the sum of the squares of the loads smaller, so this ends. Follows the principles of Kafka's
UniformHeterogeneousAssignmentBuilder: balance before stickiness.
"""

from __future__ import annotations

from uuid import UUID

from odradek.broker.groups.consumer.assignors.spec import GroupSpec, in_order


def assign_mixed(group: GroupSpec) -> dict[str, dict[UUID, frozenset[int]]]:
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
