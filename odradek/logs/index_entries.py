"""The entries of index files, read in pieces as they stand there; nothing is mapped, so that a broker may cut the file.

That is why the classes of the log engine, which map a file and believe it, lend their entries' form only. Kafka
allocates the indexes of a segment that is written to ahead, with zeros: an entry of nothing but zeros ends an index,
unless others follow or it is the only one. Follows Kafka's storage format, offset index, time index and transaction
index.
"""

from collections.abc import Iterator
from struct import Struct

from odradek.storage.files import OpenFile
from odradek.storage.segment.offset_index import OffsetIndex
from odradek.storage.segment.time_index import TimeIndex
from odradek.storage.segment.transaction_index import TransactionIndex

OFFSET_ENTRY: Struct = OffsetIndex.ENTRY
TIME_ENTRY: Struct = TimeIndex.ENTRY
ABORTED_ENTRY: Struct = TransactionIndex.ENTRY

_ENTRIES_READ = 4096
_FIRST_ZEROS_READ, _ZEROS_READ = 1 << 6, 1 << 16
"""Bytes read at first, and at most, to see where zeros end: most end soon in an index that is damaged throughout."""


class IndexEntries:
    """One pass over an index file: iterate to the end, then look at what is behind the last entry."""

    __slots__ = ("_entry", "_file", "count", "size", "spare_bytes", "stray_bytes")

    def __init__(self, file: OpenFile, entry: Struct) -> None:
        self._file = file
        self._entry = entry
        self.size = file.size()
        self.count = 0
        """Entries so far."""
        self.spare_bytes = 0
        """Of zeros behind the last entry, allocated ahead."""
        self.stray_bytes = self.size % entry.size
        """At the end of the file that are no whole entry."""

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        size, end = self._entry.size, self.size - self.stray_bytes
        zeros = bytes(size)
        position = 0
        # Where there surely is something else than zeros, so that zeros before it are not looked through again.
        used = 0 if end > size else end
        while position < end:
            data = self._file.pread(min(size * _ENTRIES_READ, end - position), position)
            if len(data) < size:
                return  # the file became shorter
            data = data[: len(data) - len(data) % size]
            for at, entry in enumerate(self._entry.iter_unpack(data)):
                here = at * size
                if position + here >= used and data[here : here + size] == zeros:
                    used = self._first_used(position + here, end)
                    if used == end:
                        self.spare_bytes = end - position - here
                        return
                self.count += 1
                yield entry
            position += len(data)

    def _first_used(self, position: int, end: int) -> int:
        """Return where the first byte from `position` on is that is not zero, `end` if there is none."""
        wanted = _FIRST_ZEROS_READ
        while position < end:
            data = self._file.pread(min(wanted, end - position), position)
            wanted = min(2 * wanted, _ZEROS_READ)
            rest = data.lstrip(b"\0")
            if rest or not data:
                return position + len(data) - len(rest)
            position += len(data)
        return end


def count_entries(file: OpenFile, entry: Struct) -> int:
    """Return how many entries there are, found by bisection: whatever follows the first one of zeros is zeros, too."""
    size, zeros = entry.size, bytes(entry.size)
    low, high = 1, file.size() // size
    if high == 0:
        return 0
    while low < high:
        middle = (low + high) // 2
        if file.pread(size, middle * size) == zeros:
            high = middle
        else:
            low = middle + 1
    found = low if low == 1 or file.pread(size, (low - 1) * size) != zeros else low - 1
    is_spare = found == 1 and file.pread(2 * size, 0) == 2 * zeros
    return 0 if is_spare else found
