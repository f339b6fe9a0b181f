"""The copy of the metadata log that a node keeps which is no voter: its files, and the image that they lead to.

Owns: appending what the leader sent, cutting what it does not have, snapshots, and which image may be seen: one below
the high watermark, since what is above it may still be replaced. Must not know: requests, the event loop. All of it
waits for the disk and is called on threads, one call at a time; only `upkeep` may run beside, a lock keeps it apart.
An observer does not sync what it appends: whatever is lost in a crash is fetched again (KIP-595).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Final, NamedTuple

from odradek.broker.metadata import cleaning
from odradek.broker.metadata.batches import MetadataReplay
from odradek.broker.metadata.cleaning import remove_leftovers
from odradek.broker.metadata.difference import difference
from odradek.broker.metadata.errors import CorruptMetadataError, UnsupportedMetadataError
from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.metadata.loading import LoadedMetadata, load_metadata
from odradek.broker.metadata.opening import MetadataOptions, open_records
from odradek.broker.metadata.quorum_state import QUORUM_STATE_FILE, QuorumState, read_quorum_state, write_quorum_state
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.metadata.replay import apply
from odradek.broker.metadata.snapshot_writing import SnapshotWriter
from odradek.broker.metadata.snapshots import PART_SUFFIX, SnapshotName, is_undamaged_file
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.records.batch import iter_batches
from odradek.storage.checkpoints.leader_epochs import UNDEFINED
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.names import METADATA_TOPIC, TopicPartition, directory_name

_PARTITION: Final = TopicPartition(METADATA_TOPIC, 0)

log = get_logger("metadata")


class NewImage(NamedTuple):
    """An image that may be seen, and what is different in it."""

    image: MetadataImage
    delta: ImageDelta


class _Batch(NamedTuple):
    """A batch that is in the log and not in the image yet."""

    end_offset: int
    data: bytes


class MetadataCopy:
    """The log, its snapshots, and the image up to the high watermark."""

    def __init__(self, fs: FileSystem, directory: str, options: MetadataOptions, clock: Clock) -> None:
        """Open what is in the directory of the metadata log, or begin there with nothing.

        A copy that cannot be read, as a power failure may leave it, is removed: the controllers have it. Raises
        UnsupportedMetadataError where this node has decided itself, StorageError, OSError.
        """
        # A marker of a clean stop says nothing of the copy: it stays until the logs are opened, which is not before the
        # controllers have registered the broker, and meanwhile the copy goes on.
        options = options._replace(clean=False)
        self._fs = fs
        self._directory = directory
        self._options = options
        self._clock = clock
        self._lock = Lock()
        try:
            loaded = _load(fs, directory, options.node_id)
        except CorruptMetadataError as damaged:
            log.warning("the copy of the metadata is fetched again", directory=directory, damage=str(damaged))
            _remove_copy(fs, directory)
            loaded = _load(fs, directory, options.node_id)
        now_ms = clock.now_ms()
        self._log = open_records(fs, directory, loaded, options, now_ms)
        remove_leftovers(fs, self._log)
        self.state = read_quorum_state(fs, directory)
        self._is_seen = False
        """Whether the image was handed out: what it has must stay."""
        self._waiting: deque[_Batch] = deque()
        self._unnoted = 0
        """Bytes that the snapshots have not been told of."""
        self._part: OpenFile | None = None
        self._take(loaded)

    def _take(self, loaded: LoadedMetadata) -> None:
        """Go on from what was read from the disk."""
        options, now_ms = self._options, self._clock.now_ms()
        self._image = loaded.image
        self._records: list[MetadataRecord] = []
        self._replay = MetadataReplay(
            self._records.append, loaded.quorum, first=loaded.image.offset, transactions=loaded.transactions
        )
        self._snapshots = SnapshotWriter(
            self._fs, self._directory, loaded.quorum, options.node_id, options.snapshots, now_ms
        )
        self._snapshots.begin(loaded.snapshot, loaded.bytes_behind_snapshot)
        self._snapshot_epoch = loaded.image.epoch

    @property
    def end_offset(self) -> int:
        """Where the next batch goes."""
        return self._log.log_end_offset

    @property
    def end_epoch(self) -> int:
        """The epoch of the last batch, that of the snapshot where the log has none behind it; 0 in the beginning."""
        latest = self._log.leader_epochs.latest
        return latest if latest != UNDEFINED else self._snapshot_epoch

    def append(self, data: bytes, high_watermark: int) -> NewImage | None:
        """Append batches as the leader sent them, and return the image that may be seen with this high watermark.

        None where there is nothing new to see. Raises CorruptRecord, OffsetOutOfRange, StorageError with nothing
        appended; CorruptMetadataError and UnsupportedMetadataError for records that cannot be applied.
        """
        with self._lock:
            if data:
                appended = self._log.append_as_follower(memoryview(data), self._clock.now_ms())
                for position, header in iter_batches(data[: appended.size]):
                    batch = data[position : position + header.size]
                    self._waiting.append(_Batch(header.next_offset, batch))
            return self._advance(high_watermark)

    def _advance(self, high_watermark: int) -> NewImage | None:
        old = self._image
        if high_watermark < old.offset:
            return None
        due = []
        while self._waiting and self._waiting[0].end_offset <= high_watermark:
            due.append(self._waiting.popleft().data)
        if not due and self._is_seen:
            return None
        size = 0
        for data in due:
            size += len(data)
            if self._replay.read(memoryview(data)) < len(data):
                raise CorruptMetadataError(f"the leader sent a damaged batch at offset {self._replay.offset}")
        records, self._records[:] = list(self._records), []
        offset = max(self._replay.offset, old.offset)
        self._image, delta = apply(old, records, offset, max(self._replay.epoch, old.epoch))
        if not self._is_seen:
            self._is_seen = True
            delta = difference(MetadataImage(), self._image)
        self._snapshot_if_due(size)
        return NewImage(self._image, delta)

    def _snapshot_if_due(self, size: int) -> None:
        self._unnoted += size
        if self._replay.transactions.is_open:
            return  # a snapshot would have half of it
        write = self._snapshots.note(self._unnoted, self._image, self._clock.now_ms())
        self._unnoted = 0
        if write is not None:
            write()

    def truncate(self, epoch: int, end_offset: int) -> None:
        """Cut what the leader does not have: it has `epoch` up to `end_offset`, and nothing of ours behind that.

        Raises CorruptMetadataError where that would take back what was seen, StorageError.
        """
        with self._lock:
            ours = self._log.end_offset_for_epoch(epoch).end_offset
            offset = max(end_offset if ours < 0 else min(end_offset, ours), self._log.log_start_offset)
            if self._is_seen and offset < self._image.offset:
                raise CorruptMetadataError(
                    f"the controllers' metadata goes another way from offset {offset} on, and this broker has taken"
                    f" theirs over up to {self._image.offset} before: they have lost what they had decided"
                )
            log.info("metadata cut back to what the controllers have", offset=offset, end_offset=self.end_offset)
            self._log.truncate_to(offset, self._clock.now_ms())
            while self._waiting and self._waiting[-1].end_offset > self.end_offset:
                self._waiting.pop()
            if self.end_offset < self._image.offset:
                self._take(_load(self._fs, self._directory, self._options.node_id))
                self._waiting.clear()

    # snapshots of the leader

    def begin_snapshot(self, name: SnapshotName) -> None:
        """Begin to take a snapshot over. Raises OSError."""
        self._end_part()
        path = f"{self._directory}/{name}{PART_SUFFIX}"
        with suppress(FileNotFoundError):
            self._fs.unlink(path)
        self._part = self._fs.open(path, create=True)

    def append_snapshot(self, data: bytes) -> None:
        """Take the next piece. Raises OSError."""
        assert self._part is not None, "no snapshot was begun"
        self._part.write(data)

    def finish_snapshot(self, name: SnapshotName) -> NewImage:
        """Let the snapshot stand for the log up to its end, and return its image.

        Raises CorruptMetadataError where what came is not a whole snapshot or is older than what was seen, OSError,
        StorageError.
        """
        assert self._part is not None, "no snapshot was begun"
        with self._lock:
            path = f"{self._directory}/{name}"
            self._part.sync()
            self._end_part()
            if not is_undamaged_file(self._fs, path + PART_SUFFIX):
                self._fs.unlink(path + PART_SUFFIX)
                raise CorruptMetadataError(f"the snapshot {name} that the controller sent is damaged")
            old = self._image if self._is_seen else MetadataImage()
            if name.end_offset < old.offset:
                raise CorruptMetadataError(
                    f"the controllers begin at a snapshot of offset {name.end_offset}, and this broker has taken theirs"
                    f" over up to {old.offset} before: they have lost what they had decided"
                )
            self._fs.rename(path + PART_SUFFIX, path)
            self._fs.sync_dir(self._directory)
            self._log.truncate_fully(name.end_offset, self._clock.now_ms())
            self._waiting.clear()
            self._take(_load(self._fs, self._directory, self._options.node_id))
            self._is_seen = True
            return NewImage(self._image, difference(old, self._image))

    def _end_part(self) -> None:
        if self._part is not None:
            self._part.close()
            self._part = None

    # the rest

    def write_state(self, state: QuorumState) -> None:
        """Note the epoch and who leads in it; durable on return. Raises OSError."""
        write_quorum_state(self._fs, self._directory, state)
        self.state = state

    def upkeep(self) -> Callable[[], None]:
        """Return what writes a snapshot that is due, and sets aside and removes old snapshots and segments."""
        now_ms = self._clock.now_ms()

        def wait_for_the_disk() -> None:
            with self._lock:
                is_open = self._replay.transactions.is_open
                write = None if is_open or not self._is_seen else self._snapshots.due(self._image, now_ms)
                if write is not None:
                    write()
                cleaning.clean(self._fs, self._log, self._options.limits, now_ms)
                doomed = self._log.local.deletions.take_due(now_ms)
            self._log.local.deletions.remove(doomed)

        return wait_for_the_disk

    def close(self) -> None:
        """Give the files back. Raises StorageError."""
        with self._lock:
            self._end_part()
            self._log.flush()
            self._log.close()


def metadata_directory(log_dir: str) -> str:
    """Return the directory of the metadata log in a log directory."""
    return f"{log_dir}/{directory_name(_PARTITION)}"


def _load(fs: FileSystem, directory: str, node_id: int) -> LoadedMetadata:
    """Read what is there. Raises UnsupportedMetadataError, CorruptMetadataError."""
    loaded = load_metadata(fs, directory)
    owners = loaded.quorum.voters or (() if loaded.quorum.leader is None else (loaded.quorum.leader,))
    if node_id in owners:
        raise UnsupportedMetadataError(
            f"the metadata in {directory} was decided by this node as a controller of its own, and process.roles says"
            " that others decide: choose an empty directory in log.dirs, or start with process.roles=broker,controller"
        )
    return loaded


def _remove_copy(fs: FileSystem, directory: str) -> None:
    """Remove all but the quorum-state: an epoch that was seen must not be forgotten. Raises OSError."""
    for name in fs.listdir(directory):
        if name != QUORUM_STATE_FILE:
            fs.unlink(f"{directory}/{name}")
    fs.sync_dir(directory)
