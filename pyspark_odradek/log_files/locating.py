"""From offsets and times to byte positions of a segment, by its sparse indexes.

An index is a hint: one that is missing or damaged only means that more is read, and a place that it names is looked at
before it is believed. Follows Kafka's storage format, "Offset index and time index".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Final, NamedTuple

from odradek.protocol.records.batch import CURRENT_MAGIC, LOG_OVERHEAD, MIN_ENTRY_LENGTH, BatchHeader
from odradek.protocol.records.errors import CorruptRecord
from odradek.protocol.records.reading import iter_entry_records
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.names import OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX
from odradek.storage.segment.batch_headers import EXTENT, walk_headers
from odradek.storage.segment.offset_index import OffsetIndex
from odradek.storage.segment.time_index import TimeIndex
from pyspark_odradek.log_files.files import PartitionFiles, SegmentFile, segment_path

MAX_BATCH_BYTES: Final = 512 * 1024 * 1024
"""A batch that says it is larger is damaged: no memory is given to it."""
_NO_LIMIT: Final = 0


class Extent(NamedTuple):
    """Bytes of a segment that hold some offsets: [start, end); both are where a batch begins, or the segment ends."""

    start: int
    end: int


class Locator:
    """The indexes of one segment."""

    def __init__(self, fs: FileSystem, files: PartitionFiles, segment: SegmentFile) -> None:
        """Open the segment; its indexes are read when they are needed. Raises OSError where it cannot be opened."""
        self._fs = fs
        self._directory = files.directory
        self._segment = segment
        self._file = fs.open(segment_path(files.directory, segment.base_offset), writable=False)

    @cached_property
    def _offsets(self) -> OffsetIndex | None:
        base = self._segment.base_offset
        index = OffsetIndex(self._fs, segment_path(self._directory, base, OFFSET_INDEX_SUFFIX), base, _NO_LIMIT)
        with suppress(CorruptFile, OSError):
            index.sanity_check(self._segment.size)
            return index
        return None

    @cached_property
    def _times(self) -> TimeIndex | None:
        base = self._segment.base_offset
        index = TimeIndex(self._fs, segment_path(self._directory, base, TIME_INDEX_SUFFIX), base, _NO_LIMIT)
        with suppress(CorruptFile, OSError):
            index.sanity_check()
            return index
        return None

    def first_offset_since(self, timestamp_ms: int) -> int | None:
        """Return an offset before which no record has that timestamp or a later one; None if none in the segment has.

        Timestamps below 0 stand for none at all, of which an index knows nothing.
        """
        if timestamp_ms < 0 or self._times is None:
            return self._segment.base_offset
        latest, _ = self._times.last_entry
        if latest < timestamp_ms and not self._segment.is_last and latest >= 0:
            return None  # when a segment is closed its largest timestamp is noted
        return self._times.lookup(timestamp_ms)[1]

    def start_of(self, offset: int) -> int:
        """Return the position of a batch that has the offset, or comes before it."""
        if offset <= self._segment.base_offset or self._offsets is None:
            return 0
        entry = self._offsets.lookup(offset)
        return entry[1] if self._is_batch(*entry) else 0

    def extent(self, first: int, until: int | None) -> Extent:
        """Return the bytes with the offsets [first, until), and perhaps some more at both ends; None: to the end."""
        start, size = self.start_of(first), self._segment.size
        if until is None or self._offsets is None:
            return Extent(start, size)
        # The first entry that reaches the last wanted offset ends an append; the one after it starts behind that.
        reaching = self._following(self._offsets.lookup(max(until - 2, self._segment.base_offset))[1])
        after = None if reaching is None else self._following(reaching[1])
        end = size if after is None or not self._is_batch(*after) else after[1]
        return Extent(min(start, end), end)

    def cuts(self, extent: Extent, size: int) -> Iterator[int]:
        """Yield positions that cut an extent into pieces of about `size` bytes, as far as the index knows any."""
        position = extent.start
        while extent.end - position > size and self._offsets is not None:
            entry = self._following(position + size - 1)
            if entry is None or entry[1] >= extent.end or not self._is_batch(*entry):
                return
            position = entry[1]
            yield position

    def offset_of_time(self, timestamp_ms: int, start_offset: int) -> int | None:
        """Return the offset of the first record that is not earlier, as ListOffsets does (KIP-79).

        Raises KafkaError where a batch on the way is damaged.
        """
        first = self.first_offset_since(timestamp_ms)
        if first is None:
            return None
        start = self.start_of(max(first, start_offset))
        for position, header in walk_headers(self._file, start, self._segment.size):
            if header.max_timestamp < timestamp_ms or (header.magic == CURRENT_MAGIC and header.is_control):
                continue
            for record in iter_entry_records(read_batch(self._file, position, header)):
                if record.timestamp >= timestamp_ms and record.offset >= start_offset:
                    return record.offset
        return None

    def _following(self, position: int) -> tuple[int, int] | None:
        """Return (offset, position) of the first entry whose position is larger."""
        assert self._offsets is not None
        offset = self._offsets.offset_at_or_after(position + 1)
        return None if offset is None else self._offsets.lookup(offset)

    def _is_batch(self, offset: int, position: int) -> bool:
        """Return whether a batch begins there that has that offset, or comes before it."""
        return is_batch(self._file, position, self._segment.size, offset)


def read_batch(file: OpenFile, position: int, header: BatchHeader, limit: int = MAX_BATCH_BYTES) -> bytes:
    """Return the bytes of a batch. Raises CorruptRecord where it says it has more than `limit`, before any are read."""
    if header.size > limit:
        raise CorruptRecord(f"The batch at byte {position} says it has {header.size} bytes, more than {limit}")
    return file.pread(header.size, position)


def is_batch(file: OpenFile, position: int, size: int, offset: int) -> bool:
    """Return whether something that can be a batch begins at a position, with an offset not above the given one."""
    head = file.pread(EXTENT.size, position)
    if len(head) < EXTENT.size:
        return False
    base_offset, length, magic, _ = EXTENT.unpack(head)
    fits: bool = MIN_ENTRY_LENGTH <= length <= size - position - LOG_OVERHEAD and 0 <= magic <= CURRENT_MAGIC
    return fits and bool(base_offset <= offset)
