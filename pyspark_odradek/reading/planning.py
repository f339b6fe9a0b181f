"""From offsets to tasks: which ranges are read, how they are split, and how much one micro-batch takes.

Pure functions with the rules of Spark's own `kafka` source. What was lost is returned as sentences; whether that ends
the query is for the caller to say (`failOnDataLoss`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from pyspark_odradek.errors import OptionError
from pyspark_odradek.offsets import OffsetRange, Offsets, TopicPartition

MAX_TASKS: Final = 100_000
"""So many tasks a query can have: the driver holds all of them, and offsets may be as far apart as a broker says."""


class ReadPlan(NamedTuple):
    """Ranges to read, none of them empty, and a sentence for everything that cannot be read any more."""

    ranges: list[OffsetRange]
    data_loss: list[str]


def between(start: Mapping[TopicPartition, int], end: Offsets, new: Mapping[TopicPartition, int]) -> ReadPlan:
    """Return what lies between two offsets of a stream.

    `new` has the earliest offsets of partitions that are in `end` only: they are read from there. Lost is what lay in
    partitions that are in `start` only, in new ones before their earliest offset, and where offsets went backwards.
    """
    data_loss = [f"partition {partition} was deleted" for partition in start if partition not in end]
    ranges = []
    for partition, until in sorted(end.items()):
        first = start.get(partition)
        if first is None:
            first = new.get(partition, 0)
            if first > 0:
                data_loss.append(f"the new partition {partition} begins at offset {first} instead of 0")
        if until < first:
            data_loss.append(f"partition {partition} ends at offset {until}, but {first} was reached before")
        elif until > first:
            ranges.append(OffsetRange(partition, first, until))
    return ReadPlan(ranges, data_loss)


def inside(start: Offsets, end: Offsets, earliest: Offsets, latest: Offsets) -> ReadPlan:
    """Return what a batch query reads: the wanted offsets as far as the partitions have them."""
    ranges, data_loss = [], []
    for partition, first in sorted(start.items()):
        until, begin, stop = end[partition], earliest[partition], latest[partition]
        if first < begin or max(first, until) > stop:
            data_loss.append(
                f"offsets {first} to {until} of partition {partition} are wanted, it has {begin} to {stop}"
                " (the last not included)"
            )
        first, until = max(first, begin), min(until, stop)
        if until > first:
            ranges.append(OffsetRange(partition, first, until))
    return ReadPlan(ranges, data_loss)


def split(ranges: Sequence[OffsetRange], min_partitions: int | None, max_records: int | None) -> list[OffsetRange]:
    """Return the ranges cut into pieces of at most `max_records` offsets, and into about `min_partitions` pieces.

    Where there are fewer ranges than `min_partitions` the large ones are split in proportion to their size; rounding
    can give a few more or less, as in Spark's own source.

    Raises:
        OptionError: there would be more than `MAX_TASKS`.
    """
    pieces = [wanted for wanted in ranges if _size(wanted) > 0]
    if max_records is not None:
        tasks = sum(-(-_size(wanted) // max_records) for wanted in pieces)
        if tasks > max(MAX_TASKS, len(pieces)):
            raise OptionError(
                f"maxRecordsPerPartition={max_records} would make {tasks} tasks of one query, more than {MAX_TASKS}:"
                " give it a larger number"
            )
        pieces = [piece for wanted in pieces for piece in _cut(wanted, -(-_size(wanted) // max_records))]
    if min_partitions is None or len(pieces) >= min_partitions:
        return pieces
    total = sum(map(_size, pieces))
    whole = [piece for piece in pieces if _share(_size(piece), total, min_partitions) == 1]
    rest = total - sum(map(_size, whole))
    wanted_of_rest = max(min_partitions - len(whole), 1)
    untouched = frozenset(whole)
    return [
        part
        for piece in pieces
        for part in _cut(piece, 1 if piece in untouched else _share(_size(piece), rest, wanted_of_rest))
    ]


def limited(start: Mapping[TopicPartition, int], end: Offsets, limit: int) -> Offsets:
    """Return where a micro-batch ends that takes about `limit` offsets, shared in proportion to what there is.

    Every partition with something to read gets on by one at least, so that small ones are not starved.
    """
    sizes = {partition: until - start[partition] for partition, until in end.items() if until > start[partition]}
    total = sum(sizes.values())
    return {
        partition: until
        if partition not in sizes
        else min(until, start[partition] + max(1, limit * sizes[partition] // total))
        for partition, until in end.items()
    }


def pending(start: Mapping[TopicPartition, int], end: Offsets) -> int:
    """Return how many offsets lie between two offsets of a stream; all partitions of `end` must be in `start`."""
    return sum(max(0, until - start[partition]) for partition, until in end.items())


def _size(wanted: OffsetRange) -> int:
    return wanted.until - wanted.first


def _share(size: int, total: int, parts: int) -> int:
    return max(round(size / total * parts), 1)


def _cut(wanted: OffsetRange, parts: int) -> list[OffsetRange]:
    size = _size(wanted)
    bounds = [wanted.first + size * part // parts for part in range(parts + 1)]
    return [OffsetRange(wanted.partition, first, until) for first, until in pairwise(bounds) if until > first]
