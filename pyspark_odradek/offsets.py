"""Offsets of partitions, and their form in a checkpoint: the JSON of Spark's own `kafka` source.

So a query goes on from a checkpoint that was written with the other source: topic -> partition (as text) -> offset of
the next record to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from pyspark_odradek.errors import SourceError

LATEST: Final = -1
EARLIEST: Final = -2


class TopicPartition(NamedTuple):
    """Name of a partition."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


Offsets: TypeAlias = dict[TopicPartition, int]
Checkpoint: TypeAlias = dict[str, dict[str, int]]


class OffsetRange(NamedTuple):
    """Offsets of one partition: [first, until)."""

    partition: TopicPartition
    first: int
    until: int


def to_checkpoint(offsets: Mapping[TopicPartition, int]) -> Checkpoint:
    """Return offsets as Spark keeps them; equal offsets give equal JSON, by which Spark sees that nothing is new."""
    found: Checkpoint = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def from_checkpoint(kept: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Return the offsets that `to_checkpoint` or Spark's `kafka` source wrote. Raises SourceError for anything else."""
    try:
        return {
            TopicPartition(topic, int(partition)): int(offset)
            for topic, partitions in kept.items()
            for partition, offset in partitions.items()
        }
    except (AttributeError, TypeError, ValueError) as wrong:
        raise SourceError(f"the checkpoint has offsets that are not of this source: {kept!r}") from wrong
