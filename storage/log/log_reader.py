"""Where in its files a log has the batches that a reader asks for.

The hot path of every fetch. A reader that follows the log comes back with the offset at which it stopped; where that is
in the files is remembered, so that no index and no file is looked at. For any other offset the segment is found by
bisection, a place before the batch by the offset index, and the batch by the headers from there on. Follows Kafka's log
behaviour, fetch (`LocalLog.read`, `LogSegment.read`).
"""

from typing import Final

from odradek.storage.errors import NotInMemory
from odradek.storage.log.log_values import LogSlice
from odradek.storage.segment.batch_headers import BatchExtent, find_batch
from odradek.storage.segment.log_segments import Segments
from odradek.storage.segment.segment import Segment
from odradek.storage.segment.transaction_index import AbortedTxn

_PLACES_KEPT: Final = 64
"""How many offsets have their place remembered: those at which readers stopped, and will go on."""


class LogReader:
    """Finds slices of a log, given its segments; `log_end` is the log's end offset at the time of a call."""

    __slots__ = ("_places", "_segments")

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._places: dict[int, tuple[Segment, int]] = {}

    def forget(self) -> None:
        """Forget all places: segments are about to change."""
        self._places.clear()

    def nothing(self, offset: int, log_end: int) -> LogSlice:
        """Return the empty slice for a reader that is at `offset` and has to wait for more."""
        active = self._segments.active
        if offset == log_end:
            self._remember(offset, active, active.size)
        return LogSlice(None, 0, 0, offset, self._segments.holding(offset).base_offset)

    def slice(self, offset: int, max_bytes: int, upto: int, at_least_one: bool, log_end: int, wait: bool) -> LogSlice:
        """Return where the batches from `offset` to `upto` are; see `Log.read`.

        Raises OSError, CorruptRecord, and NotInMemory if it is not to `wait` for the disk and would have to.
        """
        first_size = None
        known = self._places.get(offset)
        if known is not None:
            segment, position = known
        else:
            found = self._find(offset, wait)
            if found is None:
                return LogSlice(None, 0, 0, offset, self._segments.active.base_offset)
            segment, first = found
            position, first_size, offset = first.position, first.size, first.base_offset
        end = segment.size
        if upto < log_end:
            end = self._end_before(segment, upto, wait)
        elif segment is self._segments.active:
            self._remember(log_end, segment, end)
        length = end - position
        if length > max_bytes:
            length = max_bytes
            if at_least_one:
                if first_size is None:
                    only = find_batch(segment.file, position, end, offset, wait)
                    first_size = only.size if only is not None else 0
                length = max(length, first_size)
        if length <= 0:
            return LogSlice(None, 0, 0, offset, segment.base_offset)
        return LogSlice._make((segment.file, position, length, offset, segment.base_offset))

    def upper_bound(self, region: LogSlice, log_end: int) -> int:
        """Return an offset that is above all records of the slice, and seldom far above; see `Log.upper_bound`."""
        segment = self._segments.holding(region.segment_base)
        if segment.base_offset == region.segment_base:
            found = segment.offset_at_or_after(region.position + region.length)
            if found is not None:
                return found
        following = self._segments.after(segment)
        return following.base_offset if following else log_end

    def aborted_transactions(self, offset: int, upto: int, wait: bool) -> list[AbortedTxn]:
        """Return the aborted transactions in [offset, upto); see `Log.aborted_transactions`."""
        found: list[AbortedTxn] = []
        for segment in self._segments.since(offset):
            index = segment.indexes.transactions
            if not wait and not index.is_in_memory():
                raise NotInMemory(index.read_through)
            of_segment, complete = index.collect(offset, upto)
            found += of_segment
            if complete:
                break
        return found

    def _find(self, offset: int, wait: bool) -> tuple[Segment, BatchExtent] | None:
        """Return the first batch that ends at or after `offset`, and its segment."""
        for segment in self._segments.since(offset):
            batch = segment.find(offset, wait)
            if batch is not None:
                return segment, batch
        return None

    def _end_before(self, segment: Segment, upto: int, wait: bool) -> int:
        """Return the position up to which the segment has batches below the offset `upto`."""
        if segment is not self._segments.holding(upto):
            return segment.size
        known = self._places.get(upto)
        if known is not None:
            return known[1] if known[0] is segment else segment.size
        batch = segment.find(upto, wait)
        position = batch.position if batch else segment.size
        self._remember(upto, segment, position)
        return position

    def _remember(self, offset: int, segment: Segment, position: int) -> None:
        """Remember that the batch that starts at `offset`, or will, is at that position."""
        places = self._places
        if len(places) >= _PLACES_KEPT:
            places.clear()
        places[offset] = (segment, position)
