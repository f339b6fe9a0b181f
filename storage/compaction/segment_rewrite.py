"""Writing one segment from several, without what compaction removes.

Batches that lose nothing are copied byte for byte, for others `batches` makes new ones. Entries of V0 and V1 stay what
they are. Follows Kafka's log behaviour, log cleaner (`Cleaner.cleanInto`, `MemoryRecords.filterTo`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from odradek.protocol.records.batch import CURRENT_MAGIC, HEADER_SIZE, BatchHeader, Codec
from odradek.protocol.records.errors import InvalidRecord
from odradek.protocol.records.legacy_building import build_wrapper
from odradek.storage.compaction.batches import empty_batch, partial_batch
from odradek.storage.compaction.entries import (
    RECORDS_AT_A_TIME,
    Entry,
    Pace,
    RecordPlace,
    find_records,
)
from odradek.storage.compaction.retain import (
    BatchFate,
    RoundRules,
    fate_of,
    is_kept,
    kept_records,
    records_must_go,
    tombstones_stay,
)
from odradek.storage.compaction.sources import SourceLog, control_kind
from odradek.storage.compaction.transactions import TransactionPass
from odradek.storage.compaction.values import Task
from odradek.storage.compaction.workload import Workload
from odradek.storage.errors import StorageError
from odradek.storage.files import Buffer, FileSystem
from odradek.storage.names import LOG_SUFFIX
from odradek.storage.segment.batch_headers import header_at
from odradek.storage.segment.index_set import IndexSettings
from odradek.storage.segment.segment import Segment
from odradek.storage.segment.unfinished_segment import CleanedSegment

MAX_SEGMENT_BYTES = 0x7FFF_FFFF
"""Positions in a segment are int32 in its index."""
SYNC_BYTES = 8 << 20
"""Bytes written before they are brought to the disk: a little at a time holds up nobody else who needs the disk."""


@dataclass(slots=True)
class Counts:
    """What a rewriting has seen and kept."""

    bytes_before: int = 0
    bytes_after: int = 0
    records_before: int = 0
    records_after: int = 0
    changed: int = 0
    """Batches that are gone, or not as they were."""


class SegmentOutput:
    """The segment that is written, in large pieces."""

    def __init__(self, segment: Segment, piece_bytes: int, pace: Pace) -> None:
        self.segment = segment
        self._piece_bytes = piece_bytes
        self._pace = pace
        self._pending = bytearray()
        self._notes: list[tuple[int, int, int]] = []
        self._unsynced = 0

    def add(self, batch: Buffer, header: BatchHeader) -> None:
        """Append a batch. Raises OSError, StorageError where the segment would be larger than one can be."""
        self._pending += batch
        self._notes.append((len(batch), header.last_offset, header.max_timestamp))
        if len(self._pending) >= self._piece_bytes:
            self.flush()

    def flush(self) -> None:
        """Write what is pending."""
        segment, size = self.segment, len(self._pending)
        if segment.size + size > MAX_SEGMENT_BYTES:
            raise StorageError(f"{segment.path(LOG_SUFFIX)} would be larger than a segment can be")
        if size:
            segment.write(self._pending)
            for note in self._notes:
                segment.note_batch(*note)
            self._pace(size)
        self._pending = bytearray()
        self._notes.clear()
        self._unsynced += size
        if self._unsynced >= SYNC_BYTES:
            segment.file.sync()
            self._unsynced = 0


class Rewriter:
    """Writes the groups of one round, in order."""

    def __init__(self, fs: FileSystem, task: Task, log: SourceLog, rules: RoundRules, pace: Pace) -> None:
        self._fs = fs
        self._task = task
        self._log = log
        self._rules = rules
        self._pace = pace
        self._transactions = TransactionPass()
        self._work = Workload(task.largest_batch)
        self._old_tombstones_before_ms = self._legacy_horizon()

    def _legacy_horizon(self) -> int:
        """Return when a segment must have been written, or later, for its tombstones of V0 and V1 to stay."""
        clean = [index for index, one in enumerate(self._task.sources) if one.base_offset < self._task.first_dirty]
        return self._log.mtime_ms(clean[-1]) - self._task.delete_retention_ms if clean else 0

    def write(self, first: int, count: int) -> tuple[CleanedSegment, Counts]:
        """Write the segment for `count` sources from the one at index `first` on; its files are on the disk then.

        Raises CorruptFile, StorageError, OSError and what `pace` raises; no file is left behind then.
        """
        settings = IndexSettings(self._task.index_interval_bytes, self._task.index_bytes)
        base_offset = self._task.sources[first].base_offset
        segment = CleanedSegment(self._fs, self._task.directory, base_offset, settings, 0, self._task.now_ms)
        counts = Counts()
        try:
            segment.make_files()
            output = SegmentOutput(segment, self._task.io_bytes, self._pace)
            for index in range(first, first + count):
                self._write_source(index, output, counts)
            output.flush()
            counts.bytes_after = segment.size
            self._finish(segment, self._log.mtime_ms(first + count - 1))
        except BaseException:
            with suppress(OSError):
                segment.discard()
            raise
        return segment, counts

    def _finish(self, segment: CleanedSegment, mtime_ms: int) -> None:
        """Bring everything to the disk; the names last, so that none of them can stand for less than it says."""
        segment.seal()
        segment.indexes.are_synced = False
        files = [segment.file, *segment.prepare_sync()]
        for file in files:
            file.sync()
        self._fs.set_mtime_ms(segment.path(LOG_SUFFIX), mtime_ms)
        segment.close()
        self._fs.sync_dir(self._task.directory)

    def _write_source(self, index: int, output: SegmentOutput, counts: Counts) -> None:
        self._transactions.expect(self._log.aborted(index))
        old_tombstones = self._log.mtime_ms(index) > self._old_tombstones_before_ms
        for entry in self._log.entries(index, self._pace):
            size = entry.end - entry.start
            counts.bytes_before += size
            self._work.take(entry)
            with self._log.located(index, entry):
                if entry.header.magic == CURRENT_MAGIC:
                    batch, before, after = self._filter_batch(entry, output.segment)
                else:
                    batch, before, after = self._filter_old_entry(entry, old_tombstones)
                if self._work.is_too_much:
                    raise InvalidRecord("The records up to here take more work than their bytes stand for")
            counts.records_before += before
            counts.records_after += after
            if batch is entry:
                output.add(memoryview(entry.data)[entry.start : entry.end], entry.header)
                continue
            counts.changed += 1
            if isinstance(batch, bytes | bytearray):
                output.add(batch, header_at(memoryview(batch.ljust(HEADER_SIZE, b"\0")), 0))

    def _filter_batch(self, entry: Entry, segment: Segment) -> tuple[Entry | bytes | bytearray | None, int, int]:
        """Return what is to be written for a V2 batch: itself, another, or nothing; and its records before and after.

        An aborted transaction of which records were seen goes into the index of the segment with its marker.
        """
        header, rules = entry.header, self._rules
        if header.is_control:
            may_go, aborted = self._transactions.end(header, control_kind(entry))
            if aborted is not None:
                segment.indexes.transactions.append(aborted)
        else:
            may_go = self._transactions.data_is_aborted(header)
        must_go = records_must_go(header, may_go, rules.now_ms)
        fate = fate_of(header, must_go, rules)
        before = header.records_count
        if must_go or not before:
            if fate is not BatchFate.KEEP:
                return None, before, 0
            return (empty_batch(header), before, 0) if before else (entry, 0, 0)
        if not header.is_control and header.base_offset > rules.offsets.latest_offset:
            return entry, before, before  # no record of it is in the map, so each one stays
        body = self._work.open(entry)
        # What stays of a batch of very many records is found twice, and never known as a whole.
        whole = list(self._kept(header, *body)) if before <= RECORDS_AT_A_TIME else None
        after, wants_horizon = 0, header.is_control and may_go
        for kept in whole or self._kept(header, *body):
            after += len(kept)
            wants_horizon = wants_horizon or (not header.is_control and any(not record[5] for record in kept))
        if not after:
            return (empty_batch(header) if fate is BatchFate.KEEP else None), before, 0
        horizon = None
        if wants_horizon and header.delete_horizon_ms is None:
            horizon = rules.now_ms + self._task.delete_retention_ms
        elif after == before:
            return entry, before, before
        return partial_batch(header, body[0], whole or self._kept(header, *body), horizon), before, after

    def _kept(self, header: BatchHeader, data: bytes, start: int, end: int) -> Iterator[Sequence[RecordPlace]]:
        """Yield the records of a V2 batch that stay, some at a time."""
        tombstones = tombstones_stay(header, self._rules.now_ms)
        for records in find_records(data, start, end, header.records_count, self._pace):
            yield records if header.is_control else kept_records(header, records, self._rules.offsets, tombstones)

    def _filter_old_entry(self, entry: Entry, tombstones: bool) -> tuple[Entry | bytes | bytearray | None, int, int]:
        """The same for an entry of V0 or V1: a message, or a wrapper of several."""
        header, offsets = entry.header, self._rules.offsets
        records = self._work.open_old(entry)
        kept = [one for one in records if is_kept(one.offset, one.key, one.value is not None, offsets, tombstones)]
        if len(kept) == len(records):
            return entry, len(records), len(kept)
        if kept:
            append_time = header.max_timestamp if header.is_log_append_time and header.magic else None
            batch = build_wrapper(kept, header.magic, Codec(header.codec), append_time)
            return batch, len(records), len(kept)
        fate = fate_of(header, False, self._rules)
        return (empty_batch(header) if fate is BatchFate.KEEP else None), len(records), 0
