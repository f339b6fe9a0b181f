"""The metadata log: Kafka's own `__cluster_metadata-0`, as the source of metadata of a single node.

Owns: appending what is proposed, making it durable before it counts, telling the watchers, and its own upkeep. Must
not know: what the records mean, how a log is read at start (`opening`). One batch is one change: after a crash it is
there as a whole or not at all. Batches are Kafka's (V2, `partitionLeaderEpoch` = raft epoch), so Apache Kafka opens the
same directory (KIP-595).

The disk is waited for on a thread, and what is proposed meanwhile shares the next fsync. Only one thread at a time uses
the log: a lock, which the event loop never takes, keeps the upkeep from it while a change is written.
"""

from asyncio import Future, get_running_loop
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import NamedTuple

from odradek.broker.metadata import cleaning
from odradek.broker.metadata.errors import StaleMetadataError
from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.metadata.replay import apply
from odradek.broker.metadata.snapshot_writing import SnapshotWriter
from odradek.broker.metadata.snapshots import SnapshotName
from odradek.broker.metadata.source import Stored, Watcher
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import InPlace, Threads
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.control_records import LeaderChangeMessage, Voter
from odradek.protocol.records.building import build_batch, make_records
from odradek.protocol.records.control import ControlType, build_control_batch
from odradek.storage.checkpoints.leader_epochs import EpochEnd, LeaderEpochCache
from odradek.storage.log.log import Log
from odradek.storage.producers.producer_state import AppendOrigin

log = get_logger("metadata")


class _Change(NamedTuple):
    """What a proposal leads to."""

    batch: bytearray
    now_ms: int
    image: MetadataImage
    """After the change."""
    delta: ImageDelta
    end_offset: int
    """Of the log, after the batch."""


@dataclass(slots=True)
class _Proposal:
    """One that is not answered yet."""

    change: _Change | None
    """None: it has no records, and waits for those before it."""
    outcome: Deferred[Stored]


