"""Reading a segment file from its start and checking every batch: what recovery trusts after a crash.

Owns what a batch must be to be believed: its checksum is right, and its offsets follow those before it. Knows nothing
of indexes or producers. Follows Kafka's log behaviour, start-up load and recovery (`LogSegment.recover`).
"""

from collections.abc import Iterator

from odradek.protocol.records.batch import LOG_OVERHEAD
from odradek.storage.files import OpenFile
from odradek.storage.segment.entry_walk import Ending, EntryWalk, Fields
from odradek.storage.segment.segment_index import MAX_RELATIVE_OFFSET

ScannedBatch = tuple[int, int, int, Fields]
"""Position, size and last offset of a good batch, and its header fields in the order of `BatchHeader`."""


class SegmentScan:
    """One pass over the batches of a segment file: iterate to the end, then look at what was found."""

    __slots__ = ("_buffer", "_end", "_file", "_last_offset", "next_offset", "problem", "valid_bytes")

    def __init__(
        self, file: OpenFile, base_offset: int, buffer: bytearray | None = None, end_offset: int | None = None
    ) -> None:
        """Scan a segment that begins at `base_offset`; another one begins at `end_offset`, if that is known.

        `buffer` is as for `EntryWalk`.
        """
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
        limit = self._last_offset
        walk = EntryWalk(self._file, self._end, buffer=self._buffer)
        for position, fields, is_intact in walk:
            base_offset, size = fields[0], fields[1] + LOG_OVERHEAD
            if not is_intact:
                self.problem = f"the checksum of the batch at byte {position} (offset {base_offset}) is wrong"
                return
            last_offset = base_offset + fields[6]
            if not base_offset <= last_offset <= limit or (
                base_offset != self.next_offset
                and (base_offset < self.next_offset or self._goes_back(position + size, last_offset))
            ):
                self.problem = f"the batch at byte {position} has offset {base_offset}, not {self.next_offset}"
                return
            yield position, size, last_offset, fields
            self.valid_bytes = position + size
            self.next_offset = last_offset + 1
        if walk.ending is not Ending.END:
            self.problem = f"no whole batch at byte {walk.position}: {walk.reason}"

    def _goes_back(self, position: int, last_offset: int) -> bool:
        """Return whether the batch at `position` comes before an offset that a gap has led to.

        The checksum does not cover the offset of a batch. Compaction leaves gaps, but what leaps ahead of all that
        follows has a damaged offset.
        """
        following = self._file.pread(8, position)
        return len(following) == 8 and int.from_bytes(following, "big", signed=True) <= last_offset
