"""Checking one segment: a single pass over its batches, with everything that is derived from them held against it.

The loop sees every batch header of a log, so it does little for each: comparisons of numbers, and a call only where an
index entry, a snapshot or a new leader epoch is due, or something is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

from odradek.logs.verify.epochs import EpochCheck
from odradek.logs.verify.findings import VerifyFindings
from odradek.logs.verify.indexes import NONE_LEFT, OffsetIndexCheck, TimeIndexCheck
from odradek.logs.verify.producers import ProducerCheck
from odradek.logs.verify.records import check_records
from odradek.protocol.records.batch import (
    CONTROL_BIT,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
)
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_name,
)
from odradek.storage.segment.entry_walk import Ending, EntryWalk, Fields, Progress
from odradek.storage.segment.transaction_index import AbortedTxn

_MAX_RELATIVE_OFFSET = 0x7FFF_FFFF
_MAX_CONTROL_BATCH = 1 << 20


@dataclass(slots=True)
class SegmentTask:
    """What is to be checked."""

    directory: str
    base_offset: int
    next_base: int | None
    """Where the next segment begins, None for the last one."""
    expected: int
    """The offset that the segment before this one ends at."""
    is_open: bool
    """Whether the end of the log may be unfinished: a broker runs, or it was not stopped in order."""
    is_running: bool
    deep: bool
    """Whether records are taken out of the batches, too."""

    def path(self, suffix: str) -> str:
        """Return the path of one of the segment's files."""
        return f"{self.directory}/{file_name(self.base_offset, suffix)}"


@dataclass(slots=True)
class SegmentResult:
    """What was gone over."""

    batches: int
    size: int
    next_offset: int
    aborted: list[AbortedTxn]
    """The transactions that markers in the segment have aborted, as far as that is known."""


