"""Walking over the entries of a file of batches, with their checksums: what recovery, dump, verify and stat stand on.

A walk goes on behind a wrong checksum, and takes no more memory for a batch of any size. It ends where no entry can be,
and says why. Whoever looks at whole headers only, and at few of them, reads less with `batch_headers`. Follows Kafka's
storage format, "Reading a .log safely".
"""

import zlib
from collections.abc import Callable, Iterator
from enum import StrEnum

from odradek.protocol.records.batch import (
    ATTRIBUTES_AT,
    CURRENT_MAGIC,
    HEADER,
    HEADER_SIZE,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_AT,
    MIN_ENTRY_LENGTH,
)
from odradek.protocol.records.checksum import Checksum, crc32c
from odradek.storage.files import OpenFile
from odradek.storage.segment.batch_headers import header_at

READ_BYTES = 1 << 20
"""Bytes read at a time: large enough to make system calls rare, small enough to stay in the processor's cache."""
_MIN_V1_SIZE = LOG_OVERHEAD + 22
_MIN_V2_LENGTH = HEADER_SIZE - LOG_OVERHEAD

Fields = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
"""The header fields of an entry, in the order of `BatchHeader`."""
Entry = tuple[int, Fields, bool]
"""Position in the file, header fields, whether the checksum is right (true where it was not asked for)."""
Progress = Callable[[int], None]
"""Is told now and then how many bytes more have been gone over."""


class Ending(StrEnum):
    """Why a walk went no further."""

    END = "end"
    """All bytes are whole entries."""
    CUT = "cut"
    """What is left is shorter than the entry that begins there says it is: half written, or a damaged size."""
    ZEROS = "zeros"
    """Nothing but zeros is left: space that was allocated ahead, or never reached the disk."""
    GARBAGE = "garbage"
    """No entry can begin with the bytes that follow."""


def read_buffer(size: int = READ_BYTES) -> bytearray:
    """Return the memory for a walk that reads `size` bytes at a time, to be kept from one walk to the next."""
    # An old entry can be shorter than the header that is unpacked there; it may be the last in the buffer.
    return bytearray(size + HEADER_SIZE)


class EntryWalk:
    """One pass over the entries from `start` to `end`: iterate to its end, then look at where and why that was.

    Without `checked` the checksums are not computed, and large batches not read. A `buffer` that is passed in serves
    one walk at a time.
    """

    __slots__ = ("_buffer", "_checked", "_file", "_on_bytes", "_view", "end", "ending", "position", "reason")

    def __init__(
        self,
        file: OpenFile,
        end: int,
        start: int = 0,
        checked: bool = True,
        on_bytes: Progress | None = None,
        buffer: bytearray | None = None,
    ) -> None:
        self._file = file
        self._checked = checked
        self._on_bytes = on_bytes
        self._buffer = buffer or read_buffer(READ_BYTES if checked else READ_BYTES >> 4)
        self._view = memoryview(self._buffer)
        self.end = end
        self.position = start
        """Where the last whole entry ended."""
        self.ending = Ending.END
        self.reason = ""
        """What stands at `position`, in words, if that is not the end."""

    def __iter__(self) -> Iterator[Entry]:
        data, view, end, checked = self._buffer, self._view, self.end, self._checked
        position, unpack, crc = self.position, HEADER.unpack_from, crc32c
        room = len(data) - HEADER_SIZE
        while position < end:
            start = position
            filled = self._fill(position)
            headers_end = filled if position + filled >= end else filled - HEADER_SIZE + 1
            at = 0
            while at < headers_end:
                fields: Fields = unpack(data, at)
                length, magic = fields[1], fields[3]
                size = length + LOG_OVERHEAD
                if size > end - position or length < _MIN_V2_LENGTH or magic != CURRENT_MAGIC:
                    if size > end - position or length < MIN_ENTRY_LENGTH or magic not in (0, 1):
                        self._stop(position, length, magic, end - position)
                        return
                    fields = header_at(view, at)
                valid = True
                if checked:
                    if at + size <= filled:
                        if magic == CURRENT_MAGIC:
                            valid = crc(view[at + ATTRIBUTES_AT : at + size], 0) == fields[4]
                        else:
                            valid = _old_is_valid(size, zlib.crc32(view[at + MAGIC_AT : at + size]), fields)
                    elif at or size <= room:
                        break  # the next piece begins with this entry, if the file still has it
                    else:
                        valid = self._large_is_valid(position, size, fields)
                        headers_end = 0  # the buffer holds something else now
                position += size
                self.position = position
                yield position - size, fields, valid
                at += size
            if position == start:
                self.ending, self.reason = Ending.CUT, "the file became shorter while it was read"
                return
            if self._on_bytes is not None:
                self._on_bytes(position - start)

    def _fill(self, position: int) -> int:
        """Read on from `position` into the start of the buffer; return how many bytes are there."""
        room = len(self._view) - HEADER_SIZE
        filled = self._file.readinto(self._view[: min(room, self.end - position)], position)
        self._view[filled : filled + HEADER_SIZE] = bytes(HEADER_SIZE)
        return filled

    def _large_is_valid(self, position: int, size: int, fields: Fields) -> bool:
        """Return whether the checksum of an entry larger than the buffer is right; overwrites the buffer."""
        is_old = fields[3] != CURRENT_MAGIC
        function: Checksum = zlib.crc32 if is_old else crc32c
        at, end = position + (MAGIC_AT if is_old else ATTRIBUTES_AT), position + size
        value = 0
        while at < end:
            filled = self._file.readinto(self._view[: min(len(self._view), end - at)], at)
            if not filled:
                return False
            value = function(self._view[:filled], value)
            at += filled
        return _old_is_valid(size, value, fields) if is_old else value == fields[4]

    def _stop(self, position: int, length: int, magic: int, left: int) -> None:
        """Say why no entry is at `position`."""
        if self._is_zero(position):
            self.ending, self.reason = Ending.ZEROS, f"nothing but zeros, to the end of the file ({left} bytes)"
        elif left <= HEADER_SIZE_UP_TO_MAGIC:
            self.ending, self.reason = Ending.CUT, f"{left} bytes are left, less than the start of a batch"
        elif length < (_MIN_V2_LENGTH if magic == CURRENT_MAGIC else MIN_ENTRY_LENGTH):
            self.ending, self.reason = Ending.GARBAGE, f"no batch can start here: its size field says {length}"
        elif not 0 <= magic <= CURRENT_MAGIC:
            self.ending, self.reason = Ending.GARBAGE, f"no batch can start here: magic {magic}, known are 0 to 2"
        else:
            self.ending = Ending.CUT
            self.reason = f"the batch says it has {length + LOG_OVERHEAD} bytes, but {left} are left"

    def _is_zero(self, position: int) -> bool:
        while position < self.end:
            filled = self._file.readinto(self._view[: min(len(self._view), self.end - position)], position)
            if not filled or self._buffer[:filled] != bytes(filled):
                return False
            position += filled
        return True


def _old_is_valid(size: int, computed: int, fields: Fields) -> bool:
    return computed == fields[4] and (fields[3] == 0 or size >= _MIN_V1_SIZE)
