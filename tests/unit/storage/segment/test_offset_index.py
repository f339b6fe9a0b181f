"""The offset index: entries byte for byte as Kafka's, lookups, truncation, and files that are not as they should be."""

import errno
from pathlib import Path
from struct import pack

import pytest

from odradek.storage.errors import CorruptFile, InvalidOffset
from odradek.storage.files import FileSystem, PosixFiles
from odradek.storage.segment.offset_index import OffsetIndex
from tests.support.memory_files import MemoryFiles

PATH = "/00000000000000000100.index"


def _active(fs: FileSystem, entries: list[tuple[int, int]], max_bytes: int = 1024) -> OffsetIndex:
    index = OffsetIndex(fs, PATH, 100, max_bytes, active=True)
    index.reset()
    for offset, position in entries:
        index.append(offset, position)
    return index


def _reopened(fs: FileSystem, active: bool = False) -> OffsetIndex:
    return OffsetIndex(fs, PATH, 100, 1024, active)


def test_file_has_kafkas_bytes() -> None:
    """An entry is the offset from the base and the position, four bytes each, big-endian."""
    fs = MemoryFiles()
    index = _active(fs, [(104, 4200), (110, 70000)])
    assert fs.read_bytes(PATH) == b""
    index.write_pending()
    assert fs.read_bytes(PATH) == bytes.fromhex("00000004 00001068 0000000a 00011170")


@pytest.mark.parametrize("state", ["active", "sealed", "loaded", "loaded active"])
def test_lookup_finds_last_entry_not_after(state: str) -> None:
    """The answer is the last entry with an offset that is not larger, else the start of the segment."""
    fs = MemoryFiles()
    index = _active(fs, [(104, 4200), (110, 8400), (121, 12600)])
    if state == "sealed":
        index.seal()
    elif state != "active":
        index.close()
        index = _reopened(fs, active=state == "loaded active")
    found = [index.lookup(offset) for offset in (0, 100, 103, 104, 109, 110, 120, 121, 1 << 40)]
    start, first, second, third = (100, 0), (104, 4200), (110, 8400), (121, 12600)
    assert found == [start, start, start, first, first, second, second, third, third]
    assert (index.count, index.last_entry) == (3, third)


def test_empty_index_points_to_the_start() -> None:
    """Without entries every search begins at position 0."""
    fs = MemoryFiles()
    index = _active(fs, [])
    assert (index.lookup(5000), index.last_entry, index.count) == ((100, 0), (100, 0), 0)
    index.close()
    assert _reopened(fs).lookup(5000) == (100, 0)
    assert _reopened(fs, active=True).last_entry == (100, 0)


def test_entry_at_or_after_a_position_bounds_the_offsets_of_a_read() -> None:
    """It is the first entry whose position is not smaller, or none."""
    index = _active(MemoryFiles(), [(104, 4200), (110, 8400)])
    assert [index.offset_at_or_after(position) for position in (0, 4200, 4201, 8400, 8401)] == [
        104, 104, 110, 110, None,
    ]  # fmt: skip


def test_offsets_that_do_not_ascend_are_refused() -> None:
    """An offset that is not above the last, or not within 2^31 of the base, is InvalidOffset and changes nothing."""
    index = _active(MemoryFiles(), [(104, 4200)])
    for offset in (104, 103, 99, 100 + (1 << 31)):
        with pytest.raises(InvalidOffset):
            index.append(offset, 9000)
    assert index.last_entry == (104, 4200)
    index.append(100 + (1 << 31) - 1, 9000)
    assert index.last_entry == (100 + (1 << 31) - 1, 9000)


def test_offset_below_the_base_is_refused_in_an_empty_index() -> None:
    """The first entry is not below the base either."""
    with pytest.raises(InvalidOffset):
        _active(MemoryFiles(), []).append(99, 1)


def test_index_is_full_at_its_largest_whole_number_of_entries() -> None:
    """`segment.index.bytes` is rounded down to whole entries, and a change of it counts at once."""
    index = _active(MemoryFiles(), [(101, 1)], max_bytes=23)
    full = [index.is_full]
    index.append(102, 2)
    full.append(index.is_full)
    index.max_bytes = 24
    full.append(index.is_full)
    assert full == [False, True, False]


