"""Micro-batches, and what Spark's checkpoint says of them."""

import pytest

from odradek.pipeline.batches import Batch, from_offset_log, furthest, to_json
from odradek.pipeline.checkpoints import Checkpoint
from odradek.pipeline.errors import PipelineError
from pyspark_odradek.offsets import OffsetRange, TopicPartition
from tests.unit.pipeline.memory_store import MemoryStore

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
ENTRY = 'v1\n{"batchWatermarkMs":0,"conf":{}}\n{"a": {"0": %d}}'


def test_ranges_leave_out_what_is_empty_and_begin_new_partitions_at_0() -> None:
    """A batch has ranges only of partitions with offsets in it."""
    batch = Batch(3, {A0: 5, A1: 2}, {A0: 9, A1: 2, B0: 1})
    assert batch.ranges == [OffsetRange(A0, 5, 9), OffsetRange(B0, 0, 1)]


def test_an_entry_of_the_offset_log_is_read() -> None:
    """The third line of an entry has the offsets at which the batch ends."""
    assert from_offset_log(ENTRY % 7, "offsets/0") == {A0: 7}


@pytest.mark.parametrize("text", ["", "v2\n{}\n{}", "v1\n{}", "v1\n{}\n{}\n{}", "v1\n{}\n-", 'v1\n{}\n{"a": 1}'])
def test_other_entries_are_refused(text: str) -> None:
    """What is no entry of a query with one source of this kind is refused with its name."""
    with pytest.raises(PipelineError, match="offsets/0"):
        from_offset_log(text, "offsets/0")


def test_the_furthest_of_several_offsets_counts() -> None:
    """Where several places know of a partition, the highest offset is taken."""
    assert furthest({A0: 5, A1: 2}, {A0: 3, B0: 1}, {}) == {A0: 5, A1: 2, B0: 1}


def test_a_batch_begins_where_the_one_before_ended() -> None:
    """The first batch begins where the query began, which is noted for a run that is cut short in it."""
    store = MemoryStore({"cp/offsets/0": (ENTRY % 7).encode(), "cp/offsets/1": (ENTRY % 9).encode()})
    checkpoint = Checkpoint(store, "cp/")
    assert checkpoint.has_batches()
    assert checkpoint.beginning() is None
    checkpoint.begin({A0: 4})
    assert checkpoint.beginning() == {A0: 4}
    assert checkpoint.batch(0) == Batch(0, {A0: 4}, {A0: 7})
    assert checkpoint.batch(1) == Batch(1, {A0: 7}, {A0: 9})
    with pytest.raises(PipelineError, match="cp/offsets/2 is not there"):
        checkpoint.batch(2)


def test_offsets_are_written_as_the_source_reads_them() -> None:
    """Offsets become the JSON of the option startingOffsets."""
    assert to_json({B0: 1, A1: 2, A0: 3}) == '{"a": {"0": 3, "1": 2}, "b": {"0": 1}}'
