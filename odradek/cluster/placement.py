"""Where replicas are to go: as few moves as there can be, spread over racks and brokers. Pure.

A partition's replicas are ids of brokers, the preferred leader first. A replica that has to go leaves its place in that
order to the one that takes over, so that who leads how much stays as it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Set
from typing import Final, TypeAlias

from odradek.cluster.offsets import Partition
from odradek.terminal.errors import CommandError
from odradek.terminal.human import plural

Assignment: TypeAlias = Mapping[Partition, tuple[int, ...]]
"""The replicas of partitions."""

NOBODY: Final = -1
"""In the place of a replica that is still to be found."""


def moved_off(
    current: Assignment, broker: int, racks: Mapping[int, str | None], targets: Collection[int]
) -> dict[Partition, tuple[int, ...]]:
    """Return those of the partitions that are on a broker, with another one in its place; other replicas stay.

    It is taken over by a target in a rack that the partition is not in yet, as far as there is one, and among these by
    the one with the fewest replicas. `racks` are all brokers with their racks.

    Raises CommandError where no target is left that does not have the partition yet.
    """
    placement = _Placement(current, racks, targets, {broker})
    placement.fill()
    return {key: replicas for key, replicas in placement.assignment().items() if broker in current[key]}


def balanced(
    current: Assignment, racks: Mapping[int, str | None], replication: int | None = None
) -> dict[Partition, tuple[int, ...]]:
    """Return the partitions spread evenly over these brokers: replicas, and who leads.

    Each partition is in as many racks as it can be. Where racks do not stand in the way, brokers have the same number
    of replicas, give or take one. `replication` changes how many replicas there are.

    Raises CommandError where a partition would have more replicas than there are brokers.
    """
    wanted = current if replication is None else {key: _resized(each, replication) for key, each in current.items()}
    others = {broker for replicas in wanted.values() for broker in replicas} - racks.keys()
    placement = _Placement(wanted, racks, racks.keys(), others)
    placement.fill()
    placement.spread_over_racks()
    placement.even_out_replicas()
    placement.even_out_leaders()
    return placement.assignment()


def _resized(replicas: tuple[int, ...], replication: int) -> tuple[int, ...]:
    return replicas[:replication] + (NOBODY,) * (replication - len(replicas))


class _Placement:
    """An assignment that is being changed, with what each broker has of it."""

    def __init__(
        self, current: Assignment, racks: Mapping[int, str | None], targets: Collection[int], leaving: Set[int]
    ) -> None:
        """Take replicas off the brokers that are `leaving`; the `targets` may get some."""
        self._replicas: dict[Partition, list[int]] = {
            key: [NOBODY if each in leaving else each for each in replicas] for key, replicas in sorted(current.items())
        }
        staying = {each for replicas in self._replicas.values() for each in replicas if each != NOBODY}
        self._racks = {**dict.fromkeys(staying), **racks}
        self._targets = set(targets)
        self._on: dict[int, dict[Partition, None]] = {broker: {} for broker in self._racks}
        """The partitions of each broker, in order."""
        self._led = dict.fromkeys(self._racks, 0)
        for key, replicas in self._replicas.items():
            for each in replicas:
                if each != NOBODY:
                    self._on[each][key] = None
            if replicas and replicas[0] != NOBODY:
                self._led[replicas[0]] += 1

    def assignment(self) -> dict[Partition, tuple[int, ...]]:
        return {key: tuple(replicas) for key, replicas in self._replicas.items()}

    def fill(self) -> None:
        """Find a broker for each place that has none."""
        for key, replicas in self._replicas.items():
            for place, each in enumerate(replicas):
                if each == NOBODY:
                    candidates = self._targets.difference(replicas)
                    if not candidates:
                        topic, number = key
                        raise CommandError(
                            f"partition {number} of {topic} is to have {plural(len(replicas), 'replica')}, and there"
                            " are too few brokers for them"
                        )
                    self._put(key, place, self._best(key, candidates, leads=place == 0))

    def spread_over_racks(self) -> None:
        """Move replicas out of racks that a partition is in twice, into those that it is not in."""
        racks = set(self._racks.values())
        for key, replicas in self._replicas.items():
            while len(used := self._racks_of(replicas)) < min(len(replicas), len(racks)):
                seen: set[str | None] = set()
                for place in range(len(replicas)):
                    rack = self._racks[replicas[place]]
                    if rack in seen:
                        break
                    seen.add(rack)
                elsewhere = {broker for broker, rack in self._racks.items() if rack not in used}
                self._put(key, place, self._best(key, elsewhere, leads=False))

    def even_out_replicas(self) -> None:
        """Move replicas from brokers with the most to those with the fewest, while that brings them closer."""
        while self._move_one():
            pass

    def even_out_leaders(self) -> None:
        """Change the order of replicas, until no broker leads more than it has to. Moves nothing."""
        for key, replicas in self._replicas.items():
            target = min(replicas, key=lambda broker: (self._led[broker], broker))
            if self._led[target] + 1 < self._led[replicas[0]]:
                self._lead(key, target)
        while path := self._path_to_fewer():
            for key, broker in path:
                self._lead(key, broker)

    def _load(self, broker: int) -> int:
        return len(self._on[broker])

    def _racks_of(self, replicas: Iterable[int]) -> set[str | None]:
        return {self._racks[each] for each in replicas if each != NOBODY}

    def _best(self, key: Partition, candidates: Iterable[int], *, leads: bool) -> int:
        used = self._racks_of(self._replicas[key])
        return min(
            candidates,
            key=lambda broker: (
                self._racks[broker] in used,
                self._load(broker),
                self._led[broker] if leads else 0,
                broker,
            ),
        )

    def _put(self, key: Partition, place: int, broker: int) -> None:
        replicas = self._replicas[key]
        before = replicas[place]
        replicas[place] = broker
        self._on[broker][key] = None
        if before != NOBODY:
            del self._on[before][key]
        if place == 0:
            self._led[broker] += 1
            if before != NOBODY:
                self._led[before] -= 1

    def _move_one(self) -> bool:
        by_load = sorted(self._racks, key=lambda broker: (self._load(broker), broker))
        for source in reversed(by_load):
            for target in by_load:
                if self._load(source) - self._load(target) < 2:
                    break  # the next ones have more
                for key in self._on[source]:
                    if key not in self._on[target] and self._keeps_racks(key, source, target):
                        self._put(key, self._replicas[key].index(source), target)
                        return True
        return False

    def _keeps_racks(self, key: Partition, source: int, target: int) -> bool:
        rest = self._racks_of(each for each in self._replicas[key] if each != source)
        return self._racks[target] not in rest or self._racks[source] in rest

    def _lead(self, key: Partition, broker: int) -> None:
        replicas = self._replicas[key]
        place = replicas.index(broker)
        self._led[replicas[0]] -= 1
        self._led[broker] += 1
        replicas[0], replicas[place] = replicas[place], replicas[0]

    def _path_to_fewer(self) -> list[tuple[Partition, int]]:
        """Return changes of leaders that take one from a broker with the most and give one to a broker with at least
        two fewer, over brokers between them that give and get one; empty if there are none."""
        edges: dict[int, dict[int, Partition]] = {broker: {} for broker in self._racks}
        for key, replicas in self._replicas.items():
            for other in replicas[1:]:
                edges[replicas[0]].setdefault(other, key)
        most = max(self._led.values(), default=0)
        for start in (broker for broker, count in self._led.items() if count == most):
            came: dict[int, int] = {start: start}
            queue = deque([start])
            while queue:
                broker = queue.popleft()
                if self._led[broker] <= most - 2:
                    path = []
                    while broker != start:
                        path.append((edges[came[broker]][broker], broker))
                        broker = came[broker]
                    return path
                for other in sorted(edges[broker].keys() - came.keys()):
                    came[other] = broker
                    queue.append(other)
        return []
