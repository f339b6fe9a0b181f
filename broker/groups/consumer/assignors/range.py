"""The range assignor: of each topic, every member gets one contiguous range.

Topics with the same number of partitions and subscribers are cut in the same places, so that partitions with the same
number meet at the same member. Static members come first, by instance id, so that their ranges outlive their member
ids. Follows Kafka's RangeAssignor.
"""

from __future__ import annotations

from uuid import UUID

from odradek.broker.groups.consumer.assignors.spec import GroupSpec, MemberSpec, in_order


def assign_ranges(group: GroupSpec) -> dict[str, dict[UUID, frozenset[int]]]:
    """Give each member its range of each topic that it subscribes to."""
    order = sorted(group.members, key=lambda member_id: _rank(member_id, group.members[member_id]))
    assignment: dict[str, dict[UUID, frozenset[int]]] = {member_id: {} for member_id in order}
    topics = frozenset[UUID]().union(*(member.topics for member in group.members.values()))
    for topic in in_order(topics):
        subscribers = [member_id for member_id in order if topic in group.members[member_id].topics]
        share, extra = divmod(group.partitions[topic], len(subscribers))
        start = 0
        for index, member_id in enumerate(subscribers):
            end = start + share + (index < extra)
            if end > start:
                assignment[member_id][topic] = frozenset(range(start, end))
            start = end
    return assignment


def _rank(member_id: str, member: MemberSpec) -> tuple[bool, str, str]:
    return member.instance_id is None, member.instance_id or "", member_id
