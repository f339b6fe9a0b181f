"""A log: the record batches of one partition, in order, on disk, and what follows from them.

A log is a row of segments. Batches are appended to the last, *active* one; when that is full, or its records span too
much time, the log *rolls*: a new one starts at the next offset. A reader gets a region of one segment's file, which
goes to the socket as it is. Old data goes by whole segments, from the front.

The bytes are the `LocalLog`'s, where they end, and what of them is on the disk. Here is what makes them a partition:
where readers may begin (`log_start_offset`), what the producers did (`producers`), at which offset each leader took
over (`leader_epochs`). All of that changes only after the bytes were written. Three callers append, and differ in what
they check and assign: a leader with a client's batch (`append`), one with the end of a transaction (`append_marker`),
and a follower (`append_as_follower`).

Not here: how a client's batch is checked (`storage.validation`), what readers may see of the end of the log (the
broker's part), when data is old enough to go, and any thread or clock. Follows Kafka's `UnifiedLog`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from odradek.config.topic import TopicConfig
from odradek.protocol.records.batch import NO_PRODUCER_ID, read_header
from odradek.protocol.records.errors import InvalidRecord
from odradek.storage.checkpoints.leader_epochs import UNDEFINED, EpochEnd
from odradek.storage.deletions import PendingDeletions
from odradek.storage.errors import OffsetOutOfRange, StorageError
from odradek.storage.files import FileSystem
from odradek.storage.log.flush_plan import FlushPlan
from odradek.storage.log.loaded_log import LoadedLog
from odradek.storage.log.local_log import LocalLog, NoteError
from odradek.storage.log.log_values import AppendInfo, LogSlice
from odradek.storage.log.replicated_batches import ReplicatedBatches, check_replicated
from odradek.storage.names import LEADER_EPOCH_FILE
from odradek.storage.producers.producer_entry import Verification
from odradek.storage.producers.producer_replay import index_if_aborted, read_marker, replay, replay_segments
from odradek.storage.producers.producer_state import AppendOrigin
from odradek.storage.segment.log_segments import Segments
from odradek.storage.segment.segment import Segment
from odradek.storage.segment.transaction_index import AbortedTxn
from odradek.storage.validation import (
    Effort,
    ValidatedBatch,
    assign_offsets,
    validate_client_batch,
    validation_rules,
)


class Log:
    """One partition's log. Made from what `storage.opening.loader` found on disk; see there for how to open one."""

    __slots__ = (
        "_leader_epoch",
        "leader_epochs",
        "local",
        "log_start_offset",
        "partition",
        "producer_expiration_ms",
        "producers",
        "rules",
        "snapshots",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        fs: FileSystem,
        loaded: LoadedLog,
        config: TopicConfig,
        deletions: PendingDeletions,
        note_error: NoteError | None = None,
    ) -> None:
        self.topic, self.partition = loaded.partition
        self.topic_id = loaded.topic_id
        self.log_start_offset = loaded.log_start_offset
        """First offset that can be read; the first segment may begin before it."""
        self.leader_epochs = loaded.leader_epochs
        self.producers = loaded.producers
        self.producer_expiration_ms = loaded.producer_expiration_ms
        self.snapshots = loaded.snapshots
        """What keeps the producers over a restart: one at the base offset of each segment spares replaying all."""
        self.local = LocalLog(
            fs, loaded, config, deletions, partial(self.snapshots.take_at, self.producers), note_error
        )
        """The bytes; for other modules to be read only."""
        self._leader_epoch = UNDEFINED
        """The epoch of the last batch, if it was appended since the log was opened."""
        self.rules = validation_rules(config, self.local.name)
        """What the topic's configuration asks of the batches of clients."""

    def __repr__(self) -> str:
        return f"Log({self.directory!r}, {self.log_start_offset} to {self.log_end_offset})"

    def update_config(self, config: TopicConfig) -> None:
        """Follow a change of the topic's configuration; how segments are indexed changes with the next one."""
        self.local.update_config(config)
        self.rules = validation_rules(config, self.local.name)

    @property
    def config(self) -> TopicConfig:
        """The topic's configuration."""
        return self.local.config

    @property
    def directory(self) -> str:
        """The directory of the partition."""
        return self.local.directory

    @property
    def segments(self) -> Segments:
        """All segments, oldest first. For other modules to be read only."""
        return self.local.segments

    @property
    def log_end_offset(self) -> int:
        """Offset that the next record gets."""
        return self.local.log_end_offset

    @property
    def recovery_point(self) -> int:
        """Records below this offset are on disk, not only in the page cache."""
        return self.local.recovery_point

    @property
    def size(self) -> int:
        """Bytes of all data files."""
        return self.local.size

    # --- writing

    def append(
        self,
        batch: memoryview | bytearray | ValidatedBatch,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: Verification | None = None,
        effort: Effort | None = None,
    ) -> AppendInfo:
        """Append one batch as the leader: give it the next offsets, in place, and write it.

        A client's batch is validated first, if it is not yet, with the `effort` that is left, and replaced where the
        topic wants another compression; the broker's own (COORDINATOR) is only given its offsets. `guard` says that the
        batch's transaction was verified (KIP-890). Raises what `validate_client_batch` and `ProducerStates.check`
        raise, RecordListTooLarge for more than a segment holds, and StorageError if the disk failed; nothing was
        appended then.
        """
        data: memoryview | bytearray
        if isinstance(batch, ValidatedBatch):
            data, header, log_append_time_ms, max_timestamp = batch
        elif origin is AppendOrigin.CLIENT:
            data, header, log_append_time_ms, max_timestamp = validate_client_batch(batch, self.rules, now_ms, effort)
        else:
            data, header, log_append_time_ms = batch, read_header(batch), -1
            max_timestamp = header.max_timestamp
        local = self.local
        size = len(data)
        if size > local.limits.segment_bytes:
            raise local.too_large(size)
        producer_id = header.producer_id
        if producer_id != NO_PRODUCER_ID:
            written = self.producers.check(header, origin, guard)
            if written is not None:
                first_offset, last_offset, timestamp = written
                start = self.log_start_offset
                return AppendInfo(first_offset, last_offset, timestamp, timestamp, start, 0, duplicate=True)
        first_offset = local.log_end_offset
        last_offset = first_offset + header.last_offset_delta
        assign_offsets(data, first_offset, leader_epoch)
        local.append(data, first_offset, last_offset, max_timestamp, now_ms)
        if leader_epoch != self._leader_epoch:
            self._note_leader_epoch(leader_epoch, first_offset)
        if producer_id != NO_PRODUCER_ID:
            self.producers.update(header, first_offset)
        start = self.log_start_offset
        return AppendInfo._make(  # a third of the time of a call
            (first_offset, last_offset, max_timestamp, log_append_time_ms, start, size, False)
        )

    def append_marker(self, batch: bytearray, leader_epoch: int, now_ms: int, transaction_version: int) -> AppendInfo:
        """Append the control batch that ends a transaction on this partition (`build_end_transaction_batch`).

        An aborted transaction goes into the transaction index of the segment, for readers of committed records
        (KIP-98, KIP-890). Raises InvalidProducerEpoch or CoordinatorFenced for a marker that comes too late,
        StorageError.
        """
        header, marker = read_header(batch), read_marker(batch)
        if marker is None:
            raise InvalidRecord("The batch is no transaction marker")
        self.producers.check_marker(header, marker.coordinator_epoch, transaction_version)
        local, timestamp = self.local, header.max_timestamp
        offset = local.log_end_offset
        last_offset = offset + header.last_offset_delta
        assign_offsets(batch, offset, leader_epoch)
        segment = local.append(batch, offset, last_offset, timestamp, now_ms)
        self._note_leader_epoch(leader_epoch, offset)
        completed = self.producers.update_marker(header, offset, marker.coordinator_epoch, not marker.committed)
        index_if_aborted(segment, completed)
        return AppendInfo(offset, last_offset, timestamp, -1, self.log_start_offset, len(batch))

    def append_as_follower(self, data: memoryview, now_ms: int) -> AppendInfo:
        """Append the whole batches of what another replica sent; raises what the two steps of it raise."""
        checked = self.check_as_follower(data)
        if checked is None:
            return AppendInfo(-1, -1, -1, -1, self.log_start_offset, 0)
        return self.append_replicated(checked, now_ms)

    def check_as_follower(self, data: memoryview) -> ReplicatedBatches | None:
        """Return the whole batches of what another replica sent, None for none; raises what `check_replicated` does."""
        return check_replicated(data, self.local.log_end_offset, self.local.name)

    def append_replicated(self, checked: ReplicatedBatches, now_ms: int) -> AppendInfo:
        """Append batches that were checked for where the log ends now, as they are, with one write.

        Raises StorageError.
        """
        local = self.local
        data, batches, first, last, timestamp = checked
        extents = ((header.size, header.last_offset, header.max_timestamp) for _, header in batches)
        segment = local.append(data, first, last, timestamp, now_ms, extents)
        for position, header in batches:
            self._note_leader_epoch(header.partition_leader_epoch, header.base_offset)
            index_if_aborted(segment, replay(self.producers, header, data[position : position + header.size]))
        return AppendInfo(first, last, timestamp, -1, self.log_start_offset, len(data))

    def begin_leader_epoch(self, leader_epoch: int) -> None:
        """Let a new epoch begin at the end of the log; the first batch that is appended in it makes it last."""
        if leader_epoch >= 0:
            self.leader_epochs.announce(leader_epoch, self.log_end_offset)

    def _note_leader_epoch(self, leader_epoch: int, start_offset: int) -> None:
        """Note that the batches from `start_offset` on were written in this epoch; -1 stands for an unknown one."""
        if leader_epoch >= 0:
            self.leader_epochs.assign(leader_epoch, start_offset)
        self._leader_epoch = leader_epoch

    def roll(self, now_ms: int) -> Segment:
        """Start a new segment at the end of the log, and return it.

        The old one is on disk once the next flush is done. An empty active segment is not left behind. Raises
        StorageError, and the log goes on with the segment that it had.
        """
        with self.local.translated("start a new segment in"):
            return self.local.roll(self.log_end_offset, now_ms)

    # --- reading

    def read(self, offset: int, max_bytes: int, upto: int, at_least_one: bool, wait: bool = True) -> LogSlice:
        """Return where the batches from `offset` on lie, in one segment, up to `max_bytes` and to the offset `upto`.

        The slice starts at the batch that has the offset, or the next one where compaction removed it. With
        `at_least_one`, a first batch that is larger than `max_bytes` is in it nevertheless, whole. Empty at `upto` and
        beyond. `upto` must be where a batch starts. Raises OffsetOutOfRange below the start and above the end of the
        log, StorageError if the disk failed, and NotInMemory if it is not to `wait` for the disk and would have to.
        """
        local = self.local
        log_end = local.log_end_offset
        if not self.log_start_offset <= offset <= log_end:
            raise OffsetOutOfRange(
                f"Received request for offset {offset} for partition {self.topic}-{self.partition}, but we only have "
                f"log segments from offset {self.log_start_offset} to {log_end}."
            )
        try:
            if offset >= upto or offset == log_end:
                return local.reader.nothing(offset, log_end)
            return local.reader.slice(offset, max_bytes, upto, at_least_one, log_end, wait)
        except OSError as error:
            raise self.local.failure("read from", error) from error

    def upper_bound(self, region: LogSlice) -> int:
        """Return an offset that is above all records of the slice, and seldom far above. Raises StorageError."""
        try:
            return self.local.reader.upper_bound(region, self.log_end_offset)
        except OSError as error:
            raise self.local.failure("read from", error) from error

    def aborted_transactions(self, offset: int, upto: int, wait: bool = True) -> list[AbortedTxn]:
        """Return the aborted transactions with records or marker in [offset, upto), in the order of their markers.

        Raises StorageError, and NotInMemory if it is not to `wait` for the disk and would have to.
        """
        try:
            return self.local.reader.aborted_transactions(offset, upto, wait)
        except OSError as error:
            raise self.local.failure("read from", error) from error

    def end_offset_for_epoch(self, leader_epoch: int) -> EpochEnd:
        """Return the largest leader epoch up to this one, and the offset at which it ends (KIP-279)."""
        return self.leader_epochs.end_offset_for(leader_epoch, self.log_end_offset)

    # --- making it durable

    def prepare_flush(self) -> FlushPlan | None:
        """Return what has to be synced so that all that was appended is on disk, None if it is. Raises StorageError."""
        with (local := self.local).translated("flush"):
            if self.leader_epochs.has_changed or local.sync_problem:
                self.leader_epochs.flush(sync=False)
                local.note_unsynced(f"{self.directory}/{LEADER_EPOCH_FILE}")
            return local.prepare_flush()

    def flush(self) -> None:
        """Wait until everything appended is on disk. Raises StorageError."""
        plan = self.prepare_flush()
        if plan is not None:
            try:
                plan.run()
            except (OSError, StorageError) as error:
                raise self.local.sync_failed(error) from error
            self.local.complete_flush(plan)

    # --- taking away

    def truncate_to(self, offset: int, now_ms: int) -> bool:
        """Remove the records from `offset` on, a batch that has it in its middle too; return whether there were any.

        Raises StorageError. Follows Kafka's log behaviour (`UnifiedLog.truncateTo`).
        """
        if offset >= self.log_end_offset:
            # an epoch that this replica began as leader, and wrote nothing in, is none that others know
            self.leader_epochs.truncate_from_end(self.log_end_offset)
            return False
        if offset < self.segments.first.base_offset:
            self.truncate_fully(offset, now_ms)
            return True
        self._leader_epoch = UNDEFINED
        with (local := self.local).translated("truncate"):
            self.producers.end_offset = local.log_end_offset  # appending does not keep it: they are not as of the cut
            self._delete_snapshots(local.segments.above(offset))
            end = local.truncate_to(offset, now_ms)
            self.log_start_offset = min(self.log_start_offset, end)
            self.leader_epochs.truncate_from_end(end)
            expired_before_ms = now_ms - self.producer_expiration_ms
            self.snapshots.reload(self.producers, self.log_start_offset, end, expired_before_ms)
            replay_segments(self.producers, self.segments.since(self.producers.end_offset), end)
            local.sync_cut()
        return True

    def truncate_fully(self, offset: int, now_ms: int) -> None:
        """Remove all records and start anew at `offset`. Raises StorageError."""
        self._leader_epoch = UNDEFINED
        with self.local.translated("truncate"):
            self._delete_snapshots(list(self.segments))
            self.local.truncate_fully(offset, now_ms)
            self.log_start_offset = offset
            self.leader_epochs.clear()
            self.snapshots.delete_all()
            self.producers.replace((), offset)

    def delete_records_before(self, offset: int) -> None:
        """Let the log start at `offset`, and remove the segments that are wholly before it.

        Nothing happens if it starts there or later already. Raises OffsetOutOfRange above the end, StorageError.
        Follows `UnifiedLog.maybeIncrementLogStartOffset`.
        """
        if not 0 <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(
                f"Cannot increment the log start offset to {offset} of partition {self.local.name} since it is "
                f"larger than the log end offset {self.log_end_offset}"
            )
        with self.local.translated("delete records of"):
            self._raise_start(offset)
        self.remove_oldest(self.local.segments.before(offset))

    def remove_oldest(self, segments: Sequence[Segment]) -> None:
        """Remove these segments, the first ones of the log and not the active one. Raises StorageError."""
        with self.local.translated("delete segments of"):
            for segment in segments:
                following = self.segments.after(segment)
                assert following is not None, "the active segment is never removed"
                self._raise_start(following.base_offset)
                self._delete_snapshots([segment])
                self.local.remove(segment)

    def _raise_start(self, offset: int) -> None:
        """Let the log start at `offset`, unless it starts there or later.

        The recovery point stays: what is gone now may be back after a crash, and was perhaps never on the disk.
        """
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.leader_epochs.truncate_from_start(offset)
            self.snapshots.raise_start(self.producers, offset)

    def _delete_snapshots(self, segments: Sequence[Segment]) -> None:
        """Take the snapshots of the producers from segments that are about to go; without one, more is replayed."""
        for segment in segments:
            path = self.snapshots.mark_deleted(segment.base_offset)
            if path is not None:
                self.local.delete_later(path)

    def close(self) -> None:
        """Write what lets the next start be quick, wait until it is on the disk, and give all files back.

        Call `flush` before, if the stop is to count as clean: what derives from the data is not checked then at the
        next start. The log must not be used afterwards. Raises StorageError.
        """
        with (local := self.local).translated("close"):
            taken = self.snapshots.take_at(self.producers, local.log_end_offset)
            self.leader_epochs.flush()
            local.close()
            if taken is not None:
                local.fs.open(taken).sync()
                local.fs.sync_dir(local.directory)