def test_only_new_entries_are_written() -> None:
    """`write_pending` appends what the file does not have, and nothing if it has all."""
    fs = MemoryFiles()
    index = _active(fs, [(101, 1)])
    index.write_pending()
    before = fs.operations
    index.write_pending()
    assert fs.operations == before
    index.append(102, 2)
    index.write_pending()
    assert fs.operations == before + 1
    assert fs.read_bytes(PATH) == pack(">iiii", 1, 1, 2, 2)


@pytest.mark.parametrize(("offset", "left"), [(0, 0), (104, 0), (105, 1), (110, 1), (111, 2), (1000, 3)])
@pytest.mark.parametrize("state", ["active", "loaded"])
def test_truncation_removes_entries_from_the_offset_on(offset: int, left: int, state: str) -> None:
    """Entries at the offset and after it go, in memory and then in the file; new ones may follow."""
    fs = MemoryFiles()
    index = _active(fs, [(104, 4200), (110, 8400), (121, 12600)])
    index.write_pending()
    if state == "loaded":
        index = _reopened(fs)
        assert index.lookup(104) == (104, 4200)
    index.truncate_to(offset)
    assert index.count == left
    index.append(2000, 20000)
    index.close()
    assert fs.size(PATH) == 8 * (left + 1)
    assert _reopened(fs).last_entry == (2000, 20000)


def test_truncation_reaches_the_file() -> None:
    """What is cut away is gone after a restart, also when nothing follows."""
    fs = MemoryFiles()
    index = _active(fs, [(104, 4200), (110, 8400)])
    index.sync()
    index.truncate_to(110)
    index.close()
    assert fs.read_bytes(PATH) == pack(">ii", 4, 4200)


def test_preallocated_zeros_are_no_entries() -> None:
    """The tail of zeros that Kafka leaves when it is killed is neither searched nor kept."""
    fs = MemoryFiles()
    entries = pack(">iiii", 4, 0x100, 10, 0x20000)
    for content in (entries + bytes(1 << 20), entries + bytes(5), entries):
        fs.write_bytes(PATH, content)
        for active in (False, True):
            index = _reopened(fs, active)
            assert (index.lookup(1000), index.count) == ((110, 0x20000), 2)
    index = _reopened(fs, active=True)
    fs.write_bytes(PATH, entries + bytes(1 << 20))
    index.activate()
    index.append(120, 0x30000)
    index.write_pending()
    assert fs.read_bytes(PATH) == entries + pack(">ii", 20, 0x30000)


def test_file_of_zeros_is_empty() -> None:
    """A preallocated index without entries is an empty one."""
    fs = MemoryFiles()
    fs.write_bytes(PATH, bytes(10 << 20))
    assert _reopened(fs).count == 0
    assert _reopened(fs).lookup(200) == (100, 0)


def test_failed_write_is_repeated_whole() -> None:
    """After a full disk the entries are still in memory, and the next attempt leaves exactly them."""
    fs = MemoryFiles()
    index = _active(fs, [(101, 1), (102, 2)])
    fs.capacity = 11
    with pytest.raises(OSError) as raised:
        index.write_pending()
    assert raised.value.errno == errno.ENOSPC
    assert fs.size(PATH) == 11
    index.append(103, 3)
    assert index.lookup(103) == (103, 3)
    fs.capacity = 1000
    index.write_pending()
    assert fs.read_bytes(PATH) == pack(">6i", 1, 1, 2, 2, 3, 3)


def test_nothing_is_opened_before_it_is_needed(tmp_path: Path) -> None:
    """Referring to an index touches no file, so that a start costs nothing; a missing one is found at first use."""
    index = OffsetIndex(PosixFiles(), str(tmp_path / "missing"), 0, 1024)
    with pytest.raises(CorruptFile, match="missing"):
        index.lookup(5)
    with pytest.raises(CorruptFile, match="missing"):
        index.sanity_check(100)


