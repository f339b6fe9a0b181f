"""What the three index files of a segment have in common: entries of one size, in ascending order, in a file each.

An index is derived from the log and never the truth. There are two ways to hold one:

- Of the active segment, the entries are in memory, and those that the file does not have yet are appended to it by
  `write_pending`. The file is never written through a mapping: on a full disk that ends in SIGBUS, not in an error.
- Of a sealed segment, the file is mapped for reading when the first lookup comes, so that a node with thousands of
  segments opens none of them at start.

Kafka preallocates the indexes of its active segments with zeros, and leaves them so when it is killed; such a tail is
not taken for entries. Follows Kafka's storage format, "Offset index and time index" (`AbstractIndex`).
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from mmap import mmap
from struct import Struct
from typing import ClassVar

from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem, MappedFile, OpenFile

MAX_INDEX_BYTES = 0x7FFF_FFFF
"""`segment.index.bytes` is an int32 in Kafka, so a larger file cannot be an index."""

NOT_KNOWN = 1 << 63
"""Larger than any offset or timestamp: stands for the last entry's while the file has not been looked at."""

_ZERO_SCAN_BYTES = 1 << 16
_SAMPLES = 16

IndexData = bytearray | MappedFile


class IndexFile:
    """Entries of one size in a file; subclasses say what an entry means and how to search.

    No operation but `reset`, `write_pending`, `prepare_sync`, `sync`, `seal`, `close`, `rename` and `delete` changes
    the file. Where the file has to be read and cannot be an index, or is missing, CorruptFile is raised: rebuild it.
    """

    ENTRY: ClassVar[Struct]

    __slots__ = ("_count", "_data", "_fs", "_stale_tail", "_written", "active", "base_offset", "path")

    def __init__(self, fs: FileSystem, path: str, base_offset: int, active: bool) -> None:
        self._fs = fs
        self.path = path
        self.base_offset = base_offset
        self.active = active
        self._data: IndexData | None = None
        self._count = 0
        self._written = 0  # bytes of `_data` that the file has
        self._stale_tail = False  # whether the file has more bytes than those
        self._learn_last_entry()

    @property
    def count(self) -> int:
        """Number of entries."""
        self._read()
        return self._count

    def reset(self) -> None:
        """Make the index empty and active, with an empty file in place of any that was there."""
        self._release()
        self._fs.write_bytes(self.path, b"")
        self._hold(bytearray(), 0)

    def write_pending(self) -> None:
        """Bring the file up to date; not durable yet. After an OSError it can be called again."""
        if self._is_pending():
            file = self._fs.open(self.path, create=True)
            try:
                self._write_to(file)
            finally:
                file.close()

    def prepare_sync(self) -> OpenFile | None:
        """Bring the file up to date and return it, to be synced by any thread; None if there is no file.

        Only sealed segments need this: the indexes of the segment that holds the recovery point, and of all after it,
        are rebuilt after a crash.
        """
        try:
            file = self._fs.open(self.path, create=self._is_pending())
        except FileNotFoundError:
            return None
        self._write_to(file)
        return file

    def sync(self) -> None:
        """Make the entries durable."""
        file = self.prepare_sync()
        if file is not None:
            file.sync()
            file.close()

    def seal(self) -> None:
        """Bring the file up to date and keep the entries in memory no longer: the segment is not active any more."""
        self.write_pending()
        self._release()
        self.active = False

    def activate(self) -> None:
        """Keep the entries in memory from now on, to append to them."""
        self.active = True
        self._change()

    def close(self) -> None:
        """Bring the file up to date, wait until what was missing there is on the disk, and release the memory."""
        if self._is_pending():
            self.sync()
        self._release()

    def rename(self, path: str) -> None:
        """Rename the file; a file that does not exist (yet) is no error."""
        if not isinstance(self._data, bytearray):
            self._release()
        if self._fs.exists(self.path):
            self._fs.rename(self.path, path)
        self.path = path

    def replace_file(self, path: str) -> None:
        """Let the file at `path`, complete, be the one of this index, which is not active."""
        self._release()
        self._fs.rename(path, self.path)

    def is_in_memory(self) -> bool:
        """Whether a lookup need not wait for the disk."""
        return self._data is not None or self._fs.is_cached(self.path)

    def read_through(self) -> None:
        """Bring the file into the page cache; any thread may do so. Errors show when it is used."""
        with suppress(OSError):
            self._fs.read_bytes(self.path)

    def delete(self) -> None:
        """Remove the file; one that does not exist is no error."""
        self._release()
        self._fs.unlink(self.path)

    def _learn_last_entry(self) -> None:
        """Take note of the last entry, after a change or as soon as there are entries; `_data` may be None."""

    def _read(self) -> IndexData:
        """Return the entries for reading: in memory if the segment is active, else mapped."""
        if self._data is None:
            self._load()
        assert self._data is not None
        return self._data

    def _change(self) -> bytearray:
        """Return the entries for changing, in memory."""
        data = self._data
        if not isinstance(data, bytearray):
            self._release()
            content = self._map()
            data = bytearray(content[: self._count_entries(content) * self.ENTRY.size])
            self._hold(data, len(content))
            _unmap(content)
        return data

    def _load(self) -> None:
        if self.active:
            self._change()
        else:
            self._data = content = self._map()
            self._count = self._count_entries(content)
            self._learn_last_entry()

    def _map(self) -> MappedFile:
        try:
            content = self._fs.map_readonly(self.path)
        except FileNotFoundError:
            raise CorruptFile(self.path, "the index file is missing") from None
        if len(content) > MAX_INDEX_BYTES:
            _unmap(content)
            raise CorruptFile(self.path, f"{len(content)} bytes are more than an index can have")
        return content

    def _hold(self, data: bytearray, file_size: int) -> None:
        self._data = data
        self._count = len(data) // self.ENTRY.size
        self._written = min(len(data), file_size)
        self._stale_tail = file_size > len(data)
        self._learn_last_entry()

    def _release(self) -> None:
        data, self._data = self._data, None
        self._count = 0
        if not isinstance(data, bytearray | None):
            _unmap(data)
        self._learn_last_entry()

    def _is_pending(self) -> bool:
        data = self._data
        return isinstance(data, bytearray) and (self._stale_tail or self._written < len(data))

    def _write_to(self, file: OpenFile) -> None:
        data = self._data
        if not isinstance(data, bytearray):
            return
        if self._stale_tail:
            file.truncate(self._written)
            self._stale_tail = False
        if self._written < len(data):
            self._stale_tail = True  # a write that fails may leave a part of itself
            file.pwrite(data[self._written :], self._written)
            self._written = len(data)
            self._stale_tail = False

    def _keep_entries(self, count: int) -> None:
        """Remove all entries but the first `count`."""
        data = self._change()
        del data[count * self.ENTRY.size :]
        self._count = count
        if self._written > len(data):
            self._written = len(data)
            self._stale_tail = True
        self._learn_last_entry()

    def _count_entries(self, content: MappedFile) -> int:
        """Return how many entries stand before a tail of zeros, if there is one, and a last incomplete entry.

        A file of exactly one entry is not preallocated (those are larger), so that entry counts even if it is all zero.
        """
        size = self.ENTRY.size
        if len(content) == size:
            return 1
        end = len(content)
        while end:
            start = max(0, end - _ZERO_SCAN_BYTES)
            used = len(content[start:end].rstrip(b"\0"))
            if used:
                return min(-(-(start + used) // size), len(content) // size)
            end = start
        return 0

    def _check(self, check_entries: Callable[[IndexData, Sequence[int]], None], thorough: bool) -> None:
        """Check the size of the file, and the entries in all slots or in a few of them, ascending.

        A file that was only opened for this is released again.
        """
        was_open = self._data is not None
        if not was_open:
            content = self._map()
            remainder = len(content) % self.ENTRY.size
            _unmap(content)
            if remainder:
                raise CorruptFile(self.path, f"the size is not a multiple of {self.ENTRY.size}")
        data = self._read()
        try:
            if self._count:
                check_entries(data, self._choose_slots(thorough))
        finally:
            if not was_open:
                self._release()

    def _choose_slots(self, thorough: bool) -> Sequence[int]:
        if thorough or self._count <= _SAMPLES:
            return range(self._count)
        last = self._count - 1
        return [last * sample // _SAMPLES for sample in range(_SAMPLES + 1)]


def last_at_most(
    data: IndexData, count: int, size: int, unpack: Callable[[IndexData, int], tuple[int]], target: int
) -> int:
    """Return the slot of the last entry whose key is at most `target`, or -1 if there is none.

    `unpack(data, position)` reads the key. A loop beats `bisect` with a key function here, by a third.
    """
    low = 0
    while low < count:
        middle = (low + count) >> 1
        if unpack(data, middle * size)[0] <= target:
            low = middle + 1
        else:
            count = middle
    return low - 1


def _unmap(content: MappedFile) -> None:
    if isinstance(content, mmap):
        content.close()
