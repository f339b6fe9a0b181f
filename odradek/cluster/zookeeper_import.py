"""Offsets of old consumers, from ZooKeeper into groups of a cluster: what is moved where, and what stays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from odradek.cluster.offsets import Offsets, Partition


@dataclass(frozen=True, slots=True)
class ImportedOffset:
    """One offset of a group in ZooKeeper, and what becomes of it."""

    group: str
    topic: str
    partition: int
    stored: int
    """What ZooKeeper has."""
    before: int | None
    """What the group has committed in the cluster."""
    after: int | None
    """What it goes on with; None where the cluster has no such partition."""

    @property
    def changes(self) -> bool:
        """Whether the cluster is to be told anything."""
        return self.after is not None and self.after != self.before


def planned(
    group: str,
    stored: Offsets,
    before: Offsets,
    existing: Collection[Partition],
    within: Callable[[Offsets], Mapping[Partition, int]],
    overwrite: bool,
) -> list[ImportedOffset]:
    """Return what becomes of the offsets of a group, in the order of partitions.

    An offset outside of what its partition has becomes the beginning or the end of it, by `within`. One that the group
    has committed in the cluster and that is further stays, unless `overwrite` is asked for: consumers have gone on
    since.
    """
    inside = within({each: offset for each, offset in stored.items() if each in existing})
    rows = []
    for (topic, number), offset in sorted(stored.items()):
        each = (topic, number)
        after, known = inside.get(each), before.get(each)
        if after is not None and known is not None and not overwrite:
            after = max(after, known)
        rows.append(ImportedOffset(group, topic, number, offset, known, after))
    return rows


def changes_of(rows: Collection[ImportedOffset], group: str) -> dict[Partition, int]:
    """Return the offsets to commit for a group."""
    return {
        (each.topic, each.partition): each.after
        for each in rows
        if each.group == group and each.changes and each.after is not None
    }
