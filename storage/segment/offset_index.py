"""The offset index of a segment: from an offset to a place in the log file at or before its batch.

An entry is 8 bytes: int32 offset minus base offset, int32 position. It says that the append that ended at that offset
starts at that position. Offsets and positions both ascend. Follows Kafka's storage format, "Offset index and time
index" (`OffsetIndex`).
"""

from collections.abc import Sequence
from struct import Struct
from typing import ClassVar

from odradek.storage.errors import CorruptFile, InvalidOffset
from odradek.storage.segment.index_file import NOT_KNOWN, IndexData, last_at_most
from odradek.storage.segment.segment_index import SegmentIndex

_ENTRY = Struct(">ii")
_SIZE = _ENTRY.size
_unpack_entry = _ENTRY.unpack_from
_OFFSET = Struct(">i")
_unpack_offset = _OFFSET.unpack_from
_unpack_position = Struct(">4xi").unpack_from


class OffsetIndex(SegmentIndex):
    """The `.index` file of one segment."""

    ENTRY: ClassVar[Struct] = _ENTRY
    OFFSET: ClassVar[Struct] = _OFFSET

    __slots__ = ("_last_offset", "_last_position")

    _last_offset: int
    _last_position: int

    @property
    def is_full(self) -> bool:
        """Whether the segment must be rolled before an entry is added."""
        if self._data is None:
            self._read()
        return self._count >= self.max_bytes // _SIZE

    @property
    def last_entry(self) -> tuple[int, int]:
        """(offset, position) of the last entry, (base offset, 0) if there is none."""
        self._read()
        return self._last_offset, self._last_position

    def lookup(self, target: int) -> tuple[int, int]:
        """Return (offset, position) of the last entry whose offset is at most `target`, else (base offset, 0).

        The batch that has `target` starts at that position or after it.
        """
        if target >= self._last_offset:
            return self._last_offset, self._last_position
        data = self._read()
        slot = last_at_most(data, self._count, _SIZE, _unpack_offset, target - self.base_offset)
        if slot < 0:
            return self.base_offset, 0
        relative, position = _unpack_entry(data, slot * _SIZE)
        return self.base_offset + relative, position

    def offset_at_or_after(self, position: int) -> int | None:
        """Return the offset of the first entry whose position is at least `position`, or None if there is none.

        Bounds from above the offsets that a read ending at `position` can return.
        """
        data = self._read()
        slot = last_at_most(data, self._count, _SIZE, _unpack_position, position - 1) + 1
        return None if slot == self._count else self.base_offset + _unpack_offset(data, slot * _SIZE)[0]

    def append(self, offset: int, position: int) -> None:
        """Note that the append that ended at `offset` starts at `position` in the log file.

        Raises InvalidOffset where `offset` does not follow the last entry's, or does not fit the segment.
        """
        data = self._change()
        if data and offset <= self._last_offset:
            raise InvalidOffset(f"{self.path}: offset {offset} does not follow the last entry's ({self._last_offset})")
        data += _ENTRY.pack(self._relative(offset), position)
        self._count += 1
        self._last_offset = offset
        self._last_position = position

    def sanity_check(self, log_size: int, thorough: bool = False) -> None:
        """Raise CorruptFile if this cannot be the index of a log file of `log_size` bytes.

        Looks at the first and the last entry and a few between them; at every entry if `thorough` (5 ms per MB).
        """

        def check(data: IndexData, slots: Sequence[int]) -> None:
            last_relative = last_position = -1
            for slot in slots:
                relative, position = _unpack_entry(data, slot * _SIZE)
                if relative <= last_relative or position <= last_position:
                    raise CorruptFile(self.path, f"entry {slot} ({relative}, {position}) does not ascend")
                last_relative, last_position = relative, position
            if last_position >= log_size:
                raise CorruptFile(self.path, f"position {last_position} is beyond the end of the log ({log_size})")

        self._check(check, thorough)

    def _learn_last_entry(self) -> None:
        if self._data is None:
            self._last_offset, self._last_position = NOT_KNOWN, 0
        elif not self._count:
            self._last_offset, self._last_position = self.base_offset, 0
        else:
            relative, self._last_position = _unpack_entry(self._data, (self._count - 1) * _SIZE)
            self._last_offset = self.base_offset + relative