class MetadataLog:
    """A `MetadataSource` on a log of this node."""

    def __init__(
        self,
        log: Log,
        image: MetadataImage,
        epoch: int,
        clock: Clock,
        snapshots: SnapshotWriter,
        limits: cleaning.MetadataRetention | None = None,
    ) -> None:
        """`image` is what the log leads to; `epoch` the raft epoch to write with; `limits` what of it may stay."""
        self._log = log
        self._lock = Lock()
        """Held by a thread while it uses the log."""
        self._threads: Threads = InPlace()
        self._snapshots = snapshots
        self._limits = limits or cleaning.MetadataRetention()
        self._image = self._proposed = image
        self._epoch = epoch
        self._clock = clock
        self._watchers: list[Watcher] = []
        self._end_offset = log.log_end_offset
        """Where the log ends once all that was proposed is in it."""
        self._durable_end = log.log_end_offset
        self._waiting: list[_Proposal] = []
        self._being_stored: list[_Proposal] = []
        self._settled: list[Future[None]] = []
        self._cut_to: int | None = None
        """Where the log must end before anything is appended: what is behind it was refused by the disk."""
        self._batch_watchers: list[Callable[[bytearray], None]] = []
        self._epochs = LeaderEpochCache(log.local.fs, log.directory)
        """Those of the log as this node began to lead: a copy for the event loop."""

    @property
    def image(self) -> MetadataImage:
        """The newest image that is durable."""
        return self._image

    @property
    def proposed(self) -> MetadataImage:
        """The image after all that was proposed, durable or not."""
        return self._proposed

    @property
    def end_offset(self) -> int:
        """Where the next batch goes."""
        return self._end_offset

    @property
    def epoch(self) -> int:
        """The raft epoch that is written with."""
        return self._epoch

    @property
    def start_offset(self) -> int:
        """Where the log begins."""
        return self._log.log_start_offset

    @property
    def high_watermark(self) -> int:
        """Where what is durable ends, so that others may have it: the only voter's own end of the log (KIP-595)."""
        return self._durable_end

    @property
    def directory(self) -> str:
        """The directory of log and snapshots."""
        return self._log.directory

    @property
    def newest_snapshot(self) -> SnapshotName | None:
        """The newest whole snapshot, if there is one."""
        return self._snapshots.newest

    def end_offset_for_epoch(self, epoch: int) -> EpochEnd:
        """Return the largest epoch up to this one, and the offset at which it ends (KIP-595); of the time since this
        node leads."""
        return self._epochs.end_offset_for(epoch, self._durable_end)

    def read(self, offset: int, max_bytes: int, upto: int) -> bytes:
        """Return whole batches of the log from the one with `offset` on up to the offset `upto`, one at least.

        To be called on a thread; `upto` must be a high watermark. Raises OffsetOutOfRange, StorageError.
        """
        with self._lock:
            region = self._log.read(offset, max_bytes, upto, at_least_one=True)
        return b"" if region.file is None else region.file.pread(region.length, region.position)

    def read_snapshot(self, name: SnapshotName, position: int, length: int) -> tuple[int, bytes]:
        """Return the size of a snapshot, and its bytes from `position` on; to be called on a thread.

        Raises FileNotFoundError, OSError.
        """
        file = self._log.local.fs.open(f"{self._log.directory}/{name}", writable=False)
        try:
            size = file.size()
            return size, file.pread(max(0, min(length, size - position)), position)
        finally:
            file.close()

    def watch_batches(self, watcher: Callable[[bytearray], None]) -> None:
        """Give every batch to `watcher` as it stands in the log, once it is durable; before the others are told."""
        self._batch_watchers.append(watcher)

    def use_threads(self, threads: Threads) -> None:
        """Wait for the disk on these threads from now on; until then, at start, `propose` itself does.

        Two of them are needed: a snapshot that is being written must keep no change waiting.
        """
        self._threads = threads

    def watch(self, watcher: Watcher) -> None:
        """Tell `watcher` of every change from now on."""
        self._watchers.append(watcher)

    def propose(self, records: Sequence[MetadataRecord], based_on: MetadataImage) -> Stored | Deferred[Stored]:
        """Make the records part of the metadata, all or none; see `MetadataSource.propose`."""
        return self.prepare(records, based_on)()

    def prepare(
        self, records: Sequence[MetadataRecord], based_on: MetadataImage
    ) -> Callable[[], Stored | Deferred[Stored]]:
        """Do what a proposal takes on any thread, and return what proposes it; see `MetadataSource.prepare`."""
        self._check_newest(based_on)
        if not records:
            return partial(self._enqueue, None, based_on)
        # Applied first, since a record that cannot be applied must never be written.
        end_offset = self._end_offset + len(records)
        new, delta = apply(based_on, records, end_offset, self._epoch)
        now_ms = self._clock.now_ms()
        batch = build_batch(make_records([(None, record.value) for record in records], now_ms))
        return partial(self._enqueue, _Change(batch, now_ms, new, delta, end_offset), based_on)

    def _check_newest(self, based_on: MetadataImage) -> None:
        if based_on is not self._proposed:
            raise StaleMetadataError("the metadata has changed since the proposal was planned")

    def _enqueue(self, change: _Change | None, based_on: MetadataImage) -> Stored | Deferred[Stored]:
        self._check_newest(based_on)
        if change is not None:
            self._proposed, self._end_offset = change.image, change.end_offset
        elif not self._waiting and not self._being_stored:
            return self._image
        outcome: Deferred[Stored] = Deferred()
        self._waiting.append(_Proposal(change, outcome))
        if not self._being_stored:
            self._store()
        return outcome.now_or_later()

    def begin_epoch(self, node_id: int) -> None:
        """Record that this node, the only voter, leads; Kafka's logs begin so. Raises StorageError."""
        voters = [Voter(voter_id=node_id)]
        change = LeaderChangeMessage(leader_id=node_id, voters=voters, granting_voters=voters)
        now_ms = self._clock.now_ms()
        self._append([(build_control_batch([(ControlType.LEADER_CHANGE, encode(change, 0))], now_ms), now_ms)])
        self._end_offset = self._durable_end = self._log.log_end_offset
        self._epochs = LeaderEpochCache(self._log.local.fs, self._log.directory, self._log.leader_epochs.entries)

    def upkeep(self) -> Callable[[], None]:
        """Return what writes a snapshot that is due, and sets aside and removes old snapshots and segments.

        To be called now and then, and what it returns on any thread but the event loop's. That raises OSError,
        StorageError.
        """
        now_ms = self._clock.now_ms()
        snapshot = self._snapshots.due(self._image, now_ms)

        def wait_for_the_disk() -> None:
            if snapshot is not None:
                snapshot()
            with self._lock:
                cleaning.clean(self._log.local.fs, self._log, self._limits, now_ms)
                doomed = self._log.local.deletions.take_due(now_ms)
            self._log.local.deletions.remove(doomed)

        return wait_for_the_disk

    async def settle(self) -> None:
        """Wait until all that was proposed is stored, or refused."""
        while self._being_stored:
            settled: Future[None] = get_running_loop().create_future()
            self._settled.append(settled)
            await settled

    def close(self) -> None:
        """Give the files back; nothing must be under way. Raises StorageError."""
        self._log.close()

    # storing

    def _store(self) -> None:
        """Have all that waits written and synced, as one."""
        self._being_stored, self._waiting = self._waiting, []
        batches = [(one.change.batch, one.change.now_ms) for one in self._being_stored if one.change is not None]
        self._threads.submit(partial(self._append, batches), self._answer)

    def _answer(self, failed: BaseException | None) -> None:
        """Take note that what was being stored is durable, or is not going to be."""
        ended = self._being_stored
        if failed is None:
            for proposal in ended:
                if proposal.change is not None:
                    self._publish(proposal.change)
                proposal.outcome.resolve(self._image)
        else:
            ended = ended + self._waiting  # these were planned on what has not happened
            self._waiting = []
            self._proposed, self._end_offset = self._image, self._durable_end
            error = _storage_error(failed)
            for proposal in ended:
                proposal.outcome.resolve(error)
        self._being_stored = []
        if self._waiting:
            self._store()
        elif self._settled:
            settled, self._settled = self._settled, []
            for waiting in settled:
                waiting.set_result(None)

    def _publish(self, change: _Change) -> None:
        old, self._image = self._image, change.image
        self._durable_end = change.end_offset
        for batch_watcher in self._batch_watchers:
            batch_watcher(change.batch)
        for watcher in self._watchers:
            try:
                watcher(old, change.image, change.delta)
            except Exception:
                log.exception("a part of the broker could not follow a change of the metadata")
        snapshot = self._snapshots.note(len(change.batch), change.image, change.now_ms)
        if snapshot is not None:
            self._threads.submit(snapshot, _ignore)

    def _append(self, batches: Sequence[tuple[bytearray, int]]) -> None:
        """Append batches, each with its time in ms, and wait until they are on disk; on any thread.

        Raises StorageError; the log stays then, or later becomes again, as it was.
        """
        with self._lock:
            if not batches:
                return
            now_ms = batches[-1][1]
            if self._cut_to is not None:
                self._cut(self._cut_to, now_ms)
            start = self._log.log_end_offset
            try:
                for batch, batch_ms in batches:
                    self._log.append(batch, self._epoch, batch_ms, AppendOrigin.COORDINATOR)
                self._log.flush()
            except Exception:
                # They may be on disk or not, and nobody has been told of them: they must not be there after a restart.
                self._cut_to = start
                self._cut(start, now_ms)
                raise

    def _cut(self, offset: int, now_ms: int) -> None:
        self._log.truncate_to(offset, now_ms)
        self._log.flush()
        self._cut_to = None


def _ignore(_failed: BaseException | None) -> None:
    """A snapshot that was not written is tried again, and has said so."""


def _storage_error(failed: BaseException) -> KafkaError:
    if isinstance(failed, KafkaError):
        return failed
    log.error("a change of the metadata failed", exc_info=failed)
    return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(failed))
