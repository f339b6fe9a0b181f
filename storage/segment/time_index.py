"""The time index of a segment: from a timestamp to an offset at or before the first record that is later.

An entry is 12 bytes: int64 timestamp in ms, int32 offset minus base offset. It says that every record with a larger
timestamp comes after that offset. Timestamps ascend, offsets do not descend. Records without timestamps leave no entry.
Follows Kafka's storage format, "Offset index and time index" (`TimeIndex`, KIP-33).
"""

from collections.abc import Sequence
from struct import Struct
from typing import ClassVar

from odradek.storage.errors import CorruptFile, InvalidOffset
from odradek.storage.segment.index_file import NOT_KNOWN, IndexData, last_at_most
from odradek.storage.segment.segment_index import SegmentIndex

NO_TIMESTAMP = -1

_ENTRY = Struct(">qi")
_SIZE = _ENTRY.size
_unpack_entry = _ENTRY.unpack_from
_unpack_timestamp = Struct(">q").unpack_from
_OFFSET = Struct(">8xi")
_unpack_offset = _OFFSET.unpack_from


class TimeIndex(SegmentIndex):
    """The `.timeindex` file of one segment."""

    ENTRY: ClassVar[Struct] = _ENTRY
    OFFSET: ClassVar[Struct] = _OFFSET

    __slots__ = ("_last_offset", "_last_timestamp")

    _last_offset: int
    _last_timestamp: int

    @property
    def is_full(self) -> bool:
        """Whether the segment must be rolled before an entry is added; one slot is spared for the entry at the roll."""
        if self._data is None:
            self._read()
        return self._count >= self.max_bytes // _SIZE - 1

    @property
    def last_entry(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry, (-1, base offset) if there is none."""
        self._read()
        return self._last_timestamp, self._last_offset

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """Return (timestamp, offset) of the last entry that is not later than `timestamp`, else (-1, base offset).

        The first record that is not earlier than `timestamp` comes at that offset or after it, if the entry's timestamp
        is `timestamp`; else after it.
        """
        if timestamp >= self._last_timestamp:
            return self._last_timestamp, self._last_offset
        data = self._read()
        slot = last_at_most(data, self._count, _SIZE, _unpack_timestamp, timestamp)
        if slot < 0:
            return NO_TIMESTAMP, self.base_offset
        found, relative = _unpack_entry(data, slot * _SIZE)
        return found, self.base_offset + relative

    def append(self, timestamp: int, offset: int) -> None:
        """Note that `timestamp` is the largest one so far, and `offset` the last offset of the first batch that has it.

        Nothing happens where the timestamp is the last entry's, or none (-1). Raises InvalidOffset where timestamp or
        offset are smaller than the last entry's, or the offset does not fit the segment.
        """
        data = self._change()
        if data and (offset < self._last_offset or timestamp < self._last_timestamp):
            raise InvalidOffset(
                f"{self.path}: timestamp {timestamp} at offset {offset} does not follow the last entry "
                f"({self._last_timestamp} at {self._last_offset})"
            )
        if timestamp > self._last_timestamp:
            data += _ENTRY.pack(timestamp, self._relative(offset))
            self._count += 1
            self._last_timestamp = timestamp
            self._last_offset = offset

    def sanity_check(self, thorough: bool = False) -> None:
        """Raise CorruptFile if the entries cannot be right.

        Looks at the first and the last entry and a few between them; at every entry if `thorough` (5 ms per MB).
        """
        self._check(self._check_entries, thorough)

    def _check_entries(self, data: IndexData, slots: Sequence[int]) -> None:
        last_timestamp, last_relative = NO_TIMESTAMP, 0
        for slot in slots:
            timestamp, relative = _unpack_entry(data, slot * _SIZE)
            if timestamp <= last_timestamp or relative < last_relative:
                raise CorruptFile(self.path, f"entry {slot} ({timestamp}, {relative}) does not ascend")
            last_timestamp, last_relative = timestamp, relative

    def _learn_last_entry(self) -> None:
        if self._data is None:
            self._last_timestamp, self._last_offset = NOT_KNOWN, self.base_offset
        elif not self._count:
            self._last_timestamp, self._last_offset = NO_TIMESTAMP, self.base_offset
        else:
            self._last_timestamp, relative = _unpack_entry(self._data, (self._count - 1) * _SIZE)
            self._last_offset = self.base_offset + relative