def test_sealed_index_is_mapped_until_it_is_released(tmp_path: Path) -> None:
    """A sealed index reads from its file, also after it was renamed or closed, until it is deleted."""
    fs = PosixFiles()
    path = str(tmp_path / "0.index")
    index = OffsetIndex(fs, path, 0, 1024, active=True)
    index.reset()
    index.append(4, 40)
    index.append(9, 90)
    index.seal()
    assert index.lookup(5) == (4, 40)
    index.rename(path + ".deleted")
    assert index.lookup(5) == (4, 40)
    assert fs.listdir(str(tmp_path)) == ["0.index.deleted"]
    index.close()
    assert index.lookup(5) == (4, 40)
    index.delete()
    index.delete()
    assert fs.listdir(str(tmp_path)) == []


def test_active_index_is_renamed_with_what_is_not_written_yet() -> None:
    """Entries in memory follow the file to its new name."""
    fs = MemoryFiles()
    index = _active(fs, [(104, 4200)])
    index.rename(PATH + ".swap")
    index.close()
    assert fs.read_bytes(PATH + ".swap") == pack(">ii", 4, 4200)


def test_sync_makes_entries_durable() -> None:
    """What was synced survives a power failure, also when another thread does it with the prepared file."""
    fs = MemoryFiles()
    index = _active(fs, [(104, 4200)])
    fs.sync_dir("/")
    file = index.prepare_sync()
    assert file is not None
    file.sync()
    assert fs.crash(kept=0.0).read_bytes(PATH) == pack(">ii", 4, 4200)


def test_reset_empties_the_file() -> None:
    """A rebuild starts from nothing, whatever the file had."""
    fs = MemoryFiles()
    fs.write_bytes(PATH, b"garbage" * 100)
    index = _reopened(fs)
    index.reset()
    assert fs.read_bytes(PATH) == b""
    assert index.count == 0


def test_good_index_passes_its_check(tmp_path: Path) -> None:
    """A check of a large index, quick or thorough, finds nothing, and keeps no file open."""
    fs = PosixFiles()
    index = OffsetIndex(fs, str(tmp_path / "0.index"), 0, 1 << 20, active=True)
    index.reset()
    for number in range(1, 5000):
        index.append(number * 3, number * 100)
    index.sanity_check(1 << 20)
    index.seal()
    for thorough in (False, True):
        index.sanity_check(4999 * 100 + 1, thorough)
        assert index._data is None
    index.lookup(4)
    index.sanity_check(1 << 20)
    assert index._data is not None


@pytest.mark.parametrize(
    "content",
    [
        pack(">ii", 4, 500),
        pack(">ii", 4, 5000),
        pack(">ii", -1, 5),
        pack(">ii", 4, -5),
        pack(">iiii", 4, 50, 4, 60),
        pack(">iiii", 4, 50, 3, 60),
        pack(">iiii", 4, 50, 5, 50),
        pack(">iiii", 4, 50, 5, 60) + b"\x01",
        b"\xff" * 800,
        bytes(range(255, -1, -1)),
    ],
)
def test_garbage_is_detected(content: bytes) -> None:
    """Entries that do not ascend, lie outside of the log or are cut short are CorruptFile, which names the file."""
    fs = MemoryFiles()
    fs.write_bytes(PATH, content)
    for thorough in (False, True):
        with pytest.raises(CorruptFile, match=PATH):
            _reopened(fs).sanity_check(500, thorough)


def test_thorough_check_finds_a_single_wrong_entry() -> None:
    """An entry that a sample would miss is found when every entry is looked at."""
    fs = MemoryFiles()
    entries = [(number * 2, number * 10) for number in range(1, 1000)]
    entries[500] = entries[499]
    fs.write_bytes(PATH, b"".join(pack(">ii", *entry) for entry in entries))
    with pytest.raises(CorruptFile, match="entry 500"):
        _reopened(fs).sanity_check(1 << 20, thorough=True)


def test_index_of_impossible_size_is_not_loaded() -> None:
    """A file that cannot be an index is refused before it is read."""

    class Huge(MemoryFiles):
        def map_readonly(self, path: str) -> bytes:
            class Content(bytes):
                def __len__(self) -> int:
                    return 1 << 31

            return Content()

    with pytest.raises(CorruptFile, match="more than an index can have"):
        OffsetIndex(Huge(), PATH, 0, 1024).lookup(1)
