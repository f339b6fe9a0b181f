"""Which ranges are read, how they are split, and how much a micro-batch takes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_odradek.errors import OptionError
from pyspark_odradek.offsets import OffsetRange, Offsets, TopicPartition, from_checkpoint, to_checkpoint
from pyspark_odradek.reading import planning

A, B, C = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)

_offsets = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from("ab"), st.integers(0, 12)), st.integers(0, 2**62), max_size=8
)
_ranges = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 5000)), max_size=6).map(
    lambda found: [OffsetRange(TopicPartition("t", n), first, first + size) for n, (first, size) in enumerate(found)]
)


def test_a_micro_batch_is_what_lies_between() -> None:
    """Known partitions are read from where they were left, new ones from their beginning, and losses are told."""
    plan = planning.between({A: 5, B: 7}, {A: 9, B: 7, C: 3}, {C: 0})
    assert plan == planning.ReadPlan([OffsetRange(A, 5, 9), OffsetRange(C, 0, 3)], [])


def test_losses_of_a_stream() -> None:
    """Deleted partitions, new ones that do not begin at 0, and offsets that went backwards are losses."""
    plan = planning.between({A: 5, B: 7}, {B: 6, C: 9}, {C: 4})
    assert plan.ranges == [OffsetRange(C, 4, 9)]
    assert plan.data_loss == [
        "partition a-0 was deleted",
        "partition a-1 ends at offset 6, but 7 was reached before",
        "the new partition b-0 begins at offset 4 instead of 0",
    ]


def test_a_batch_reads_what_there_is() -> None:
    """Offsets that a partition does not have are losses; what it has of the range is read."""
    plan = planning.inside({A: 0, B: 5, C: 3}, {A: 10, B: 20, C: 3}, {A: 4, B: 0, C: 0}, {A: 10, B: 12, C: 9})
    assert plan.ranges == [OffsetRange(A, 4, 10), OffsetRange(B, 5, 12)]
    assert [loss.split(" are")[0] for loss in plan.data_loss] == [
        "offsets 0 to 10 of partition a-0",
        "offsets 5 to 20 of partition a-1",
    ]


@given(_ranges, st.none() | st.integers(1, 20), st.none() | st.integers(1, 700))
def test_splitting_keeps_every_offset(ranges: list[OffsetRange], least: int | None, most: int | None) -> None:
    """Pieces are not empty, lie end to end, are as small as asked for, and about as many as asked for."""
    pieces = planning.split(ranges, least, most)
    for wanted in ranges:
        own = [piece for piece in pieces if piece.partition == wanted.partition]
        assert sum(piece.until - piece.first for piece in own) == wanted.until - wanted.first
        assert all(before.until == after.first for before, after in pairwise(own))
        assert not own or (own[0].first, own[-1].until) == (wanted.first, wanted.until)
    assert all(piece.first < piece.until for piece in pieces)
    if most is not None:
        assert all(piece.until - piece.first <= most for piece in pieces)
    if least is None and most is None:
        assert len(pieces) == sum(wanted.first < wanted.until for wanted in ranges)


def test_tasks_beyond_all_bounds_are_refused() -> None:
    """Offsets as far apart as only a hostile broker has them do not fill the driver's memory with tasks."""
    with pytest.raises(OptionError, match="maxRecordsPerPartition=1 would make 4611686018427387904 tasks"):
        planning.split([OffsetRange(A, 0, 2**62)], None, 1)
    assert len(planning.split([OffsetRange(A, 0, planning.MAX_TASKS)], None, 1)) == planning.MAX_TASKS


def test_large_ranges_are_split_and_small_ones_are_not() -> None:
    """minPartitions cuts in proportion to size."""
    pieces = planning.split([OffsetRange(A, 0, 1000), OffsetRange(B, 0, 10)], 5, None)
    assert pieces == [*(OffsetRange(A, n * 250, n * 250 + 250) for n in range(4)), OffsetRange(B, 0, 10)]


@given(_offsets, st.integers(0, 2**40), st.integers(1, 10**6))
def test_a_limit_is_kept_and_nothing_starves(start: Offsets, ahead: int, limit: int) -> None:
    """A limited micro-batch passes the limit by one for each partition at most, and gets on everywhere."""
    end = {partition: offset + ahead for partition, offset in start.items()}
    found = planning.limited(start, end, limit)
    assert found.keys() == end.keys()
    assert all(start[partition] <= until <= end[partition] for partition, until in found.items())
    if ahead:
        assert all(until > start[partition] for partition, until in found.items())
    assert planning.pending(start, found) <= limit + len(start)


@given(_offsets)
def test_checkpoints_are_read_as_they_were_written(offsets: Offsets) -> None:
    """Offsets come back, and equal offsets are written alike whatever their order."""
    kept = to_checkpoint(offsets)
    assert from_checkpoint(kept) == offsets
    assert str(to_checkpoint(dict(reversed(offsets.items())))) == str(kept)


def test_a_checkpoint_of_sparks_own_source_is_understood() -> None:
    """The form is that of the `kafka` source: topic, partition as text, offset."""
    assert from_checkpoint({"a": {"1": 7, "0": 5}}) == {A: 5, B: 7}
