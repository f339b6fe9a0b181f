"""Where the offsets of a group would go: worked out before anything is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from odradek.cluster.connection import ClusterClients
from odradek.cluster.groups import check_empty, committed_offsets
from odradek.cluster.offset_spec import OffsetSpecification
from odradek.cluster.offsets import Offsets, Partition, find, within
from odradek.cluster.topics import partitions_of
from odradek.terminal.errors import CommandError


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """Offsets of a group before and after; `before` lacks partitions in which it has none."""

    before: Mapping[Partition, int]
    after: Mapping[Partition, int]


def plan_reset(
    cluster: ClusterClients,
    group: str,
    topics: Sequence[tuple[str, Sequence[int]]],
    to: OffsetSpecification | int,
) -> OffsetReset:
    """Return what a reset would do.

    `topics` are those to reset with their partitions, all where there are none; without topics, all that the group has
    committed. `to` is a place, or by how many offsets each is moved. CommandError where the group has members, or
    something is not there.
    """
    check_empty(cluster, group)
    before = committed_offsets(cluster, group)
    wanted = _wanted(cluster, group, topics, before)
    if isinstance(to, int):
        return OffsetReset(before, within(cluster.admin, _shifted(group, wanted, before, to)))
    return OffsetReset(before, find(cluster.admin, wanted, to))


def _wanted(
    cluster: ClusterClients, group: str, topics: Sequence[tuple[str, Sequence[int]]], committed: Offsets
) -> list[Partition]:
    if not topics:
        if not committed:
            raise CommandError(f"group {group} has committed nothing; name topics")
        return sorted(committed)
    wanted: list[Partition] = []
    for topic, numbers in topics:
        existing = partitions_of(cluster, topic)
        for number in numbers:
            if number not in existing:
                raise CommandError(f"topic {topic} has no partition {number}; it has 0 to {max(existing)}")
        wanted += [(topic, number) for number in numbers or existing]
    return wanted


def _shifted(group: str, wanted: Sequence[Partition], committed: Offsets, by: int) -> dict[Partition, int]:
    for topic, number in wanted:
        if (topic, number) not in committed:
            raise CommandError(
                f"group {group} has no offset in partition {number} of {topic} that could be shifted; say where to go"
            )
    return {each: committed[each] + by for each in wanted}
