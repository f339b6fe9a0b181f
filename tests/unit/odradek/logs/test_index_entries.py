"""Reading index files, with what is allocated ahead and what is no whole entry."""

import pytest

from odradek.logs.index_entries import OFFSET_ENTRY, IndexEntries, count_entries
from tests.support.memory_files import MemoryFiles

SOME = [(number * 3 + 1, number * 100 + 7) for number in range(9000)]


@pytest.mark.parametrize("entries", [[], [(0, 0)], [(3, 5)], [(0, 0), (3, 5)], SOME[:2], SOME])
@pytest.mark.parametrize("spare", [0, 1, 5, 10_000])
@pytest.mark.parametrize("stray", [0, 3])
def test_entries_end_where_zeros_begin(entries: list[tuple[int, int]], spare: int, stray: int) -> None:
    """Space that is allocated ahead is not taken for entries, and both ways of counting agree."""
    if entries == [(0, 0)] and spare:
        entries, spare = [], spare + 1  # then nothing says that the first one is meant
    if not entries and spare == 1:
        entries, spare = [(0, 0)], 0
    fs = MemoryFiles()
    fs.mkdir("/d")
    fs.write_bytes("/d/i", b"".join(OFFSET_ENTRY.pack(*entry) for entry in entries) + bytes(8 * spare + stray))
    file = fs.open("/d/i")
    found = IndexEntries(file, OFFSET_ENTRY)
    assert list(found) == entries
    assert (found.count, found.spare_bytes, found.stray_bytes) == (len(entries), 8 * spare, stray)
    assert count_entries(file, OFFSET_ENTRY) == len(entries)


def test_zeros_before_other_entries_are_entries() -> None:
    """Zeros in the middle of an index are damage, and are not taken for its end."""
    fs = MemoryFiles()
    fs.mkdir("/d")
    fs.write_bytes("/d/i", bytes(24) + OFFSET_ENTRY.pack(9, 900) + bytes(8))
    found = IndexEntries(fs.open("/d/i"), OFFSET_ENTRY)
    assert list(found) == [(0, 0), (0, 0), (0, 0), (9, 900)]
    assert found.spare_bytes == 8


def test_zeros_among_other_entries_cost_what_they_are() -> None:
    """Where every other entry is zeros, no stretch of the file is read for each of them."""
    count = 20_000
    fs = MemoryFiles()
    fs.mkdir("/d")
    fs.write_bytes("/d/i", (bytes(8) + OFFSET_ENTRY.pack(1, 1)) * count)
    file = fs.open("/d/i")
    read = 0

    class Counted:
        path = "/d/i"

        def size(self) -> int:
            return file.size()

        def pread(self, size: int, position: int) -> bytes:
            nonlocal read
            read += size
            return file.pread(size, position)

    assert len(list(IndexEntries(Counted(), OFFSET_ENTRY))) == 2 * count  # type: ignore[arg-type]  # what is used
    assert read < 10 * file.size()
