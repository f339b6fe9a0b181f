"""The metadata log: Kafka's own `__cluster_metadata-0`, as the source of metadata of a single node.

Owns: appending what is proposed, making it durable before it counts, telling the watchers, and its own upkeep. Must
not know: what the records mean, how a log is read at start (`opening`). One batch is one change: after a crash it is
there as a whole or not at all. Batches are Kafka's (V2, `partitionLeaderEpoch` = raft epoch), so Apache Kafka opens the
same directory (KIP-595).
"""

from collections.abc import Callable, Sequence

from odradek.broker.metadata import cleaning
from odradek.broker.metadata.errors import StaleMetadataError
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.metadata.replay import apply
from odradek.broker.metadata.snapshot_writing import SnapshotWriter
from odradek.broker.metadata.source import Watcher
from odradek.broker.runtime.clock import Clock
from odradek.protocol.codec import encode
from odradek.protocol.messages.control_records import LeaderChangeMessage, Voter
from odradek.protocol.records.building import build_batch, make_records
from odradek.protocol.records.control import ControlType, build_control_batch
from odradek.storage.errors import StorageError
from odradek.storage.log.log import Log
from odradek.storage.producers.producer_state import AppendOrigin


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
        self._snapshots = snapshots
        self._limits = limits or cleaning.MetadataRetention()
        self._image = image
        self._epoch = epoch
        self._clock = clock
        self._watchers: list[Watcher] = []
        self._cut_to: int | None = None

    @property
    def image(self) -> MetadataImage:
        """The newest image."""
        return self._image

    @property
    def end_offset(self) -> int:
        """Where the next batch goes."""
        return self._log.log_end_offset

    def watch(self, watcher: Watcher) -> None:
        """Tell `watcher` of every change from now on."""
        self._watchers.append(watcher)

    def propose(self, records: Sequence[MetadataRecord], based_on: MetadataImage) -> MetadataImage:
        """Make the records part of the metadata, all or none, and return the image after them.

        They are on disk and every watcher has been told when this returns. Raises StaleMetadataError if `based_on` is
        no longer the newest image, KafkaError KAFKA_STORAGE_ERROR if the disk failed.
        """
        old = self._image
        if based_on is not old:
            raise StaleMetadataError("the metadata has changed since the proposal was planned")
        if not records:
            return old
        # Applied first, since a record that cannot be applied must never be written.
        new, delta = apply(old, records, self.end_offset + len(records), self._epoch)
        now_ms = self._clock.now_ms()
        batch = build_batch(make_records([(None, record.value) for record in records], now_ms))
        self._append(batch, now_ms)
        self._image = new
        for watcher in self._watchers:
            watcher(old, new, delta)
        self._snapshots.note(len(batch), new, now_ms)
        return new

    def begin_epoch(self, node_id: int) -> None:
        """Record that this node, the only voter, leads; Kafka's logs begin so."""
        voters = [Voter(voter_id=node_id)]
        change = LeaderChangeMessage(leader_id=node_id, voters=voters, granting_voters=voters)
        now_ms = self._clock.now_ms()
        self._append(build_control_batch([(ControlType.LEADER_CHANGE, encode(change, 0))], now_ms), now_ms)

    def upkeep(self) -> Callable[[], None] | None:
        """Set old snapshots and segments aside; return what writes a snapshot that is due, and removes old files.

        To be called now and then, and what it returns, if anything, on any thread. Raises OSError, StorageError.
        """
        now_ms = self._clock.now_ms()
        cleaning.clean(self._log.local.fs, self._log, self._limits, now_ms)
        snapshot = self._snapshots.due(self._image, now_ms)
        doomed = self._log.local.deletions.take_due(now_ms)
        if snapshot is None and not doomed:
            return None

        def wait_for_the_disk() -> None:
            if snapshot is not None:
                snapshot()
            self._log.local.deletions.remove(doomed)

        return wait_for_the_disk

    def close(self) -> None:
        """Give the files back; raises StorageError."""
        self._log.close()

    def _append(self, batch: bytearray, now_ms: int) -> None:
        """Append a batch and wait until it is on disk; otherwise the log stays, or later becomes again, as it was."""
        if self._cut_to is not None:
            self._cut(self._cut_to, now_ms)
        start = self._log.log_end_offset
        try:
            self._log.append(batch, self._epoch, now_ms, AppendOrigin.COORDINATOR)
            self._log.flush()
        except StorageError:
            # The batch may be on disk or not, and nobody has been told of it: it must not be there after a restart.
            self._cut_to = start
            self._cut(start, now_ms)
            raise

    def _cut(self, offset: int, now_ms: int) -> None:
        self._log.truncate_to(offset, now_ms)
        self._log.flush()
        self._cut_to = None
