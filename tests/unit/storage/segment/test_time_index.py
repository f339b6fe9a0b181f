"""The time index: entries byte for byte as Kafka's, lookups, and what is appended and what is not."""

from pathlib import Path
from struct import pack

import pytest

from odradek.storage.errors import CorruptFile, InvalidOffset
from odradek.storage.files import PosixFiles
from odradek.storage.segment.time_index import TimeIndex
from tests.support.memory_files import MemoryFiles

PATH = "/00000000000000000100.timeindex"


def _active(fs: MemoryFiles, entries: list[tuple[int, int]], max_bytes: int = 1024) -> TimeIndex:
    index = TimeIndex(fs, PATH, 100, max_bytes, active=True)
    index.reset()
    for timestamp, offset in entries:
        index.append(timestamp, offset)
    return index


def test_file_has_kafkas_bytes() -> None:
    """An entry is eight bytes of timestamp and four of the offset from the base, big-endian."""
    fs = MemoryFiles()
    index = _active(fs, [(1700000100000, 3002)])
    index.write_pending()
    assert fs.read_bytes(PATH) == bytes.fromhex("0000018bcfe6eea0 00000b56")


@pytest.mark.parametrize("active", [True, False])
def test_lookup_finds_last_entry_not_later(active: bool) -> None:
    """The answer is the last entry that is not later than the time, else (-1, base offset)."""
    fs = MemoryFiles()
    index = _active(fs, [(10, 104), (20, 110), (35, 121)])
    index.close()
    index = TimeIndex(fs, PATH, 100, 1024, active)
    found = [index.lookup(timestamp) for timestamp in (-1, 0, 9, 10, 19, 20, 34, 35, 1 << 50)]
    start, first, second, third = (-1, 100), (10, 104), (20, 110), (35, 121)
    assert found == [start, start, start, first, first, second, second, third, third]
    assert (index.count, index.last_entry) == (3, third)


def test_same_or_no_timestamp_leaves_no_entry() -> None:
    """An entry is made only for a later time than the last one's; -1 stands for records without times."""
    index = _active(MemoryFiles(), [(-1, 101), (-1, 102)])
    assert (index.count, index.last_entry) == (0, (-1, 100))
    index.append(10, 104)
    index.append(10, 110)
    assert (index.count, index.last_entry) == (1, (10, 104))


def test_entries_that_go_back_are_refused() -> None:
    """An earlier time or smaller offset than the last entry's is InvalidOffset, as is one outside of the segment."""
    index = _active(MemoryFiles(), [(10, 104)])
    for timestamp, offset in ((9, 110), (20, 103), (20, 100 + (1 << 31))):
        with pytest.raises(InvalidOffset):
            index.append(timestamp, offset)
    assert index.count == 1


def test_one_slot_is_kept_for_the_roll() -> None:
    """The index is full when one more entry fits, and takes that one."""
    index = _active(MemoryFiles(), [(1, 101)], max_bytes=40)
    full = [index.is_full]
    index.append(2, 102)
    full.append(index.is_full)
    index.append(3, 103)
    assert full == [False, True]
    assert index.count == 3


def test_time_zero_at_the_base_is_an_entry_when_it_stands_alone() -> None:
    """A file of exactly one entry of zeros is trimmed, not preallocated: the first record's time is 1970."""
    fs = MemoryFiles()
    index = _active(fs, [(0, 100)])
    index.close()
    assert fs.size(PATH) == 12
    assert TimeIndex(fs, PATH, 100, 1024).last_entry == (0, 100)
    fs.write_bytes(PATH, bytes(24))
    assert TimeIndex(fs, PATH, 100, 1024).count == 0


def test_preallocated_zeros_are_no_entries() -> None:
    """A tail of zeros is not taken for times in 1970."""
    fs = MemoryFiles()
    fs.write_bytes(PATH, pack(">qi", 1 << 40, 0) + bytes(12 * 1000))
    for active in (True, False):
        assert TimeIndex(fs, PATH, 100, 1024, active).last_entry == (1 << 40, 100)


@pytest.mark.parametrize(("offset", "left"), [(0, 0), (104, 0), (105, 1), (110, 1), (122, 3)])
def test_truncation_removes_entries_from_the_offset_on(offset: int, left: int) -> None:
    """Entries go by their offset, and the last one left is again the largest time."""
    fs = MemoryFiles()
    index = _active(fs, [(10, 104), (20, 110), (35, 121)])
    index.truncate_to(offset)
    assert (index.count, index.last_entry) == (left, [(-1, 100), (10, 104), (20, 110), (35, 121)][left])
    index.close()
    assert fs.size(PATH) == 12 * left


@pytest.mark.parametrize(
    "content",
    [
        pack(">qi", -5, 4),
        pack(">qi", 5, -4),
        pack(">qiqi", 5, 4, 5, 5),
        pack(">qiqi", 5, 4, 6, 3),
        pack(">qi", 5, 4) + b"\x01",
        b"\xff" * 120,
    ],
)
def test_garbage_is_detected(content: bytes) -> None:
    """Times that do not ascend, offsets that descend and a file that is cut short are CorruptFile."""
    fs = MemoryFiles()
    fs.write_bytes(PATH, content)
    for thorough in (False, True):
        with pytest.raises(CorruptFile, match=PATH):
            TimeIndex(fs, PATH, 100, 1024).sanity_check(thorough)


def test_good_index_passes_its_check(tmp_path: Path) -> None:
    """Several entries may have one offset: a batch can hold later and later times."""
    index = TimeIndex(PosixFiles(), str(tmp_path / "0.timeindex"), 0, 1 << 20, active=True)
    index.reset()
    for number in range(3000):
        index.append(number + 1, number // 2)
    index.seal()
    index.sanity_check()
    index.sanity_check(thorough=True)
    assert index.lookup(2000) == (2000, 999)
    index.close()
