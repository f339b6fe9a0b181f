"""What offset index and time index have in common: a limit to their size, and entries that end at an offset.

Both are full at `segment.index.bytes`, whereupon the segment is rolled, and both are cut together with the data.
Follows Kafka's storage format, "Offset index and time index" (`AbstractIndex`).
"""

from struct import Struct
from typing import ClassVar

from odradek.storage.errors import InvalidOffset
from odradek.storage.files import FileSystem
from odradek.storage.segment.index_file import IndexFile, last_at_most

MAX_RELATIVE_OFFSET = 0x7FFF_FFFF
"""Offsets are kept as an int32 that counts from the base offset of the segment."""


class SegmentIndex(IndexFile):
    """An index with relative offsets; subclasses say where in an entry the offset is, and what else is there."""

    OFFSET: ClassVar[Struct]
    """Reads the offset, relative to the base offset, at the start of an entry."""

    __slots__ = ("max_bytes",)

    def __init__(self, fs: FileSystem, path: str, base_offset: int, max_bytes: int, active: bool = False) -> None:
        """Refer to an index file, without touching it; `reset` makes a new one.

        `max_bytes` is the topic's `segment.index.bytes` and only decides when the index is full.
        """
        super().__init__(fs, path, base_offset, active)
        self.max_bytes = max_bytes

    def truncate_to(self, offset: int) -> None:
        """Remove the entries with offsets from `offset` on; the entries are in memory afterwards."""
        data = self._change()
        relative = offset - self.base_offset - 1
        self._keep_entries(last_at_most(data, self._count, self.ENTRY.size, self.OFFSET.unpack_from, relative) + 1)

    def _relative(self, offset: int) -> int:
        relative = offset - self.base_offset
        if not 0 <= relative <= MAX_RELATIVE_OFFSET:
            raise InvalidOffset(f"{self.path}: offset {offset} is not within 2^31 of the base offset")
        return relative
