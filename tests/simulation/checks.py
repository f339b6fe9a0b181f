"""What must hold of a cluster at any time, and what at the end: looked at from outside, in the logs of its brokers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.roles import Role
from odradek.protocol.records.batch import iter_batches
from odradek.storage.log.log import Log
from tests.simulation.clients import PASSING, TOPIC, BrokenPromiseError, Ledger, values_of


class Replica(NamedTuple):
    """One broker's replica of a partition."""

    node: str
    partition: Partition


class Place(NamedTuple):
    """A partition of one topic; of the next one of that name, the id is another one."""

    topic_id: UUID | None
    number: int


@dataclass(slots=True)
class _History:
    """What is committed of a partition, as it was first seen below the high watermark of any replica."""

    batches: dict[int, bytes] = field(default_factory=dict)
    """By offset."""
    newest_epoch: int = -1
    leaders: dict[int, str] = field(default_factory=dict)
    """Leader epoch -> who led in it."""


@dataclass(slots=True)
class _Watched:
    """One replica in one life of its broker, and as what it was looked at last."""

    place: Place
    history: _History
    upto: int
    """The end of what of its log has been compared."""
    epoch: int = -1
    role: Role = Role.FOLLOWER
    high_watermark: int = -1


class ClusterChecks:
    """Remembers what it has seen, and raises BrokenPromiseError for what must not be."""

    def __init__(self, ledger: Ledger, old_ones_go: bool) -> None:
        """`old_ones_go`: whether records are deleted when they are old."""
        self._ledger = ledger
        self._old_ones_go = old_ones_go
        self._histories: dict[Place, _History] = {}
        self._watched: dict[Partition, _Watched] = {}
        self._homes: dict[bytes, Place] = {}
        """Where each value of a topic that is made again is."""
        self.leaderships = 0
        """How many were seen."""

    def after_step(self, node: str, partitions: Iterable[Partition]) -> None:
        """Nobody leads in an epoch in which another one leads; a new leader has all that was acknowledged; the high
        watermark of a leader does not fall; what is below it is the same at all replicas, for ever.

        To be called after each step with the partitions of the broker in which it happened: costs little where nothing
        has changed.
        """
        for partition in partitions:
            watched = self._watched.get(partition)
            if watched is None:
                watched = self._watched[partition] = self._watch(partition)
            if watched.epoch != partition.leader_epoch or watched.role is not partition.role:
                watched.epoch, watched.role = partition.leader_epoch, partition.role
                watched.high_watermark = -1
                if partition.role is Role.LEADER:
                    self._began_to_lead(node, partition, watched.history)
            if watched.high_watermark != partition.high_watermark:
                self._high_watermark_moved(node, partition, watched)

    @staticmethod
    def check_coordinated(node: str, coordinated: Iterable[Partition]) -> None:
        """No coordinator serves what another broker leads."""
        for partition in coordinated:
            if partition.role is not Role.LEADER:
                raise BrokenPromiseError(
                    f"{node} coordinates {partition.topic}-{partition.index}, and follows {partition.leader_id} in"
                    f" epoch {partition.leader_epoch}"
                )

    def _watch(self, partition: Partition) -> _Watched:
        place = Place(partition.log.topic_id, partition.index)
        history = self._histories.setdefault(place, _History())
        return _Watched(place, history, partition.log.log_start_offset)

    def _began_to_lead(self, node: str, partition: Partition, history: _History) -> None:
        epoch = partition.leader_epoch
        other = history.leaders.setdefault(epoch, node)
        if other != node:
            raise BrokenPromiseError(f"{other} and {node} both lead partition {partition.index} in epoch {epoch}")
        self.leaderships += 1
        if epoch > history.newest_epoch:
            history.newest_epoch = epoch
            if partition.topic == TOPIC:
                self.check_acknowledged(node, partition)

    def _high_watermark_moved(self, node: str, partition: Partition, watched: _Watched) -> None:
        end = partition.high_watermark
        if partition.role is Role.LEADER and end < watched.high_watermark:
            raise BrokenPromiseError(
                f"the high watermark of {partition.topic}-{partition.index} falls from {watched.high_watermark} to"
                f" {end} at its leader {node} in epoch {watched.epoch}"
            )
        watched.high_watermark = end
        start = max(min(watched.upto, end), partition.log.log_start_offset)
        batches = watched.history.batches
        for offset, batch in log_batches(partition.log, start, end):
            if offset not in batches:
                batches[offset] = batch
                if partition.topic == PASSING:
                    self._check_home(watched.place, batch)
            elif batches[offset] != batch:
                raise BrokenPromiseError(
                    f"{partition.topic}-{partition.index} differs at {node} below its high watermark {end}: at offset"
                    f" {offset} there was {values_of(batches[offset])} and is {values_of(batch)} now"
                )
        watched.upto = end

    def _check_home(self, place: Place, batch: bytes) -> None:
        for _, value in values_of(batch):
            home = self._homes.setdefault(value, place)
            if home != place:
                raise BrokenPromiseError(f"{value!r} is in the topic {home.topic_id}, and in {place.topic_id} as well")

    def check_acknowledged(self, node: str, partition: Partition) -> None:
        """All that was acknowledged is in the log of a leader, where it was said to be."""
        content = dict(log_values(partition.log))
        there = set(content.values())
        start = partition.log.log_start_offset
        for promise in self._ledger.acknowledged.get(partition.index, ()):
            if self._old_ones_go and promise.offset < start:
                continue
            if promise.value not in there or (promise.offset >= 0 and content.get(promise.offset) != promise.value):
                raise BrokenPromiseError(
                    f"{promise.value!r} was acknowledged at {promise.at:.3f} s at offset {promise.offset} of partition"
                    f" {partition.index}, and {node}, its leader in epoch {partition.leader_epoch}, does not have it"
                    f" there (log {start} to {partition.log.log_end_offset}, high watermark"
                    f" {partition.high_watermark})"
                )

    def at_the_end(self, replicas: Iterable[Replica], partitions: int) -> None:
        """Every partition has one leader with all that was acknowledged, none of it twice, replicas are equal, and what
        consumers saw is what is there."""
        by_index: dict[int, list[Replica]] = {}
        for replica in replicas:
            by_index.setdefault(replica.partition.index, []).append(replica)
        for index in range(partitions):
            held = by_index.get(index, [])
            newest = max((one.partition.leader_epoch for one in held), default=-1)
            leaders = [
                one for one in held if one.partition.role is Role.LEADER and one.partition.leader_epoch == newest
            ]
            if len(leaders) != 1:
                raise BrokenPromiseError(f"partition {index} has {len(leaders)} leaders once all faults are over")
            [(node, leader)] = leaders
            self.check_acknowledged(node, leader)
            self._check_no_duplicates(index, leader)
            self._check_seen(index, leader)
            for other in held:
                _check_equal(leaders[0], other)

    def _check_no_duplicates(self, index: int, leader: Partition) -> None:
        once: set[bytes] = set()
        for offset, value in log_values(leader.log):
            if value in once and value in self._ledger.of_idempotent:
                raise BrokenPromiseError(f"{value!r} is twice in partition {index}, again at offset {offset}")
            once.add(value)

    def _check_seen(self, index: int, leader: Partition) -> None:
        content = dict(log_values(leader.log))
        for (partition, offset), value in self._ledger.seen.items():
            if partition != index or (self._old_ones_go and offset < leader.log.log_start_offset):
                continue
            if content.get(offset) != value:
                raise BrokenPromiseError(
                    f"a consumer read {value!r} at offset {offset} of partition {index}; there is"
                    f" {content.get(offset)!r} now"
                )


