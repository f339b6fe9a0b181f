"""Reading a segment file from its start and checking every batch: what recovery trusts after a crash.

Owns the checks and the one loop of a start that must be fast: after a kill it sees every batch that was not flushed.
Reads large pieces into one buffer and checks batches in place; knows nothing of indexes or producers. Follows Kafka's
log behaviour, start-up load and recovery (`LogSegment.recover`).
"""

import zlib
from collections.abc import Iterator

from odradek.protocol.records.batch import (
    ATTRIBUTES_AT,
    CURRENT_MAGIC,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_AT,
    MIN_ENTRY_LENGTH,
    BatchHeader,
)
from odradek.protocol.records.checksum import crc32c
from odradek.storage.files import OpenFile
from odradek.storage.segment.batch_headers import header_at

MAX_RELATIVE_OFFSET = 0x7FFF_FFFF
"""The furthest an offset may lie from the base of its segment, since indexes keep the distance as an int32."""
_READ_BYTES = 1 << 20
"""Bytes read at a time: large enough to make system calls rare, small enough to stay in the processor's cache."""
_V1_MIN_SIZE = LOG_OVERHEAD + 22

ScannedBatch = tuple[int, int, int, tuple[int, ...]]
"""Position, size and last offset of a good batch, and its header fields in the order of `BatchHeader`."""


class ScanBuffer:
    """The memory that segments are read into, kept from one segment to the next. Not for two threads at a time."""

    __slots__ = ("data", "room", "view")

    def __init__(self) -> None:
        self.reserve(_READ_BYTES)

    def reserve(self, size: int) -> None:
        """Make room for `size` bytes."""
        self.room = size
        # An old entry can be shorter than the header that is unpacked there; it may be the last in the buffer.
        self.data = bytearray(size + HEADER_SIZE)
        self.view = memoryview(self.data)


class SegmentScan:
    """One pass over the batches of a segment file: iterate to the end, then look at what was found."""

    __slots__ = ("_buffer", "_end", "_file", "_last_offset", "next_offset", "problem", "valid_bytes")

    def __init__(self, file: OpenFile, base_offset: int, buffer: ScanBuffer, end_offset: int | None = None) -> None:
        """Scan a segment that begins at `base_offset`; another one begins at `end_offset`, if that is known."""
        self._file = file
        furthest = base_offset + MAX_RELATIVE_OFFSET
        self._last_offset = furthest if end_offset is None else min(furthest, end_offset - 1)
        self._buffer = buffer
        self._end = file.size()
        self.valid_bytes = 0
        """Bytes from the start of the file that are whole, undamaged batches in order."""
        self.next_offset = base_offset
        """First offset after the last good batch."""
        self.problem = ""
        """What is wrong with the bytes after `valid_bytes`; empty if there are none."""

    def __iter__(self) -> Iterator[ScannedBatch]:
        end, buffer = self._end, self._buffer
        limit = self._last_offset
        position = 0
        needed = HEADER_SIZE
        while position < end:
            filled = self._fill(position, needed)
            data, view = buffer.data, buffer.view
            if filled < min(needed, end - position):
                self.problem = "the file became shorter while it was read"
                return
            # A header that may be cut off by the end of the buffer is left for the next piece.
            whole_headers = filled if position + filled == end else filled - HEADER_SIZE + 1
            at, needed = 0, HEADER_SIZE
            while at < whole_headers:
                fields = HEADER.unpack_from(data, at)
                base_offset, length, magic = fields[0], fields[1], fields[3]
                size = length + LOG_OVERHEAD
                if length < MIN_ENTRY_LENGTH or size > end - position or not 0 <= magic <= CURRENT_MAGIC:
                    self.problem = f"no whole batch at byte {position}: size field {length}, magic {magic}"
                    return
                if at + size > filled:
                    needed = size
                    break
                if magic == CURRENT_MAGIC:
                    intact = size >= HEADER_SIZE and crc32c(view[at + ATTRIBUTES_AT : at + size], 0) == fields[4]
                    last_offset = base_offset + fields[6]
                else:
                    fields = header_at(view, at)
                    intact = _old_entry_is_intact(view[at : at + size], fields)
                    last_offset = base_offset
                if not intact:
                    self.problem = f"the checksum of the batch at byte {position} (offset {base_offset}) is wrong"
                    return
                if not base_offset <= last_offset <= limit or (
                    base_offset != self.next_offset
                    and (base_offset < self.next_offset or self._goes_back(position + size, last_offset))
                ):
                    self.problem = f"the batch at byte {position} has offset {base_offset}, not {self.next_offset}"
                    return
                yield position, size, last_offset, fields
                at += size
                position += size
                self.valid_bytes = position
                self.next_offset = last_offset + 1

    def _goes_back(self, position: int, last_offset: int) -> bool:
        """Return whether the batch at `position` comes before an offset that a gap has led to.

        The checksum does not cover the offset of a batch. Compaction leaves gaps, but what leaps ahead of all that
        follows has a damaged offset.
        """
        following = self._file.pread(8, position)
        return len(following) == 8 and int.from_bytes(following, "big", signed=True) <= last_offset

    def _fill(self, position: int, needed: int) -> int:
        """Read the file from `position` on into the start of the buffer; return the number of bytes there."""
        buffer = self._buffer
        if needed > buffer.room:
            buffer.reserve(needed)
        return self._file.readinto(buffer.view[: min(buffer.room, self._end - position)], position)


def _old_entry_is_intact(entry: memoryview, header: BatchHeader) -> bool:
    if header.magic == 1 and len(entry) < _V1_MIN_SIZE:
        return False
    return zlib.crc32(entry[MAGIC_AT:]) == header.crc