class SegmentCheck:
    """The check of one segment."""

    def __init__(
        self,
        fs: FileSystem,
        task: SegmentTask,
        epochs: EpochCheck,
        producers: ProducerCheck,
        findings: VerifyFindings,
        on_bytes: Progress | None,
    ) -> None:
        self._fs = fs
        self._task = task
        self._epochs = epochs
        self._producers = producers
        self._findings = findings
        self._on_bytes = on_bytes
        self._path = task.path(LOG_SUFFIX)
        self._damaged = False

    def run(self) -> SegmentResult:
        """Go over the segment. Raises OSError."""
        task, findings, path = self._task, self._findings, self._path
        file = self._fs.open(path, writable=False)
        walk = EntryWalk(file, file.size(), on_bytes=self._on_bytes)
        index, times = self._open_indexes(walk.end)
        epochs, producers = self._epochs, self._producers
        expected, upper = max(task.expected, task.base_offset), self._upper_bound()
        batches, largest = 0, NO_TIMESTAMP
        next_position = index.next_position if index else NONE_LEFT
        next_time = times.next_offset if times else NONE_LEFT
        for position, fields, valid in walk:
            base, _, epoch, magic, _, attributes, delta, _, timestamp, producer_id, _, _, count = fields
            batches += 1
            last = base + delta
            if not valid:
                self._complain_of_checksum(position, fields)
                # What the checksum covers is not believed; offset, size, epoch and magic it does not cover.
                timestamp, producer_id, last, magic = NO_TIMESTAMP, NO_PRODUCER_ID, base, 0
                next_time = NONE_LEFT
            elif delta < 0 or (magic == CURRENT_MAGIC and not 0 <= count <= delta + 1):
                findings.error(path, f"the batch says {count} records in {delta + 1} offsets", position, base)
            if base != expected or last > upper:
                base, last = self._settle_order(file, position, fields, (base, last), (expected, upper))
            if epoch != epochs.current and fields[3] == CURRENT_MAGIC:
                epochs.change(epoch, path, position, base, expected)
            if base >= producers.next_snapshot:
                producers.pass_snapshots(base)
            if producer_id != NO_PRODUCER_ID:
                self._take_producer(file, position, fields, attributes)
            if position >= next_position:
                assert index is not None
                index.check(position, base, last, magic)
                next_position = index.next_position
            if last >= next_time:
                assert times is not None
                times.check(last, timestamp, largest)
                next_time = times.next_offset
            if timestamp > largest:
                largest = timestamp
            if task.deep and valid:
                check_records(file, path, position, fields, findings)
            expected = last + 1
        aborted = producers.aborted
        self._finish(walk, (index, times), batches, expected, largest)
        return SegmentResult(batches, walk.end, expected, aborted)

    def _upper_bound(self) -> int:
        furthest = self._task.base_offset + _MAX_RELATIVE_OFFSET
        return furthest if self._task.next_base is None else min(furthest, self._task.next_base - 1)

    def _open_indexes(self, size: int) -> tuple[OffsetIndexCheck | None, TimeIndexCheck | None]:
        index = self._open(OFFSET_INDEX_SUFFIX, size)
        times = self._open(TIME_INDEX_SUFFIX, size)
        base = self._task.base_offset
        return (
            OffsetIndexCheck(index, base, self._findings) if index else None,
            TimeIndexCheck(times, base, self._findings) if times else None,
        )

    def _open(self, suffix: str, size: int) -> OpenFile | None:
        try:
            return self._fs.open(self._task.path(suffix), writable=False)
        except FileNotFoundError:
            if size and self._is_settled:
                self._findings.error(self._task.path(suffix), "the file is missing")
            return None

    @property
    def _is_settled(self) -> bool:
        """Whether the indexes are complete: those of the last segment are not, until a broker was stopped in order."""
        return self._task.next_base is not None or not self._task.is_open

    def _complain_of_checksum(self, position: int, fields: Fields) -> None:
        reason = f"the checksum of the batch ({fields[1] + LOG_OVERHEAD} bytes) is wrong"
        self._findings.error(self._path, reason, position, fields[0])
        self._damaged = True
        self._producers.distrust()

    def _settle_order(
        self, file: OpenFile, position: int, fields: Fields, offsets: tuple[int, int], bounds: tuple[int, int]
    ) -> tuple[int, int]:
        """Say what is wrong with the offsets (first, last) of a batch, and return those that it must have.

        `bounds` are the first offset that can be next, and the last one that the segment can have. A gap is what
        compaction leaves, but a batch that leaps ahead of all that follow it has a damaged offset, which its checksum
        does not cover.
        """
        (base, last), (expected, upper) = offsets, bounds
        self._producers.distrust()
        if base < expected:
            reason = f"the offset is {base}, but the batch before it ended at {expected - 1}"
        elif last > upper:
            limit = self._task.next_base
            reason = f"its last offset is {last}, beyond the segment"
            reason += f": the next one begins at {limit}" if limit is not None else ""
        else:
            following = file.pread(8, position + fields[1] + LOG_OVERHEAD)
            after = int.from_bytes(following, "big", signed=True)
            if len(following) < 8 or after > last:
                return offsets
            reason = f"the offset is {base}, but the batch before it ended at {expected - 1}, and {after} follows"
        self._findings.error(self._path, reason, position, base)
        self._damaged = True
        return expected, expected + last - base

    def _take_producer(self, file: OpenFile, position: int, fields: Fields, attributes: int) -> None:
        header = BatchHeader._make(fields)
        is_control = attributes & CONTROL_BIT != 0 and header.size <= _MAX_CONTROL_BATCH
        self._producers.take(header, file.pread(header.size, position) if is_control else b"")

    def _finish(
        self,
        walk: EntryWalk,
        indexes: tuple[OffsetIndexCheck | None, TimeIndexCheck | None],
        batches: int,
        next_offset: int,
        largest: int,
    ) -> None:
        """Judge the end of the segment, and of what is derived from it."""
        index, times = indexes
        is_whole, is_last = walk.ending is Ending.END, self._task.next_base is None
        if not is_whole:
            self._complain_of_end(walk, next_offset, is_last)
        elif not self._damaged and self._is_settled:
            if index is not None:
                index.finish(walk.end, batches)
            if times is not None:
                times.finish(next_offset)
                times.finish_complete(largest)
        if is_whole or is_last:
            self._producers.check_transactions(self._task.path(TRANSACTION_INDEX_SUFFIX))
        else:
            self._producers.distrust()

    def _complain_of_end(self, walk: EntryWalk, next_offset: int, is_last: bool) -> None:
        if is_last and self._task.is_open and walk.ending is not Ending.GARBAGE:
            then = "a broker is writing it" if self._task.is_running else "the next start of a broker cuts it off"
            self._findings.note(self._path, f"{walk.reason}: {then}", walk.position, next_offset)
        else:
            left = walk.end - walk.position
            reason = f"{walk.reason}; the {left} bytes from here on cannot be read"
            self._findings.error(self._path, reason, walk.position, next_offset)