def log_batches(log: Log, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the batches of a log from one offset up to another, with the offset at which each begins."""
    offset = start
    while offset < end:
        piece = log.read(offset, 1 << 30, end, True)
        if piece.file is None or not piece.length:
            return
        data = piece.file.pread(piece.length, piece.position)
        for position, header in iter_batches(memoryview(data)):
            if offset <= header.base_offset < end:
                yield header.base_offset, data[position : position + header.size]
        offset = log.upper_bound(piece)


def log_values(log: Log) -> list[tuple[int, bytes]]:
    """Return offsets and values of all records of a log."""
    batches = log_batches(log, log.log_start_offset, log.log_end_offset)
    return [pair for _, batch in batches for pair in values_of(batch)]


def _check_equal(leader: Replica, other: Replica) -> None:
    logs = leader.partition.log, other.partition.log
    start = max(log.log_start_offset for log in logs)
    end = min(leader.partition.high_watermark, other.partition.high_watermark)
    ours, theirs = (list(log_batches(log, start, end)) for log in logs)
    if ours != theirs:
        different = next((a, b) for a, b in zip(ours, theirs, strict=False) if a != b)
        raise BrokenPromiseError(
            f"partition {leader.partition.index} differs on {leader.node} and {other.node} below the high watermark"
            f" {end}: {different}"
        )
