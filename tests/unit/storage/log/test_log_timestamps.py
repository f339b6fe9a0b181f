"""Finding records by their time."""

import pytest

from odradek.protocol.records.batch import Codec
from odradek.protocol.records.building import BatchFields
from odradek.storage.log.log import Log
from tests.support.logs import NOW_MS, a_batch, append_values, open_at, small_config
from tests.support.memory_files import MemoryFiles
from tests.support.timestamps import max_timestamp_record, offset_for_timestamp


def test_first_record_not_earlier_is_found_within_its_batch(log: Log) -> None:
    """The answer is a record, not a batch, with its own time and the epoch of its batch."""
    append_values(log, [b"a", b"b", b"c"], [NOW_MS, NOW_MS + 10, NOW_MS + 20], epoch=4)
    assert offset_for_timestamp(log, NOW_MS + 1, 3) == (NOW_MS + 10, 1, 4)
    assert offset_for_timestamp(log, 0, 3) == (NOW_MS, 0, 4)
    assert offset_for_timestamp(log, NOW_MS + 21, 3) is None


@pytest.mark.parametrize("codec", Codec)
def test_compressed_batches_are_looked_into(codec: Codec, log: Log) -> None:
    """Whatever the codec, the record is found."""
    times = [NOW_MS, NOW_MS + 10, NOW_MS + 20]
    log.append(a_batch([b"a", b"b", b"c"], times, BatchFields(codec=codec)), 0, NOW_MS)
    assert offset_for_timestamp(log, NOW_MS + 11, 3) == (NOW_MS + 20, 2, 0)


def test_record_beyond_the_limit_is_not_found(log: Log) -> None:
    """What readers may not see yet does not count, even if an earlier record would not do."""
    append_values(log, [b"a"], NOW_MS)
    append_values(log, [b"b"], NOW_MS + 10)
    assert offset_for_timestamp(log, NOW_MS + 5, 1) is None
    assert offset_for_timestamp(log, NOW_MS + 5, 2) == (NOW_MS + 10, 1, 0)
    assert max_timestamp_record(log, 1) is None
    assert max_timestamp_record(log, 2) == (NOW_MS + 10, 1, 0)


def test_times_out_of_order_are_found_across_segments(fs: MemoryFiles) -> None:
    """The first offset wins, not the earliest time."""
    log = open_at(fs, small_config(segment_bytes=100))
    for ahead in (5, 50, 7, 30, 60, 1):
        append_values(log, [b"x"], NOW_MS + ahead)
    assert len(log.segments) == 6
    for wanted, offset in ((0, 0), (6, 1), (31, 1), (51, 4), (60, 4)):
        found = offset_for_timestamp(log, NOW_MS + wanted, 6)
        assert found is not None
        assert found.offset == offset


def test_largest_timestamp_is_that_of_the_first_record_that_has_it(fs: MemoryFiles) -> None:
    """Kafka's MAX_TIMESTAMP: of equal ones the first, in its batch and among batches and segments."""
    log = open_at(fs, small_config(segment_bytes=250))
    append_values(log, [b"a", b"b"], [NOW_MS, NOW_MS + 1])
    append_values(log, [b"c", b"d", b"e"], [NOW_MS, NOW_MS + 9, NOW_MS + 9], epoch=2)
    append_values(log, [b"f"], NOW_MS + 9)
    log.roll(NOW_MS)
    append_values(log, [b"g"], NOW_MS + 9)
    assert max_timestamp_record(log, 7) == (NOW_MS + 9, 3, 2)


def test_log_without_timestamps_has_no_largest_one(log: Log) -> None:
    """An empty log, and one whose records have no time, give nothing."""
    assert max_timestamp_record(log, 0) is None
    assert offset_for_timestamp(log, 0, 0) is None
    log.append(a_batch([b"a"], -1), 0, NOW_MS)
    assert max_timestamp_record(log, 1) is None
    assert offset_for_timestamp(log, 0, 1) is None


def test_append_time_is_that_of_every_record(fs: MemoryFiles) -> None:
    """With LogAppendTime, the first record of the batch has the largest time."""
    log = open_at(fs, small_config(message_timestamp_type="LogAppendTime"))
    log.append(a_batch([b"a", b"b"], [5, 6]), 0, NOW_MS + 3)
    assert max_timestamp_record(log, 2) == (NOW_MS + 3, 0, 0)
    assert offset_for_timestamp(log, NOW_MS + 3, 2) == (NOW_MS + 3, 0, 0)
