"""The newest batches of the metadata log, in memory for those who follow it.

Observers stand at the end of the log nearly always, and what was written last is what all of them ask for next: it is
kept here, and no file is read and no lock waited for. Must not know: files, requests.
"""

from bisect import bisect_right
from struct import Struct
from typing import Final

MOST_BYTES: Final = 1024 * 1024
MOST_BATCHES: Final = 1024
_BASE_OFFSET = Struct(">q")
_LAST_OFFSET_DELTA = Struct(">i")
_LAST_OFFSET_DELTA_AT: Final = 23


class CommittedBatches:
    """A row of batches without a gap, the oldest of which go when they are too many."""

    def __init__(self, end_offset: int, most_bytes: int = MOST_BYTES, most_batches: int = MOST_BATCHES) -> None:
        """`end_offset` is where the next batch begins."""
        self._bases: list[int] = []
        self._batches: list[bytearray] = []
        self._size = 0
        self.end_offset = end_offset
        """Where the newest batch ends."""
        self._most_bytes = most_bytes
        self._most_batches = most_batches

    def add(self, batch: bytearray) -> None:
        """Take the next batch, as it stands in the log."""
        (base,) = _BASE_OFFSET.unpack_from(batch)
        (delta,) = _LAST_OFFSET_DELTA.unpack_from(batch, _LAST_OFFSET_DELTA_AT)
        assert base == self.end_offset, "a batch does not follow the one before"
        self._bases.append(base)
        self._batches.append(batch)
        self._size += len(batch)
        self.end_offset = base + delta + 1
        if self._size > self._most_bytes or len(self._batches) > self._most_batches:
            self._drop_half()

    def read(self, offset: int, max_bytes: int) -> bytes | None:
        """Return whole batches from the one with `offset` on, one at least, nothing at the end.

        None where they are not here any more.
        """
        if offset == self.end_offset:
            return b""
        first = bisect_right(self._bases, offset) - 1
        if first < 0 or offset > self.end_offset:
            return None
        size = len(self._batches[first])
        last = first + 1
        while last < len(self._batches) and size + len(self._batches[last]) <= max_bytes:
            size += len(self._batches[last])
            last += 1
        return b"".join(self._batches[first:last])

    def _drop_half(self) -> None:
        dropped = 0
        while self._batches[dropped:] and (
            self._size > self._most_bytes // 2 or len(self._batches) - dropped > self._most_batches // 2
        ):
            self._size -= len(self._batches[dropped])
            dropped += 1
        del self._bases[:dropped], self._batches[:dropped]
