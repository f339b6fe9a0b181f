"""Batches of a Produce request that are appended, and not yet as safe as their acknowledgement says."""

from __future__ import annotations

from dataclasses import dataclass

from odradek.broker.partitions.partition import Partition
from odradek.protocol.errors import ErrorCode
from odradek.protocol.hot.produce import ProduceResult

ACKS_NONE, ACKS_LEADER, ACKS_ALL = 0, 1, -1


@dataclass(frozen=True, slots=True, eq=False)
class Appended:
    """A batch that is appended but not committed yet."""

    partition: Partition
    end: int
    """Offset behind its last record."""
    results: list[ProduceResult]
    place: int
    """Index of its result in `results`."""

    def fail(self, code: ErrorCode) -> None:
        """Say that the data may not be safe."""
        self.results[self.place] = ProduceResult(self.results[self.place].partition, code)


def waits(partition: Partition, last_offset: int, acks: int) -> bool:
    """Whether the answer to what is written, but not committed, has to wait."""
    if acks == ACKS_LEADER and partition.replicas is not None:
        return partition.safe_end <= last_offset
    return acks != ACKS_NONE
