"""What must hold of a cluster at any time, and what at the end: looked at from outside, in the logs of its brokers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.roles import Role
from odradek.storage.log.log import Log
from tests.simulation.clients import BrokenPromiseError, Ledger, values_of


class Replica(NamedTuple):
    """One broker's replica of a partition."""

    node: str
    partition: Partition


class ClusterChecks:
    """Remembers what it has seen, and raises BrokenPromiseError for what must not be."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._leaders: dict[tuple[int, int], str] = {}
        """(partition, leader epoch) -> who led in it."""
        self.leaderships = 0
        """How many were seen."""

    def after_step(self, replicas: Iterable[Replica]) -> None:
        """Nobody leads in an epoch in which another one leads, and a new leader has all that was acknowledged."""
        for node, partition in replicas:
            if partition.role is not Role.LEADER:
                continue
            term = (partition.index, partition.leader_epoch)
            known = self._leaders.get(term)
            if known is None:
                self._leaders[term] = node
                self.leaderships += 1
                if term[1] == max(epoch for index, epoch in self._leaders if index == partition.index):
                    self.check_acknowledged(node, partition)
            elif known != node:
                raise BrokenPromiseError(f"{known} and {node} both lead partition {term[0]} in epoch {term[1]}")

    def check_acknowledged(self, node: str, partition: Partition) -> None:
        """All that was acknowledged is in the log of a leader, where it was said to be, and nothing is there twice."""
        content = dict(log_values(partition.log))
        where = {value: offset for offset, value in content.items()}
        for promise in self._ledger.acknowledged.get(partition.index, ()):
            if where.get(promise.value) is None or (
                promise.offset >= 0 and content.get(promise.offset) != promise.value
            ):
                raise BrokenPromiseError(
                    f"{promise.value!r} was acknowledged at {promise.at:.3f} s at offset {promise.offset} of partition"
                    f" {partition.index}, and {node}, its leader in epoch {partition.leader_epoch}, does not have it"
                    f" there (log {partition.log.log_start_offset} to {partition.log.log_end_offset}, high watermark"
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
            if partition == index and content.get(offset) != value:
                raise BrokenPromiseError(
                    f"a consumer read {value!r} at offset {offset} of partition {index}; there is"
                    f" {content.get(offset)!r} now"
                )


def log_values(log: Log) -> list[tuple[int, bytes]]:
    """Return offsets and values of all records of a log."""
    found: list[tuple[int, bytes]] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        piece = log.read(offset, 1 << 30, log.log_end_offset, True)
        if piece.file is None or not piece.length:
            break
        values = values_of(piece.file.pread(piece.length, piece.position))
        found += [pair for pair in values if pair[0] >= offset]
        offset = log.upper_bound(piece)
    return found


def _check_equal(leader: Replica, other: Replica) -> None:
    upto = min(leader.partition.high_watermark, other.partition.high_watermark)
    ours = [pair for pair in log_values(leader.partition.log) if pair[0] < upto]
    theirs = [pair for pair in log_values(other.partition.log) if pair[0] < upto]
    if ours != theirs:
        different = next((a, b) for a, b in zip(ours, theirs, strict=False) if a != b)
        raise BrokenPromiseError(
            f"partition {leader.partition.index} differs on {leader.node} and {other.node} below the high watermark"
            f" {upto}: {different}"
        )
