"""How far partitions are on their way to other replicas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from odradek.client.errors import ClientError
from odradek.cluster.broker_requests import Address, BrokerRequests
from odradek.cluster.log_dirs import describe_log_dirs, sizes_in
from odradek.cluster.offsets import Partition
from odradek.cluster.placement import Assignment
from odradek.cluster.topology import OngoingReassignment, PartitionState


class MoveState(Enum):
    """What has become of the plan for one partition."""

    DONE = "done"
    MOVING = "moving"
    OTHERWISE = "otherwise"
    """It has other replicas, and is not on its way to these."""


@dataclass(frozen=True, slots=True)
class Copied:
    """Bytes that new replicas have, of those that their leaders have."""

    copied: int
    total: int


def move_states(states: Iterable[PartitionState], target: Assignment) -> dict[Partition, MoveState]:
    """Return what has become of a plan; a partition that does not exist any more is left out."""
    return {each.key: _state(each, target[each.key]) for each in states if each.key in target}


def copied(
    requests: BrokerRequests,
    addresses: Mapping[int, Address],
    leaders: Mapping[Partition, int],
    ongoing: Mapping[Partition, OngoingReassignment],
) -> dict[Partition, Copied]:
    """Return how much of each partition its new replicas have, together; none of it where brokers do not tell."""
    wanted: dict[Address, dict[str, list[int]]] = {}
    for key, each in ongoing.items():
        for broker in {*each.adding, leaders.get(key, -1)}:
            if broker in addresses:
                wanted.setdefault(addresses[broker], {}).setdefault(key[0], []).append(key[1])
    told = describe_log_dirs(requests, wanted)
    sizes = {address: {} if isinstance(each, ClientError) else sizes_in(each) for address, each in told.items()}
    return {
        key: _copied(key, [addresses.get(broker) for broker in each.adding], addresses.get(leaders.get(key, -1)), sizes)
        for key, each in ongoing.items()
    }


def _state(state: PartitionState, target: Sequence[int]) -> MoveState:
    if state.reassignment is not None:
        return MoveState.MOVING if state.reassignment.target == tuple(target) else MoveState.OTHERWISE
    return MoveState.DONE if state.replicas == tuple(target) else MoveState.OTHERWISE


def _copied(
    key: Partition,
    adding: Sequence[Address | None],
    leader: Address | None,
    sizes: Mapping[Address, Mapping[Partition, int]],
) -> Copied:
    size = 0 if leader is None else sizes.get(leader, {}).get(key, 0)
    there = [0 if address is None else sizes.get(address, {}).get(key, 0) for address in adding]
    return Copied(sum(min(each, size) for each in there), size * len(adding))
