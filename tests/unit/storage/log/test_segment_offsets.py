"""Offsets as the first clients ask for them: the end of the log, and where its segments begin."""

import pytest

from odradek.storage.errors import StorageError
from odradek.storage.log.log import Log
from odradek.storage.log.segment_offsets import newest_offsets, offsets_before
from odradek.storage.names import LOG_SUFFIX
from tests.support.logs import NOW_MS, a_batch, open_at
from tests.support.memory_files import MemoryFiles

ALL = 100
HOUR_MS = 3_600_000


@pytest.fixture
def log(fs: MemoryFiles) -> Log:
    """A log of segments that begin at 0, 2 and 4, written an hour apart, the last one an hour ago; it ends at 6."""
    log = open_at(fs)
    for number in range(3):
        if number:
            log.roll(NOW_MS)
        log.append(a_batch([b"a", b"b"], NOW_MS), 0, NOW_MS)
        fs.set_mtime_ms(log.segments.active.path(LOG_SUFFIX), NOW_MS - (3 - number) * HOUR_MS)
    return log


@pytest.mark.parametrize(("limit", "expected"), [(ALL, [6, 4, 2, 0]), (2, [6, 4]), (1, [6]), (0, [])])
def test_newest_offsets_are_the_end_and_the_segments_before_it(log: Log, limit: int, expected: list[int]) -> None:
    """Newest first, no more than asked for."""
    assert newest_offsets(log, limit, upto=6) == expected


def test_an_active_segment_without_data_counts_once(log: Log) -> None:
    """It begins where the log ends."""
    log.roll(NOW_MS)
    assert newest_offsets(log, ALL, upto=6) == [6, 4, 2, 0]
    log.truncate_fully(0, NOW_MS)
    assert newest_offsets(log, ALL, upto=0) == [0]


@pytest.mark.parametrize(("upto", "expected"), [(5, [5, 4, 2, 0]), (4, [4, 2, 0]), (3, [3, 2, 0])])
def test_nothing_is_told_of_what_readers_may_not_see(log: Log, upto: int, expected: list[int]) -> None:
    """Where they must stop stands for all that lies beyond."""
    assert newest_offsets(log, ALL, upto) == expected


def test_what_was_deleted_is_not_where_a_segment_begins(log: Log) -> None:
    """The first segment counts from the first offset that can be read."""
    log.delete_records_before(3)
    assert newest_offsets(log, ALL, upto=6) == [6, 4, 3]


@pytest.mark.parametrize(
    ("hours_ago", "expected"),
    [(0, [6, 4, 2, 0]), (0.5, [4, 2, 0]), (1, [4, 2, 0]), (1.5, [2, 0]), (3, [0]), (3.5, [])],
)
def test_a_time_finds_the_segments_that_were_last_written_before_it(
    log: Log, hours_ago: float, expected: list[int]
) -> None:
    """The end of the log was written now; before the first write there is nothing."""
    assert offsets_before(log, NOW_MS - int(hours_ago * HOUR_MS), ALL, 6, NOW_MS) == expected


def test_a_time_finds_no_more_than_asked_for(log: Log) -> None:
    """The newest ones, and of these nothing beyond what readers may see."""
    assert offsets_before(log, NOW_MS - HOUR_MS, 2, 3, NOW_MS) == [3, 2]


def test_a_disk_that_fails_is_a_storage_error(log: Log, fs: MemoryFiles) -> None:
    """It names the log."""
    fs.unlink(log.segments.active.path(LOG_SUFFIX))
    with pytest.raises(StorageError, match="spool-0"):
        offsets_before(log, 0, ALL, 6, NOW_MS)
