"""A log: the record batches of one partition, in order, on disk.

A log is a row of segments. Batches are appended to the last one, the *active* segment; when that is full, or its
records span too much time, the log *rolls*: the active segment is sealed, and a new one starts at the next offset. A
reader asks for an offset and gets a region of one segment's file, which goes to the socket as it is: record data is
neither copied nor looked at on its way out. Old data goes by whole segments, from the front.

Beside the data a log keeps what follows from it: how far it reaches (`log_start_offset` to `log_end_offset`), what the
producers did (`producers`), at which offset each leader took over (`leader_epochs`). All of that changes only after the
bytes were written. A write that fails is cut back, and the log is as it was before.

What is written is in the page cache of the operating system. `prepare_flush`, `FlushPlan.run` and `complete_flush` make
it durable, in three steps so that the wait for the disk can happen on another thread. Everything below `recovery_point`
is on disk; what comes after it is checked after a crash (`storage.opening.loader`).

Not here: how a client's batch is checked (`storage.validation`), what readers may see of the end of the log (high
watermark and transactions, the broker's part), when data is old enough to go, and any thread or clock: callers say what
time it is, and call from one thread. Follows Kafka's log behaviour (`UnifiedLog`, `LocalLog`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from odradek.config.topic import TopicConfig
from odradek.protocol.records.batch import NO_PRODUCER_ID, read_header
from odradek.storage.checkpoints.leader_epochs import UNDEFINED, EpochEnd
from odradek.storage.deletions import PendingDeletions
from odradek.storage.errors import OffsetOutOfRange, RecordListTooLarge, StorageError
from odradek.storage.files import FileSystem
from odradek.storage.log import flush, follower, markers, timestamps, truncation
from odradek.storage.log import roll as rolling
from odradek.storage.log.flush import FlushPlan
from odradek.storage.log.log_reader import Reader
from odradek.storage.log.log_values import AppendInfo, LogSlice, TimestampAndOffset
from odradek.storage.log.retention import DueSegment, remove_next_due
from odradek.storage.log.roll import must_roll, roll_limits
from odradek.storage.names import SYNC_FAILED_FILE
from odradek.storage.producers.producer_entry import Verification
from odradek.storage.producers.producer_state import Origin
from odradek.storage.segment.log_segments import Segments
from odradek.storage.segment.segment import Segment
from odradek.storage.segment.transaction_index import AbortedTransaction
from odradek.storage.validation import ValidationRules, assign_offsets, validate_client_batch, validation_rules

if TYPE_CHECKING:
    from odradek.storage.opening.loader import LoadedLog


class Log:
    """One partition's log. Made from what `storage.opening.loader` found on disk; see there for how to open one."""

    __slots__ = (
        "_leader_epoch",
        "_limits",
        "_reader",
        "_rules",
        "config",
        "deletions",
        "directory",
        "fs",
        "generation",
        "leader_epochs",
        "log_end_offset",
        "log_start_offset",
        "partition",
        "producer_expiration_ms",
        "producers",
        "recovery_point",
        "segments",
        "size",
        "snapshots",
        "sync_problem",
        "topic",
        "topic_id",
        "unsynced",
    )

    def __init__(self, fs: FileSystem, loaded: LoadedLog, config: TopicConfig, deletions: PendingDeletions) -> None:
        self.fs = fs
        self.topic, self.partition = loaded.partition
        self.topic_id = loaded.topic_id
        self.directory = loaded.directory
        self.segments = Segments(loaded.segments)
        """All segments, oldest first. For other modules to be read only."""
        self.log_start_offset = loaded.log_start_offset
        """First offset that can be read; the first segment may begin before it."""
        self.log_end_offset = loaded.log_end_offset
        """Offset that the next record gets."""
        self.recovery_point = loaded.recovery_point
        """Records below this offset are on disk, not only in the page cache."""
        self.size = sum(segment.size for segment in self.segments)
        """Bytes of all data files."""
        self.leader_epochs = loaded.leader_epochs
        self.producers = loaded.producers
        self.producer_expiration_ms = loaded.producer_expiration_ms
        self.snapshots = loaded.snapshots
        """The files that keep the state of the producers over a restart."""
        self.deletions = deletions
        self.generation = 0
        """Grows whenever data is cut off the end; what a flush under way has synced then says nothing any more."""
        self.unsynced = loaded.unsynced
        """Names and small files that are not on disk for sure."""
        self.sync_problem = loaded.sync_problem
        """Why the disk refused the last flush; nothing is appended until one ends well. Empty: it did not."""
        self._reader = Reader(self.segments)
        self._leader_epoch = UNDEFINED
        """The epoch of the last batch, if it was appended since the log was opened."""
        self.segments.active.activate()
        self.update_config(config)

    def __repr__(self) -> str:
        return f"Log({self.directory!r}, {self.log_start_offset} to {self.log_end_offset})"

    def update_config(self, config: TopicConfig) -> None:
        """Follow a change of the topic's configuration; how segments are indexed changes with the next one."""
        self.config = config
        self._limits = roll_limits(config)
        self._rules = validation_rules(config, f"{self.topic}-{self.partition}")

    @property
    def rules(self) -> ValidationRules:
        """What the topic's configuration asks of the batches of clients."""
        return self._rules

    # --- writing

    def append(
        self,
        batch: memoryview | bytearray,
        leader_epoch: int,
        now_ms: int,
        origin: Origin = Origin.CLIENT,
        guard: Verification | None = None,
    ) -> AppendInfo:
        """Append one batch as the leader: give it the next offsets, in place, and write it.

        A client's batch is validated first, and replaced where the topic wants another compression; the broker's own
        (COORDINATOR) is only given its offsets. `guard` says that the batch's transaction was verified (KIP-890).
        Raises what `validate_client_batch` and `ProducerStates.check` raise, RecordListTooLarge for more than a
        segment holds, and StorageError if the disk failed; nothing was appended then.
        """
        data: memoryview | bytearray
        if origin is Origin.CLIENT:
            data, header, log_append_time_ms, max_timestamp = validate_client_batch(batch, self._rules, now_ms)
        else:
            data, header, log_append_time_ms = batch, read_header(batch), -1
            max_timestamp = header.max_timestamp
        size = len(data)
        if size > self._limits.segment_bytes:
            raise self._too_large(size)
        if header.producer_id != NO_PRODUCER_ID:
            written = self.producers.check(header, origin, guard)
            if written is not None:
                first_offset, last_offset, timestamp = written
                start = self.log_start_offset
                return AppendInfo(first_offset, last_offset, timestamp, timestamp, start, 0, duplicate=True)
        first_offset = self.log_end_offset
        last_offset = first_offset + header.last_offset_delta
        assign_offsets(data, first_offset, leader_epoch)
        self.write(data, first_offset, last_offset, max_timestamp, now_ms).note_batch(size, last_offset, max_timestamp)
        self.log_end_offset = last_offset + 1
        self.size += size
        if leader_epoch != self._leader_epoch:
            self.note_leader_epoch(leader_epoch, first_offset)
        if header.producer_id != NO_PRODUCER_ID:
            self.producers.update(header, first_offset)
        return AppendInfo(first_offset, last_offset, max_timestamp, log_append_time_ms, self.log_start_offset, size)

    def append_marker(self, batch: bytearray, leader_epoch: int, now_ms: int, transaction_version: int) -> AppendInfo:
        """Append the control batch that ends a transaction on this partition (`build_end_transaction_batch`).

        Raises InvalidProducerEpoch or CoordinatorFenced for a marker that comes too late, StorageError.
        """
        return markers.append_marker(self, batch, leader_epoch, now_ms, transaction_version)

    def append_as_follower(self, data: memoryview, now_ms: int) -> AppendInfo:
        """Append the batches that another replica wrote, as they are, with one write; a cut last one is left out.

        Raises CorruptRecord, OffsetOutOfRange where they do not follow the end of the log, StorageError.
        """
        return follower.append_as_follower(self, data, now_ms)

    def write(
        self, data: memoryview | bytearray, first_offset: int, last_offset: int, max_timestamp: int, now_ms: int
    ) -> Segment:
        """Write batches, which have their offsets already, to the active segment, a new one if need be; return it.

        The segment and the log must be told of the batches afterwards. Raises RecordListTooLarge, StorageError.
        """
        if self.sync_problem:
            raise StorageError(
                f"Cannot append to {self.topic}-{self.partition} in {self.directory} before the disk has taken what it "
                f"refused: {self.sync_problem}"
            )
        try:
            segment = self.segments.active
            if must_roll(segment, self._limits, len(data), last_offset, max_timestamp, now_ms):
                if len(data) > self._limits.segment_bytes:
                    raise self._too_large(len(data))
                segment = rolling.roll(self, first_offset, now_ms)
            segment.write(data)
        except OSError as error:
            raise self.failure("append to", error) from error
        return segment

    def _too_large(self, size: int) -> RecordListTooLarge:
        return RecordListTooLarge(
            f"Message batch size is {size} bytes in append to partition {self.topic}-{self.partition}, "
            f"which exceeds the maximum configured segment size of {self._limits.segment_bytes}."
        )

    def begin_leader_epoch(self, leader_epoch: int) -> None:
        """Let a new epoch begin at the end of the log; the first batch that is appended in it makes it last."""
        if leader_epoch >= 0:
            self.leader_epochs.announce(leader_epoch, self.log_end_offset)

    def note_leader_epoch(self, leader_epoch: int, start_offset: int) -> None:
        """Note that the batches from `start_offset` on were written in this epoch; -1 stands for an unknown one."""
        if leader_epoch >= 0:
            self.unsynced.leader_epochs |= self.leader_epochs.assign(leader_epoch, start_offset)
        self._leader_epoch = leader_epoch

    def roll(self, now_ms: int) -> Segment:
        """Start a new segment at the end of the log, and return it.

        The old one is on disk once the next flush is done. An empty active segment is not left behind. Raises
        StorageError, and the log goes on with the segment that it had.
        """
        try:
            return rolling.roll(self, self.log_end_offset, now_ms)
        except OSError as error:
            raise self.failure("start a new segment in", error) from error

    # --- reading

    def read(self, offset: int, max_bytes: int, upto: int, at_least_one: bool) -> LogSlice:
        """Return where the batches from `offset` on lie, in one segment, up to `max_bytes` and to the offset `upto`.

        The slice starts at the batch that has the offset, or the next one where compaction removed it. With
        `at_least_one`, a first batch that is larger than `max_bytes` is in it nevertheless, whole. Empty at `upto` and
        beyond. `upto` must be where a batch starts. Raises OffsetOutOfRange below the start and above the end of the
        log, StorageError if the disk failed.
        """
        log_end = self.log_end_offset
        if not self.log_start_offset <= offset <= log_end:
            raise OffsetOutOfRange(
                f"Received request for offset {offset} for partition {self.topic}-{self.partition}, but we only have "
                f"log segments from offset {self.log_start_offset} to {log_end}."
            )
        try:
            if offset >= upto or offset == log_end:
                return self._reader.nothing(offset, log_end)
            return self._reader.slice(offset, max_bytes, upto, at_least_one, log_end)
        except OSError as error:
            raise self.failure("read from", error) from error

    def upper_bound(self, region: LogSlice) -> int:
        """Return an offset that is above all records of the slice, and seldom far above."""
        return self._reader.upper_bound(region, self.log_end_offset)

    def forget_places(self) -> None:
        """Forget what is known of places in the files: segments are about to change."""
        self._reader.forget()

    def aborted_transactions(self, offset: int, upto: int) -> list[AbortedTransaction]:
        """Return the aborted transactions with records or marker in [offset, upto), in the order of their markers."""
        found: list[AbortedTransaction] = []
        for segment in self.segments.since(offset):
            of_segment, complete = segment.transaction_index.collect(offset, upto)
            found += of_segment
            if complete:
                break
        return found

    def offset_for_timestamp(self, timestamp: int, upto: int) -> TimestampAndOffset | None:
        """Return the first record that is not earlier than `timestamp` (ms), None if there is none below `upto`.

        Raises CorruptRecord, StorageError.
        """
        try:
            return timestamps.offset_for_timestamp(self, timestamp, upto)
        except OSError as error:
            raise self.failure("read from", error) from error

    def max_timestamp_record(self, upto: int) -> TimestampAndOffset | None:
        """Return the first record that has the largest timestamp of the log, None if it is not below `upto`.

        Also None where no record has a timestamp. Raises CorruptRecord, StorageError.
        """
        try:
            return timestamps.max_timestamp_record(self, upto)
        except OSError as error:
            raise self.failure("read from", error) from error

    def end_offset_for_epoch(self, leader_epoch: int) -> EpochEnd:
        """Return the largest leader epoch up to this one, and the offset at which it ends (KIP-279)."""
        return self.leader_epochs.end_offset_for(leader_epoch, self.log_end_offset)

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """Return the first offset of a transaction whose end readers cannot know yet, None if there is none."""
        return self.producers.first_unstable_offset(high_watermark)

    # --- making it durable

    def prepare_flush(self) -> FlushPlan | None:
        """Return what has to be synced so that everything appended until now is on disk, None if it is.

        StorageError.
        """
        try:
            return flush.prepare(self)
        except OSError as error:
            raise self.failure("flush", error) from error

    def complete_flush(self, plan: FlushPlan) -> None:
        """Move the recovery point, once `plan` has run."""
        flush.complete(self, plan)

    def sync_failed(self, error: BaseException) -> StorageError:
        """Take note that a plan could not run, and return the error to raise.

        What it was about may be lost without a trace (`storage.log.failed_sync`), so the log takes nothing more until a
        flush has ended well. Reading goes on. A file beside the log says so to the next process; it need not reach the
        disk, since a machine that starts anew reads what is there.
        """
        self.sync_problem = str(error)
        with suppress(OSError):
            self.fs.write_bytes(f"{self.directory}/{SYNC_FAILED_FILE}", b"")
        return StorageError(f"Cannot flush {self.topic}-{self.partition} in {self.directory}: {error}")

    def flush(self) -> None:
        """Wait until everything appended is on disk. Raises StorageError."""
        plan = self.prepare_flush()
        if plan is not None:
            try:
                plan.run()
            except (OSError, StorageError) as error:
                raise self.sync_failed(error) from error
            self.complete_flush(plan)

    @property
    def checkpointed_recovery_point(self) -> int:
        """The recovery point to be written down in the checkpoint of the log directory."""
        return flush.checkpointed_recovery_point(self)

    # --- taking away

    def truncate_to(self, offset: int, now_ms: int) -> bool:
        """Remove the records from `offset` on, a batch that has it in its middle too; return whether there were any.

        Raises StorageError.
        """
        try:
            return truncation.truncate_to(self, offset, now_ms)
        except OSError as error:
            raise self.failure("truncate", error) from error
        finally:
            self._leader_epoch = UNDEFINED

    def truncate_fully(self, offset: int, now_ms: int) -> None:
        """Remove all records and start anew at `offset`. Raises StorageError."""
        try:
            truncation.truncate_fully(self, offset, now_ms)
        except OSError as error:
            raise self.failure("truncate", error) from error
        finally:
            self._leader_epoch = UNDEFINED

    def delete_records_before(self, offset: int) -> None:
        """Let the log start at `offset`, and remove the segments that are wholly before it.

        Nothing happens if it starts there or later already. Raises OffsetOutOfRange above the end, StorageError.
        """
        try:
            truncation.delete_records_before(self, offset)
        except OSError as error:
            raise self.failure("delete records of", error) from error

    def remove_oldest(self, segments: Sequence[Segment]) -> None:
        """Remove these segments, the first ones of the log and not the active one. Raises StorageError."""
        try:
            truncation.remove_oldest(self, segments)
        except OSError as error:
            raise self.failure("delete segments of", error) from error

    def remove_next_due(self, high_watermark: int, now_ms: int) -> DueSegment | None:
        """Remove the oldest segment if retention lets it go now; return it with the reason, None if it stays.

        Call again until it stays. Raises StorageError, CorruptRecord.
        """
        try:
            return remove_next_due(self, high_watermark, now_ms)
        except OSError as error:
            raise self.failure("delete old segments of", error) from error

    def replace_segments(self, old: Sequence[Segment], new: Sequence[Segment]) -> list[str]:
        """Let `new` segments, whose files are in place, stand where `old` ones stood; the only way to do so.

        They are sealed, on the disk, and have the same offsets but for what compaction removed. Returns the files that
        are out of use besides those of `old`; readers that hold files of `old` go on. Raises nothing.
        """
        gone = {id(segment) for segment in old}
        assert id(self.segments.active) not in gone, "the active segment is never replaced"
        self.forget_places()
        self.segments.replace(old, new)
        self.size += sum(segment.size for segment in new) - sum(segment.size for segment in old)
        self.unsynced.segments = [segment for segment in self.unsynced.segments if id(segment) not in gone]
        self.unsynced.directories.add(self.directory)
        bases = {segment.base_offset for segment in new}
        doomed = []
        for segment in old:
            with suppress(OSError):  # the next start removes the snapshots that stand at no segment's base offset
                if segment.base_offset not in bases and (path := self.snapshots.mark_deleted(segment.base_offset)):
                    doomed.append(path)
        return doomed

    def expire_producers(self, now_ms: int) -> None:
        """Forget the producers that were not heard of for `producer.id.expiration.ms`."""
        self.producers.remove_expired(now_ms, self.producer_expiration_ms)

    def close(self) -> None:
        """Write what lets the next start be quick, wait until it is on the disk, and give all files back.

        Call `flush` before, if the stop is to count as clean: what derives from the data is not checked then at the
        next start. The log must not be used afterwards. Raises StorageError.
        """
        try:
            self.producers.end_offset = self.log_end_offset
            taken = self.snapshots.take(self.producers)
            self.leader_epochs.flush()
            for segment in self.segments:
                segment.close()
            if taken:
                file = self.snapshots.prepare_sync(self.log_end_offset)
                if file is not None:
                    file.sync()
                self.fs.sync_dir(self.directory)
        except OSError as error:
            raise self.failure("close", error) from error

    def failure(self, action: str, error: OSError) -> StorageError:
        """Return the error to raise for an OSError of this log."""
        return StorageError(f"Cannot {action} {self.topic}-{self.partition} in {self.directory}: {error}")
