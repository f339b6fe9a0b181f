"""Which partitions have to move for a broker to have no replicas, and where to. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from odradek.cluster.offsets import Partition
from odradek.cluster.placement import moved_off
from odradek.cluster.topology import PartitionState


def drained(
    states: Sequence[PartitionState], node: int, racks: Mapping[int, str | None], targets: Collection[int]
) -> dict[Partition, tuple[int, ...]]:
    """Return the partitions that have or are to get a replica on a broker, with that replica on one of the targets.

    Other replicas stay where they are, or where they are on their way to. A move that is on its way off the broker is
    in the result as it is. `racks` are all brokers with their racks. Raises CommandError where there are too few
    targets.
    """
    goals = {each.key: _goal(each) for each in states}
    under_way = {each.key: goals[each.key] for each in states if node in each.replicas and node not in goals[each.key]}
    return under_way | moved_off(goals, node, racks, targets)


def _goal(state: PartitionState) -> tuple[int, ...]:
    return state.reassignment.target if state.reassignment is not None else state.replicas
