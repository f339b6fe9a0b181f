"""Whether the indexes of a segment can be right, and making them anew from the batch headers where they cannot.

Of a sealed segment both are done aside, in files of their own, so that it can happen on any thread: a segment of a
gigabyte takes seconds to look through where it is not in memory. Whoever owns the segment puts the new files in place.
Must not know: segments and logs. Follows Kafka's storage format, offset index and time index (`LogSegment.recover`).
"""

from collections.abc import Iterable
from contextlib import suppress
from threading import Lock
from typing import NamedTuple

from odradek.protocol.records.batch import NO_TIMESTAMP, BatchHeader
from odradek.protocol.records.errors import CorruptRecord
from odradek.storage.errors import CorruptFile
from odradek.storage.files import TEMPORARY_SUFFIX, FileSystem, OpenFile
from odradek.storage.segment.batch_headers import Tail, walk_headers, walk_tail
from odradek.storage.segment.offset_index import OffsetIndex
from odradek.storage.segment.time_index import TimeIndex

_INDEXED_SURELY = 1 << 20
"""A sealed segment of this size without any index entry has lost its index."""


class OffsetAndTimeIndex(NamedTuple):
    """The two indexes of a segment that every batch may get an entry in."""

    offsets: OffsetIndex
    times: TimeIndex


class Indexed(NamedTuple):
    """What a pass over all batch headers came to."""

    unindexed_bytes: int
    """Bytes after the start of the last batch that has an entry."""
    max_timestamp: int
    max_timestamp_offset: int


def indexes_problem(fs: FileSystem, indexes: OffsetAndTimeIndex, file: OpenFile, size: int) -> str:
    """Return why these cannot be the indexes of a data file of `size` bytes, empty if they can.

    Looks at a few entries and at the last batches. Raises OSError.
    """
    offsets, times = indexes
    try:
        for index in indexes:
            if fs.size(index.path) != index.count * index.ENTRY.size:
                return f"{index.path}: there are zeros or a part of an entry behind the last one"
        offsets.sanity_check(size)
        times.sanity_check()
        if _are_lost(indexes, file, size):
            return f"{offsets.path}: there is data of which it should know"
    except (CorruptFile, CorruptRecord, FileNotFoundError) as problem:
        return str(problem)
    return ""


def _are_lost(indexes: OffsetAndTimeIndex, file: OpenFile, size: int) -> bool:
    """Return whether there is data of which an index should know but does not.

    The last entry of a sealed segment's time index is at least as late as its last batches.
    """
    offsets, times = indexes
    if size >= _INDEXED_SURELY and offsets.count == 0:
        return True
    if times.count == 0:
        first = next(walk_headers(file, 0, size), None)
        if first is not None and first[1].max_timestamp != NO_TIMESTAMP:
            return True
    if offsets.active or size == 0:
        return False
    indexed = times.last_entry[0]
    before = Tail(offsets.last_entry[1], offsets.base_offset, indexed, offsets.base_offset)
    return walk_tail(file, before, size).max_timestamp > indexed


def index_batches(
    indexes: OffsetAndTimeIndex, interval_bytes: int, batches: Iterable[tuple[int, BatchHeader]]
) -> Indexed:
    """Fill empty indexes from (position, header) of all batches, up to the first that is damaged. Raises OSError.

    By the rule that `Segment.note_batch` follows for one batch at a time.
    """
    offsets, times = indexes
    unindexed, latest, at = 0, NO_TIMESTAMP, offsets.base_offset
    with suppress(CorruptRecord):  # whoever reads on from there is told
        for position, header in batches:
            if header.max_timestamp > latest:
                latest, at = header.max_timestamp, header.last_offset
            if unindexed > interval_bytes:
                offsets.append(header.last_offset, position)
                times.append(latest, at)
                unindexed = 0
            unindexed += header.size
    return Indexed(unindexed, latest, at)


class IndexCheck:
    """The look at the indexes of one sealed segment, which are made anew aside if need be."""

    __slots__ = (
        "_fs",
        "_interval_bytes",
        "_is_damaged",
        "_lock",
        "_log_path",
        "_places",
        "_size",
        "_suffix",
        "is_done",
        "result",
    )

    def __init__(
        self,
        fs: FileSystem,
        log_path: str,
        size: int,
        indexes: OffsetAndTimeIndex,
        interval_bytes: int,
        is_damaged: bool,
    ) -> None:
        """`indexes` say where the files are, and are not used otherwise; `is_damaged` spares the look at them."""
        self._fs = fs
        self._log_path = log_path
        self._size = size
        self._places = [(index.path, index.base_offset, index.max_bytes) for index in indexes]
        self._interval_bytes = interval_bytes
        self._is_damaged = is_damaged
        self._lock = Lock()
        # one of its own: a segment that compaction put in place meanwhile has the same names, and checks of its own
        self._suffix = f".{id(self):x}{TEMPORARY_SUFFIX}"
        self.is_done = False
        self.result: Indexed | OSError | None = None
        """What is true of the new indexes, None where the old ones are right; why it could not be told."""

    def run(self) -> None:
        """Look, and make new files under names with `.tmp`; any thread may do so, several wait for each other."""
        with self._lock:
            if not self.is_done:
                try:
                    self.result = self._look()
                except OSError as error:
                    self.result = error
                self.is_done = True

    def put_in_place(self, indexes: OffsetAndTimeIndex) -> None:
        """Let the new files take the place of those of the indexes. Raises OSError."""
        for index in indexes:
            index.replace_file(index.path + self._suffix)

    def _look(self) -> Indexed | None:
        file = self._fs.open(self._log_path, writable=False)
        try:
            if not self._is_damaged and not indexes_problem(self._fs, self._indexes(""), file, self._size):
                return None
            new = self._indexes(self._suffix)
            for index in new:
                index.reset()
                index.active = True
            indexed = index_batches(new, self._interval_bytes, walk_headers(file, 0, self._size))
            if self._size:
                new.times.append(indexed.max_timestamp, indexed.max_timestamp_offset)
            for index in new:
                index.seal()
            return indexed
        finally:
            file.close()

    def _indexes(self, suffix: str) -> OffsetAndTimeIndex:
        (offsets, base_offset, most), (times, _, most_times) = self._places
        return OffsetAndTimeIndex(
            OffsetIndex(self._fs, offsets + suffix, base_offset, most),
            TimeIndex(self._fs, times + suffix, base_offset, most_times),
        )
