"""Opening a log: from the files of a partition directory to the value that a `Log` is made from.

A load goes over the directory in passes:

1. Names (`storage.opening.leftovers`): files that a stop left half-made or half-removed (`.deleted`, `.cleaned`,
   `.tmp`) go, a compaction that was committed (`.swap`) is carried out, indexes without their data file go.
2. Segments: one for each data file; no content is read yet.
3. Content: after an unclean stop, the segments from the recovery point on are checked batch by batch, cut at the first
   bad one, and indexed anew; segments behind a cut go. After a clean stop only the end of the last one is looked at.
4. Start: a log that ends before the place where it should start begins anew there.
5. Producers: from the newest snapshot, and the batches after it.

The data is the truth, all else is derived: what is missing or cannot be right is made anew, here or, for the indexes
of old segments, when it is first needed. Loading again changes nothing more. Only the removal of segments is synced;
what a recovery wrote is covered by the next flush. Follows Kafka's storage format, suffixes and crash recovery at load,
and log behaviour, start-up load and recovery (`LogLoader`).
"""

from bisect import bisect_right
from dataclasses import dataclass
from uuid import UUID

from odradek.config.topic import TopicConfig
from odradek.protocol.records.errors import CorruptRecord
from odradek.storage.checkpoints.leader_epochs import LeaderEpochCache, read_leader_epochs
from odradek.storage.checkpoints.partition_metadata import read_topic_id, write_topic_id
from odradek.storage.deletions import PendingDeletions
from odradek.storage.errors import CorruptFile, IncompatibleDirectory
from odradek.storage.files import FileSystem
from odradek.storage.log.flush_plan import Unsynced
from odradek.storage.log.loaded_log import LoadedLog
from odradek.storage.log.local_log import NoteError
from odradek.storage.log.log import Log
from odradek.storage.names import (
    LEADER_EPOCH_FILE,
    LOG_SUFFIX,
    PARTITION_METADATA_FILE,
    PRODUCER_SNAPSHOT_SUFFIX,
    SYNC_FAILED_FILE,
    TRANSACTION_INDEX_SUFFIX,
    FileName,
    TopicPartition,
)
from odradek.storage.opening.leftovers import settle_names
from odradek.storage.opening.segment_recovery import RecoveredSegment, recover_segment
from odradek.storage.producers.producer_replay import replay_segments
from odradek.storage.producers.producer_snapshot import ProducerSnapshots
from odradek.storage.producers.producer_state import ProducerStates
from odradek.storage.segment.batch_headers import walk_headers
from odradek.storage.segment.entry_walk import read_buffer
from odradek.storage.segment.index_set import IndexSettings
from odradek.storage.segment.log_segments import Segments
from odradek.storage.segment.segment import SEGMENT_SUFFIXES, Segment

DEFAULT_PRODUCER_EXPIRATION_MS = 86_400_000
_SYNC_PROBLEM = "it did so before the broker was started"


@dataclass(frozen=True, slots=True)
class Opening:
    """What is known of a log before its files are looked at."""

    partition: TopicPartition
    directory: str
    config: TopicConfig
    now_ms: int
    clean: bool = False
    """Whether the last stop was clean, so that the end of the log is right as it is."""
    recovery_point: int = 0
    log_start_offset: int = 0
    topic_id: UUID | None = None
    """Id of the topic; written to a directory that does not have it."""
    producer_expiration_ms: int = DEFAULT_PRODUCER_EXPIRATION_MS
    verify_transactions: bool = True


def open_log(
    fs: FileSystem,
    opening: Opening,
    deletions: PendingDeletions,
    buffer: bytearray | None = None,
    note_error: NoteError | None = None,
) -> tuple[Log, tuple[str, ...]]:
    """Open the log of a partition, or make it, and return it with what was found on the way; see `load_log`."""
    loaded = load_log(fs, opening, buffer)
    return Log(fs, loaded, opening.config, deletions, note_error), loaded.findings


def load_log(fs: FileSystem, opening: Opening, buffer: bytearray | None = None) -> LoadedLog:
    """Load the log in a directory, which is made if there is none. `buffer` is memory to be used for recovery.

    Raises OSError where a file cannot be read or changed, and IncompatibleDirectory where the directory has data of
    another topic of the same name.
    """
    return _Load(fs, opening, buffer).run()


