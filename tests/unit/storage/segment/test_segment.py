"""One segment: what its index files say, and that its files follow it."""

import struct
from itertools import pairwise

import pytest

from odradek.storage.names import DELETED_SUFFIX
from odradek.storage.segment.index_set import IndexSettings
from odradek.storage.segment.segment import Segment
from tests.support.logs import NOW_MS, a_batch
from tests.support.memory_files import MemoryFiles

BASE = 100


def a_segment(fs: MemoryFiles, interval: int = 100) -> Segment:
    fs.mkdir("/d")
    segment = Segment(fs, "/d", BASE, IndexSettings(interval, 1 << 20), 0, NOW_MS)
    segment.make_files()
    return segment


def append(segment: Segment, offset: int, size: int, timestamp: int) -> None:
    """Append a batch of one record that takes `size` bytes."""
    candidates = (bytearray(a_batch([bytes(length)], timestamp)) for length in range(size))
    data = next(data for data in candidates if len(data) == size)
    data[:8] = offset.to_bytes(8, "big")
    segment.write(data)
    segment.note_batch(len(data), offset, timestamp)


def index_of(segment: Segment) -> list[tuple[int, int]]:
    segment.indexes.offsets.write_pending()
    return list(struct.iter_unpack(">ii", segment.fs.read_bytes(segment.indexes.offsets.path)))


def times_of(segment: Segment) -> list[tuple[int, int]]:
    segment.indexes.times.write_pending()
    return list(struct.iter_unpack(">qi", segment.fs.read_bytes(segment.indexes.times.path)))


@pytest.mark.parametrize(
    ("interval", "indexed"),
    [(0, [1, 2, 3, 4, 5, 6]), (99, [1, 2, 3, 4, 5, 6]), (100, [2, 4, 6]), (199, [2, 4, 6]), (200, [3, 6]), (1000, [])],
)
def test_batch_is_indexed_when_more_than_the_interval_came_before_it(interval: int, indexed: list[int]) -> None:
    """Kafka's rule: bytes since the last entry are counted before the batch, so the first one never has an entry."""
    segment = a_segment(MemoryFiles(), interval)
    for number in range(7):
        append(segment, BASE + number, 100, NOW_MS + number)
    assert index_of(segment) == [(number, number * 100) for number in indexed]
    assert times_of(segment) == [(NOW_MS + number, number) for number in indexed]


def test_time_index_has_the_largest_timestamp_so_far_and_where_it_was_first() -> None:
    """Times that go back or stay the same leave no entry; the final entry of a sealed segment has the largest."""
    segment = a_segment(MemoryFiles(), 0)
    for number, ahead in enumerate((5, 3, 9, 9, 1, 7, 20)):
        append(segment, BASE + number, 100, NOW_MS + ahead)
    expected = [(NOW_MS + 5, 0), (NOW_MS + 9, 2), (NOW_MS + 20, 6)]
    assert times_of(segment) == expected
    append(segment, BASE + 7, 100, NOW_MS)
    segment.seal()
    assert times_of(segment) == expected


def test_sealing_adds_the_largest_timestamp_that_no_entry_has() -> None:
    """The segment is known by its last time entry from then on."""
    fs = MemoryFiles()
    segment = a_segment(fs, 1000)
    for number, ahead in enumerate((5, 30, 9)):
        append(segment, BASE + number, 100, NOW_MS + ahead)
    segment.seal()
    assert times_of(segment) == [(NOW_MS + 30, 1)]
    again = Segment(fs, "/d", BASE, IndexSettings(1000, 1 << 20), 300, NOW_MS)
    assert (again.max_timestamp, again.max_timestamp_offset) == (NOW_MS + 30, BASE + 1)
    assert again.first_timestamp == NOW_MS + 5


def test_rebuilt_indexes_are_those_that_were_written_along() -> None:
    """The same rule, whether a batch is appended or found."""
    segment = a_segment(MemoryFiles(), 150)
    for number, ahead in enumerate((5, 3, 9, 9, 1, 7, 20, 2, 2, 21)):
        append(segment, BASE + number * 3, 80 + number * 5, NOW_MS + ahead)
    before = index_of(segment), times_of(segment)
    segment.rebuild_indexes()
    assert (index_of(segment), times_of(segment)) == before
    assert all(earlier < later for earlier, later in pairwise(before[0]))


def test_files_of_a_deleted_segment_are_renamed_and_still_readable() -> None:
    """All files that there are get the suffix; what was read before can be read on."""
    fs = MemoryFiles()
    segment = a_segment(fs)
    append(segment, BASE, 100, NOW_MS)
    renamed = segment.mark_deleted()
    assert sorted(fs.listdir("/d")) == [
        f"{BASE:020d}{suffix}{DELETED_SUFFIX}" for suffix in (".index", ".log", ".timeindex")
    ]
    assert f"/d/{BASE:020d}.log{DELETED_SUFFIX}" in renamed
    assert len(segment.file.pread(1000, 0)) == 100


def test_released_segment_is_opened_again_when_it_is_needed() -> None:
    """Giving descriptors back changes nothing but that, also for the segment that is appended to."""
    segment = a_segment(MemoryFiles(), 0)
    append(segment, BASE, 100, NOW_MS)
    append(segment, BASE + 1, 100, NOW_MS)
    segment.release()
    append(segment, BASE + 2, 100, NOW_MS)
    found = segment.find(BASE + 2)
    assert found is not None
    assert (found.position, segment.size) == (200, 300)
    segment.seal()
    segment.release()
    assert [segment.find(BASE + number) is not None for number in range(4)] == [True, True, True, False]
