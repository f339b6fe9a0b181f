"""A log on a disk in memory, beside the plain list of records that it should have.

Each operation does something to both, or asks both the same, and compares. Whoever drives the model chooses operations
and arguments; `check` holds all that the log says about itself against the list. A new kind of operation is a method
here, a rule in `test_log_model.LogMachine`, and a line in `test_log_model.OPERATIONS`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from odradek.protocol.records.batch import Codec
from odradek.protocol.records.building import BatchFields
from odradek.storage.errors import OffsetOutOfRange
from odradek.storage.log.log import Log
from odradek.storage.log.retention import remove_next_due
from odradek.storage.names import LOG_SUFFIX
from tests.support.compaction import compact_log
from tests.support.logs import NOW_MS, a_batch, check_log, open_at, read_all, small_config
from tests.support.memory_files import MemoryFiles
from tests.support.timestamps import max_timestamp_record, offset_for_timestamp

NO_TIMESTAMP = -1


class Written(NamedTuple):
    """A record as it was sent; no two have the same value."""

    value: bytes
    timestamp: int


class LogModel:
    """See the module."""

    def __init__(self, segment_bytes: int, index_interval_bytes: int, seed: int = 0) -> None:
        self.fs = MemoryFiles(seed)
        self.config = small_config(segment_bytes=segment_bytes, index_interval_bytes=index_interval_bytes)
        self.log: Log = open_at(self.fs, self.config)
        self.fs.sync_dir("/data")
        self.fs.sync_dir("/")
        self.records: list[Written | None] = []
        """What was written at each offset, from 0 on, whether or not the log still begins there; None where it must not
        be any more, though there are records before it."""
        self.number = 0
        self.flushed = 0
        """Records below this offset are on the disk."""
        self.compacted = 0
        """Below this offset records may be gone of which a later one has the key."""
        self._all: dict[bytes, Written] = {}
        """Everything that was ever written, to know what a power failure has brought back."""
        self._keys: dict[bytes, int] = {}
        """The key of each value: its number in its batch."""

    @property
    def end(self) -> int:
        """Offset that the next record gets."""
        return len(self.records)

    def visible(self) -> Iterator[tuple[int, Written]]:
        """Yield (offset, record) of all that a reader must get."""
        for offset in range(self.log.log_start_offset, self.end):
            record = self.records[offset]
            if record is not None:
                yield offset, record

    def offset_at(self, share: float) -> int:
        """Return the offset that lies so far between the start of the log (0) and its end (1)."""
        start = self.log.log_start_offset
        return start + int((self.end - start) * share)

    # --- writing

    def append(self, sizes: Sequence[int], codec: Codec, ahead: int | None) -> None:
        """Append a batch of values of these sizes; their time is somewhat ahead of that of others, or not given."""
        written = []
        for size in sizes:
            self.number += 1
            timestamp = NO_TIMESTAMP if ahead is None else NOW_MS + self.number + ahead
            written.append(Written(b"%d:" % self.number + bytes(size), timestamp))
        times = [record.timestamp for record in written]
        batch = a_batch([record.value for record in written], times, BatchFields(codec=codec))
        info = self.log.append(batch, self.number // 50, NOW_MS)
        assert (info.first_offset, info.last_offset) == (self.end, self.end + len(written) - 1)
        assert info.max_timestamp == max(times)
        self.records += written
        self._all |= {record.value: record for record in written}
        self._keys |= {record.value: number for number, record in enumerate(written)}

    def roll(self) -> None:
        """Start a new segment."""
        self.log.roll(NOW_MS)

    def flush(self) -> None:
        """Bring everything to the disk."""
        self.log.flush()
        assert self.log.recovery_point == self.end
        self.flushed = self.end

    # --- taking away

    def truncate(self, back: int) -> None:
        """Cut some records off the end."""
        # Only what every replica has is ever compacted, so no end is cut off that deep.
        target = max(self.end - back, self.log.log_start_offset, self.compacted)
        self.log.truncate_to(target, NOW_MS)
        # A batch goes as a whole, so that the log may end before the offset that was asked for.
        assert self.log.log_end_offset <= max(target, self.log.log_start_offset)
        del self.records[self.log.log_end_offset :]
        self.flushed = min(self.flushed, self.end)

    def delete_records(self, share: float) -> None:
        """Move the start of the log up."""
        target = self.offset_at(share)
        self.log.delete_records_before(target)
        assert self.log.log_start_offset == target

    def retain(self, size_share: float | None, age_share: float | None, committed_share: float) -> None:
        """Remove old segments, with limits between nothing and all that there is, or none."""
        times = [record.timestamp for _, record in self.visible() if record.timestamp != NO_TIMESTAMP]
        now_ms = max([*times, NOW_MS, self.fs.now_ms]) + 1
        oldest = min([*times, NOW_MS])
        limited = replace(
            self.config,
            retention_bytes=-1 if size_share is None else int(self.log.size * size_share),
            retention_ms=-1 if age_share is None else int((now_ms - oldest) * age_share),
        )
        high_watermark = self.offset_at(committed_share)
        expected = self._expected_to_go(limited.retention_bytes, limited.retention_ms, high_watermark, now_ms)
        self.log.update_config(limited)
        gone = []
        while removed := remove_next_due(self.log, high_watermark, now_ms):
            gone.append(removed.segment.base_offset)
        self.log.update_config(self.config)
        assert gone == expected
        self._remove_files()

    def compact(self) -> None:
        """Compact all that is closed: of each key in it the last record stays."""
        self.flush()
        self.log.update_config(replace(self.config, cleanup_policy=frozenset({"compact"})))
        outcome = compact_log(self.log)
        self.log.update_config(self.config)
        if outcome is None:
            return
        closed = [(offset, record) for offset, record in self.visible() if offset < outcome.end_offset]
        last = {self._keys[record.value]: offset for offset, record in closed}
        self.compacted = outcome.end_offset
        # Records that the start of the log has passed may still be in its first segment; they go where a later one has
        # their key, and count no more.
        for offset, record in enumerate(self.records[: outcome.end_offset]):
            if record is not None and last.get(self._keys[record.value], offset) != offset:
                self.records[offset] = None
        self._remove_files()

    def _expected_to_go(self, max_bytes: int, max_ms: int, high_watermark: int, now_ms: int) -> list[int]:
        """Return the base offsets of the segments that Kafka's rules let go, by what the list says of their age."""
        segments = list(self.log.segments)
        ends = [segment.base_offset for segment in segments[1:]] + [self.end]
        left = sum(segment.size for segment in segments)
        gone: list[int] = []
        for segment, end in zip(segments, ends, strict=True):
            is_last = segment is segments[-1]
            if end > high_watermark or (is_last and segment.size == 0):
                break
            newest = max((each.timestamp for each in self.records[segment.base_offset : end] if each), default=-1)
            if newest == NO_TIMESTAMP:
                newest = self.fs.mtime_ms(segment.path(LOG_SUFFIX))
            before_start = not is_last and end <= self.log.log_start_offset
            too_much = max_bytes >= 0 and left - segment.size >= max_bytes
            too_old = max_ms >= 0 and now_ms - newest > max_ms
            if not (before_start or too_much or too_old):
                break
            gone.append(segment.base_offset)
            left -= segment.size
        return gone

    def _remove_files(self) -> None:
        deletions = self.log.local.deletions
        deletions.take_due(NOW_MS)
        deletions.remove(deletions.take_due(NOW_MS + self.config.file_delete_delay_ms))

    # --- stopping

    def restart_cleanly(self) -> None:
        """Stop in order, and start."""
        self.flush()
        start, point = self.log.log_start_offset, self.log.recovery_point
        self.log.close()
        self.log = open_at(self.fs, self.config, clean=True, recovery_point=point, log_start_offset=start)
        assert self.log.log_start_offset == start

    def restart_after_kill(self) -> None:
        """The process is gone, but what it wrote is in the page cache."""
        point, start = self.log.local.checkpointed_recovery_point, self.log.log_start_offset
        self.fs = self.fs.crash(kept=1.0)
        self.log = open_at(self.fs, self.config, recovery_point=point, log_start_offset=start)
        assert self.log.log_start_offset == start

    def restart_after_power_loss(self) -> None:
        """Of what was not flushed, anything may be gone, and what was cut or removed may be back."""
        point, start = self.log.local.checkpointed_recovery_point, self.log.log_start_offset
        self.fs = self.fs.crash()
        self.log = open_at(self.fs, self.config, recovery_point=point)
        assert self.log.log_end_offset >= self.flushed
        assert self.log.log_start_offset <= start
        found = dict(read_all(self.log))
        kept = self.records[: self.log.log_start_offset]
        for offset in range(self.log.log_start_offset, self.log.log_end_offset):
            value = found.get(offset)
            if offset < self.flushed:
                before = self.records[offset]
                assert value == (before.value if before else None), f"offset {offset} was flushed"
            kept.append(None if value is None else self._all[value])
        self.records = kept

    # --- asking

    def read(self, share: float, max_bytes: int, at_least_one: bool) -> None:
        """Read from somewhere in the log."""
        offset = self.offset_at(share)
        region = self.log.read(offset, max_bytes, self.end, at_least_one)
        assert region.length <= max_bytes or at_least_one
        if at_least_one:
            following = next(((at, record.value) for at, record in self.visible() if at >= offset), None)
            found = read_all(self.log, max_bytes, offset)
            assert (found[0] if found else None) == following

    def read_outside(self, beyond: int) -> None:
        """Read before the start and after the end."""
        for offset in (self.log.log_start_offset - beyond, self.log.log_end_offset + beyond):
            try:
                self.log.read(offset, 1000, self.log.log_end_offset, True)
            except OffsetOutOfRange:
                continue
            raise AssertionError(f"offset {offset} was read")

    def find_time(self, ahead: int, share: float) -> None:
        """Look for a time, and for the latest of all."""
        timestamp = NOW_MS + int(self.number * share) + ahead
        expected = next((offset for offset, record in self.visible() if record.timestamp >= timestamp), None)
        found = offset_for_timestamp(self.log, timestamp, self.end)
        assert (found.offset if found else None) == expected
        if self._has_hidden_records():
            return
        latest = max_timestamp_record(self.log, self.end)
        largest = max((record.timestamp for _, record in self.visible()), default=NO_TIMESTAMP)
        if largest == NO_TIMESTAMP:
            assert latest is None
        else:
            assert latest is not None
            first = next(offset for offset, record in self.visible() if record.timestamp == largest)
            assert latest[:2] == (largest, first)

    def _has_hidden_records(self) -> bool:
        """Whether a segment has records before the start of the log, whose timestamps still count in its index."""
        return self.log.segments.first.base_offset < self.log.log_start_offset

    def check(self) -> None:
        """Hold all that the log says about itself against its files, and all that a reader gets against the list."""
        assert self.log.log_end_offset == self.end
        check_log(self.log)
        assert read_all(self.log, 700) == [(offset, record.value) for offset, record in self.visible()]