class _Load:
    """One load; the passes are its methods, in order."""

    def __init__(self, fs: FileSystem, opening: Opening, buffer: bytearray | None) -> None:
        self.fs = fs
        self.opening = opening
        self.directory = opening.directory
        self.buffer = buffer
        self.unsynced = Unsynced()
        self.findings: list[str] = []
        self.log_start_offset = opening.log_start_offset
        self.log_end_offset = 0
        self.clean = opening.clean
        self.begins_anew = False
        self.recover_from = opening.recovery_point
        self.segments: list[Segment] = []

    def run(self) -> LoadedLog:
        names = self._list()
        topic_id = self._load_topic_id(names)
        if SYNC_FAILED_FILE in names:
            self._note("the disk had refused a sync: what may be missing there is written again, before anything else")
        files = settle_names(self.fs, self.directory, names)
        self._open_segments(files)
        self.leader_epochs = self._load_leader_epochs(names)
        self.producers = ProducerStates(str(self.opening.partition), 0, self.opening.verify_transactions)
        self.snapshots = ProducerSnapshots(
            self.fs, self.directory, [name.offset for name in files if name.suffix == PRODUCER_SNAPSHOT_SUFFIX]
        )
        self._check_transaction_indexes(files)
        if self.clean:
            self._find_end()
        if not self.clean:
            self._recover()
        elif not self.leader_epochs.entries:
            self._read_leader_epochs(self.segments)
        self._settle_start()
        self._settle_leader_epochs()
        self._load_producers()
        for segment in self.segments:
            segment.release()  # nobody may ever ask for it
        return LoadedLog(
            partition=self.opening.partition,
            directory=self.directory,
            topic_id=topic_id,
            segments=tuple(self.segments),
            log_start_offset=self.log_start_offset,
            log_end_offset=self.log_end_offset,
            recovery_point=self.recovery_point,
            leader_epochs=self.leader_epochs,
            producers=self.producers,
            snapshots=self.snapshots,
            producer_expiration_ms=self.opening.producer_expiration_ms,
            unsynced=self.unsynced,
            is_intact=self.opening.clean and self.clean and not self.begins_anew,
            sync_problem=_SYNC_PROBLEM if SYNC_FAILED_FILE in names else "",
            findings=tuple(self.findings),
        )

    def _list(self) -> set[str]:
        """Return the names in the directory, made now if it does not exist."""
        try:
            return set(self.fs.listdir(self.directory))
        except FileNotFoundError:
            self.fs.mkdir(self.directory)
            self.unsynced.directories.update((self.directory, parent_directory(self.directory)))
            return set()

    def _load_topic_id(self, names: set[str]) -> UUID | None:
        """Return the id that the directory is tied to; one that says nothing is tied to the topic that is opened."""
        wanted = self.opening.topic_id
        if PARTITION_METADATA_FILE in names:
            try:
                found = read_topic_id(self.fs, self.directory)
            except CorruptFile as error:
                self._note(f"the topic id is written anew: {error}")
            else:
                if wanted is not None and found != wanted:
                    raise IncompatibleDirectory(
                        f"{self.directory} has data of a topic with the id {found}, but {self.opening.partition} has "
                        f"the id {wanted}: move the directory away."
                    )
                if not self.clean and not self.recover_from:
                    self._note_unsynced_topic_id()  # it was never flushed, and not even a record may have come
                return found
        if wanted is not None:
            write_topic_id(self.fs, self.directory, wanted, sync=False)
            self._note_unsynced_topic_id()
        return wanted

    def _note_unsynced_topic_id(self) -> None:
        self.unsynced.paths.add(f"{self.directory}/{PARTITION_METADATA_FILE}")
        self.unsynced.directories.add(self.directory)

    def _open_segments(self, files: list[FileName]) -> None:
        """Make a segment of each data file; there is always one."""
        config = self.opening.config
        settings = IndexSettings(config.index_interval_bytes, config.segment_index_bytes)
        for base_offset in sorted(name.offset for name in files if name.suffix == LOG_SUFFIX):
            segment = Segment(self.fs, self.directory, base_offset, settings, 0, self.opening.now_ms)
            segment.size = segment.synced_size = self.fs.size(segment.path(LOG_SUFFIX))
            self.segments.append(segment)
        if not self.segments:
            self._begin_at(self.log_start_offset)
            self.clean = True  # there is nothing to check

    def _begin_at(self, base_offset: int) -> None:
        """Let the log consist of one new, empty segment."""
        config = self.opening.config
        settings = IndexSettings(config.index_interval_bytes, config.segment_index_bytes)
        segment = Segment(self.fs, self.directory, base_offset, settings, 0, self.opening.now_ms)
        segment.make_files()
        self.segments = [segment]
        self.log_end_offset = base_offset
        self.begins_anew = True
        self.unsynced.directories.add(self.directory)

    def _load_leader_epochs(self, names: set[str]) -> LeaderEpochCache:
        if LEADER_EPOCH_FILE not in names:
            return LeaderEpochCache(self.fs, self.directory)
        try:
            return LeaderEpochCache(self.fs, self.directory, read_leader_epochs(self.fs, self.directory))
        except (CorruptFile, ValueError) as error:
            self._note(f"leader epochs are read from the records again: {error}")
            return LeaderEpochCache(self.fs, self.directory)

    def _read_leader_epochs(self, segments: list[Segment]) -> None:
        """Learn the leader epochs of segments from their batches, where the file does not say any.

        Batches of before there were leader epochs have none, and those of older formats: then only one is looked at.
        """
        latest = -1
        for segment in segments:
            try:
                for _, header in walk_headers(segment.file, 0, segment.size):
                    if header.partition_leader_epoch < 0:
                        return
                    if header.partition_leader_epoch > latest:
                        latest = header.partition_leader_epoch
                        self.leader_epochs.assign(latest, header.base_offset)
            except CorruptRecord as error:
                self._note(f"leader epochs are not known from there on: {error}")

    def _check_transaction_indexes(self, files: list[FileName]) -> None:
        """See to it that a segment whose index of aborted transactions cannot be right is recovered, after any stop."""
        for name in files:
            if name.suffix == TRANSACTION_INDEX_SUFFIX:
                try:
                    self._segment_at(name.offset).indexes.transactions.sanity_check()
                except CorruptFile as error:
                    self._note(f"checked from its start: {error}")
                    self.clean = False
                    self.recover_from = min(self.recover_from, name.offset)

    def _find_end(self) -> None:
        """Read where the log ends off the end of the last segment; if that is not whole, the stop was not clean."""
        try:
            self.log_end_offset = self.segments[-1].read_end()
        except (CorruptFile, CorruptRecord) as error:
            self._note(f"checked in spite of a clean stop: {error}")
            self.clean = False

    def _segment_at(self, base_offset: int) -> Segment:
        return next(segment for segment in self.segments if segment.base_offset == base_offset)

    def _recover(self) -> None:
        """Check the segments that may not have reached the disk, and drop what follows the first that is damaged."""
        bases = [segment.base_offset for segment in self.segments]
        first = max(0, bisect_right(bases, self.recover_from) - 1)
        buffer = self.buffer or read_buffer()
        if not self.leader_epochs.entries:
            self._read_leader_epochs(self.segments[:first])
        self._load_producers_upto(self.segments[first].base_offset, self.segments[:first])
        for number in range(first, len(self.segments)):
            segment = self.segments[number]
            later = self.segments[number + 1 :]
            end = later[0].base_offset if later else None
            recovered = recover_segment(segment, end, self.leader_epochs, self.producers, buffer)
            self.log_end_offset = recovered.next_offset
            if recovered.removed_bytes:
                self._note_cut(segment, recovered)
            if recovered.removed_bytes or self._has_lost_end(recovered, later):
                self._drop_segments(later)
                break
            if end is not None:
                segment.seal()
                self.unsynced.segments.append(segment)
                self.producers.end_offset = max(self.producers.end_offset, end)
                self._take_snapshot()
        self.unsynced.paths.add(f"{self.directory}/{LEADER_EPOCH_FILE}")
        self.unsynced.directories.add(self.directory)

    def _has_lost_end(self, recovered: RecoveredSegment, later: list[Segment]) -> bool:
        """Return whether records between a segment and the next one never reached the disk, while later ones did.

        Compaction leaves such gaps, too, so in a compacted topic they mean nothing; and so does one that begins below
        the recovery point, where everything is on disk.
        """
        return (
            bool(later)
            and later[0].base_offset > recovered.next_offset >= self.opening.recovery_point
            and not self.opening.config.compacted
        )

    def _note_cut(self, segment: Segment, recovered: RecoveredSegment) -> None:
        """Say what was cut off, and that it should not have been possible if it had been on the disk already."""
        self._note(
            f"cut {recovered.removed_bytes} bytes off {segment.path(LOG_SUFFIX)}; the log ends at offset "
            f"{recovered.next_offset}: {recovered.problem}"
        )
        flushed = self.opening.recovery_point
        if recovered.next_offset < flushed:
            self._note(
                f"records from offset {recovered.next_offset} to {flushed - 1} had reached the disk, and are lost: "
                "the disk or its file system is damaged"
            )

    def _drop_segments(self, doomed: list[Segment]) -> None:
        """Remove segments that follow a cut, the last one first, so that a crash meanwhile leaves no gap."""
        if doomed:
            self._note(f"{len(doomed)} later segments, from offset {doomed[0].base_offset} on, are removed")
        for segment in reversed(doomed):
            for suffix in SEGMENT_SUFFIXES:
                self.fs.unlink(segment.path(suffix))
            self.snapshots.delete(segment.base_offset)
            self.segments.remove(segment)
        if doomed:
            self.fs.sync_dir(self.directory)  # a second crash must not bring them back beside what is written now

    def _settle_start(self) -> None:
        """Let the log start where it was told to, or where its data begins; begin anew if it ends before that."""
        start, end = self.log_start_offset, self.log_end_offset
        if end < start:
            self._note(f"the log ends at offset {end}, before its start {start}: it begins anew")
            self._drop_segments(list(self.segments))
            self._begin_at(start)
            self.leader_epochs.clear()
        self.log_start_offset = max(start, self.segments[0].base_offset)
        self.recovery_point = (
            self.log_end_offset if self.clean else min(self.opening.recovery_point, self.log_end_offset)
        )

    def _settle_leader_epochs(self) -> None:
        self.leader_epochs.truncate_from_end(self.log_end_offset)
        self.leader_epochs.truncate_from_start(self.log_start_offset)

    def _load_producers(self) -> None:
        """Bring the producers to the end of the log."""
        self.snapshots.remove_strays([segment.base_offset for segment in self.segments])
        if not self.clean:
            self.snapshots.raise_start(self.producers, self.log_start_offset)
        elif self.snapshots.offsets:
            self._load_producers_upto(self.log_end_offset, self.segments)
        self.producers.end_offset = self.log_end_offset
        self._take_snapshot()

    def _load_producers_upto(self, offset: int, segments: list[Segment]) -> None:
        """Load the newest snapshot that is not beyond `offset`, and replay what these segments have after it."""
        expired_before_ms = self.opening.now_ms - self.opening.producer_expiration_ms
        start = min(self.log_start_offset, offset)
        for error in self.snapshots.reload(self.producers, start, offset, expired_before_ms):
            self._note(f"producer snapshot removed: {error}")
        if self.producers.end_offset < offset and segments:
            replay_segments(self.producers, Segments(segments).since(self.producers.end_offset), offset)
        self.producers.end_offset = offset

    def _take_snapshot(self) -> None:
        """Spare the next start some reading, if that can be done: a full disk must not keep the data from readers."""
        try:
            self.snapshots.take(self.producers)
        except OSError as error:
            self._note(f"no producer snapshot at offset {self.producers.end_offset}: {error}")

    def _note(self, finding: str) -> None:
        self.findings.append(f"{self.opening.partition} in {self.directory}: {finding}")


def parent_directory(path: str) -> str:
    """Return the directory that `path` is in."""
    return path.rstrip("/").rpartition("/")[0] or "."
