"""The bytes of a log: its segments, where they end, and how far they are on the disk.

Owns the row of segments, the log end offset, the size and the recovery point, and is the only one that changes them:
bytes get in through `append` alone, a new segment begins in `roll`, and data goes through `truncate_to`,
`truncate_fully`, `remove` and `replace`. A write that fails is cut back, and the log is as it was before.

What is written is in the page cache of the operating system. `prepare_flush`, `FlushPlan.run` and `complete_flush` make
it durable, in three steps so that the wait for the disk can happen on another thread. Of a segment that is appended to
only the data file is synced: one fsync serves an acknowledgement, and its indexes are rebuilt after a crash anyway.
Indexes are synced once their segment is sealed, and until then the recovery point that is written down stays within
that segment. A flush that the disk refused leaves the log in doubt (`sync_problem`): nothing is appended to it, and the
next flush writes again what is not on disk for sure (`storage.log.failed_sync`) before it syncs. One that ends well
ends the doubt, which outlives the process: after a restart the page cache may have data that nobody brings to the disk
any more.

Must not know: producers, leader epochs, where readers may begin; those are of the `Log` above. Methods but `append`
raise OSError, which the `Log` turns into StorageError (`translated`). Follows Kafka's `LocalLog`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from odradek.config.topic import TopicConfig
from odradek.storage.deletions import PendingDeletions
from odradek.storage.errors import RecordListTooLarge, StorageError
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.log.flush_plan import FlushPlan, stretches_in_doubt
from odradek.storage.log.loaded_log import LoadedLog
from odradek.storage.log.log_reader import LogReader
from odradek.storage.log.roll import create_segment, must_roll, remove_new_files, roll_limits
from odradek.storage.names import PARTITION_METADATA_FILE, SYNC_FAILED_FILE
from odradek.storage.segment.log_segments import Segments
from odradek.storage.segment.segment import Segment

BatchExtents = Iterable[tuple[int, int, int]]
"""(size, last offset, largest timestamp) of batches, in order."""

NoteError = Callable[[str, BaseException], object]
"""Is told of each error of a file operation, and the path of the directory it happened in."""


class LocalLog:
    """The segments of one log and their ends. Its fields are read by others, and changed only here."""

    __slots__ = (
        "_before_roll",
        "_note_error",
        "_unsynced",
        "config",
        "deletions",
        "directory",
        "fs",
        "generation",
        "is_topic_id_unsynced",
        "limits",
        "log_end_offset",
        "name",
        "reader",
        "recovery_point",
        "segments",
        "size",
        "sync_problem",
    )

    def __init__(
        self,
        fs: FileSystem,
        loaded: LoadedLog,
        config: TopicConfig,
        deletions: PendingDeletions,
        before_roll: Callable[[int], str | None],
        note_error: NoteError | None = None,
    ) -> None:
        """`before_roll` is called with the base offset of a new segment before anything is changed for it.

        It returns the file that it has written beside the segment, if it has, and raises OSError to keep the log in the
        old one.
        """
        self.fs = fs
        self.name = str(loaded.partition)
        self.directory = loaded.directory
        self.segments = Segments(loaded.segments)
        """All segments, oldest first."""
        self.log_end_offset = loaded.log_end_offset
        """Offset that the next record gets."""
        self.recovery_point = loaded.recovery_point
        """Records below this offset are on disk, not only in the page cache."""
        self.size = sum(segment.size for segment in self.segments)
        """Bytes of all data files."""
        self.generation = 0
        """Grows whenever data is cut off the end; what a flush under way has synced then says nothing any more."""
        self.sync_problem = loaded.sync_problem
        """Why the disk refused the last flush; nothing is appended until one ends well. Empty: it did not."""
        self.reader = LogReader(self.segments)
        self._unsynced = loaded.unsynced
        self.is_topic_id_unsynced = self._topic_id_path in loaded.unsynced.paths
        """Whether a power cut could take the topic id; it is brought to the disk before any record is written."""
        self.deletions = deletions
        self._before_roll = before_roll
        self._note_error = note_error
        self.segments.active.activate()
        self.update_config(config)

    def update_config(self, config: TopicConfig) -> None:
        """Follow a change of the topic's configuration; how segments are indexed changes with the next one."""
        self.config = config
        self.limits = roll_limits(config)

    # --- writing

    def append(
        self,
        data: memoryview | bytearray,
        first_offset: int,
        last_offset: int,
        max_timestamp: int,
        now_ms: int,
        batches: BatchExtents | None = None,
    ) -> Segment:
        """Append bytes that have their offsets already, in a new segment if need be, and return the segment.

        They are one batch, or those of `batches`, which another replica wrote: a segment of their own takes them
        however large they are, since that one has them already. Raises RecordListTooLarge, StorageError.
        """
        if self.sync_problem:
            raise StorageError(
                f"Cannot append to {self.name} in {self.directory} before the disk has taken what it refused: "
                f"{self.sync_problem}"
            )
        if self.is_topic_id_unsynced:
            self._sync_topic_id()
        size = len(data)
        segment = self.segments.active
        if must_roll(segment, self.limits, size, last_offset, max_timestamp, now_ms):
            if size > self.limits.segment_bytes and batches is None:
                raise self.too_large(size)
            with self.translated("append to"):
                segment = self.roll(first_offset, now_ms)
        try:
            segment.write(data)
        except OSError as error:
            raise self.failure("append to", error) from error
        if batches is None:
            segment.note_batch(size, last_offset, max_timestamp)
        else:
            for batch in batches:
                segment.note_batch(*batch)
        self.log_end_offset = last_offset + 1
        self.size += size
        return segment

    @property
    def _topic_id_path(self) -> str:
        return f"{self.directory}/{PARTITION_METADATA_FILE}"

    def _sync_topic_id(self) -> None:
        """Bring the id of the topic to the disk, if no flush has done so yet, as Kafka does before the first append.

        Records whose directory does not say whose they are would be taken for those of the next topic of that name.
        """
        with self.translated("append to"):
            self.fs.write_atomic(self._topic_id_path, self.fs.read_bytes(self._topic_id_path))
        self._unsynced.paths.discard(self._topic_id_path)
        self.is_topic_id_unsynced = False

    def too_large(self, size: int) -> RecordListTooLarge:
        """Return the error for batches that no segment can take."""
        return RecordListTooLarge(
            f"Message batch size is {size} bytes in append to partition {self.name}, "
            f"which exceeds the maximum configured segment size of {self.limits.segment_bytes}."
        )

    def roll(self, base_offset: int, now_ms: int) -> Segment:
        """Go on in a new segment at `base_offset`, and return that; an empty active segment is not left behind.

        The old one is on disk once the next flush is done. Raises OSError, with the segments as they were.
        """
        old = self.segments.active
        if old.base_offset == base_offset:
            return old
        written = self._before_roll(base_offset)
        if written is not None:
            self.note_unsynced(written)
        new = create_segment(self.fs, self.directory, base_offset, self.config, now_ms)
        try:
            old.seal()
        except OSError:
            old.activate()
            remove_new_files(new)
            raise
        self.reader.forget()
        if old.size:
            self.segments.add(new)
            old.indexes.are_synced = False
            self._unsynced.segments.append(old)
        else:
            self.segments.replace([old], [new])
            remove_new_files(old)
        for segment in self.segments:
            if segment is not old and segment is not new:
                segment.release()  # those that read it open it again; so a log does not hold ever more descriptors
        self._unsynced.directories.add(self.directory)
        return new

    def skip_to(self, offset: int, now_ms: int) -> None:
        """Let the log end at `offset`, with no records between there and its end so far."""
        self.roll(offset, now_ms)
        self.log_end_offset = offset

    def moved_to(self, directory: str, generation: int, before_roll: Callable[[int], str | None]) -> None:
        """Go on in a directory that has been renamed; plans for a flush of another `generation` say nothing of it."""
        old, unsynced = self.directory, self._unsynced
        self.directory, self.generation, self._before_roll = directory, generation, before_roll
        self.reader.forget()
        for segment in self.segments:
            segment.moved_to(directory)
        unsynced.paths = {directory + path.removeprefix(old) for path in unsynced.paths}
        unsynced.directories = {directory, directory.rpartition("/")[0]}

    # --- making it durable

    def note_unsynced(self, path: str) -> None:
        """Let the next flush bring a small file of the directory, written as a whole, to the disk."""
        self._unsynced.paths.add(path)
        self._unsynced.directories.add(self.directory)

    def prepare_flush(self) -> FlushPlan | None:
        """Return what has to be synced so that everything appended until now is on disk, None if it is.

        Writes index entries to their files; raises OSError.
        """
        active, unsynced, in_doubt = self.segments.active, self._unsynced, bool(self.sync_problem)
        is_flushed = self.recovery_point == self.log_end_offset and not active.needs_sync and not unsynced
        if is_flushed and not in_doubt:
            return None
        files: list[OpenFile] = []
        for segment in unsynced.segments:
            files += segment.prepare_sync()
        if active.needs_sync or in_doubt:
            files.append(active.file)
        segments = [*unsynced.segments, active]
        return FlushPlan(
            self.fs,
            self.log_end_offset,
            self.generation,
            [(segment, segment.size) for segment in segments],
            list(unsynced.segments),
            files,
            frozenset(unsynced.paths),
            frozenset(unsynced.directories),
            in_doubt,
            stretches_in_doubt(segments, files) if in_doubt else [],
        )

    def complete_flush(self, plan: FlushPlan) -> None:
        """Move the recovery point, once `plan` has run.

        Nothing is noted if data was cut off the log meanwhile: others may be there now.
        """
        if plan.generation != self.generation:
            return
        for segment, size in plan.sizes:
            segment.note_synced(size)
        for segment in plan.sealed:
            segment.indexes.are_synced = True
        unsynced = self._unsynced
        unsynced.segments = [segment for segment in unsynced.segments if not segment.indexes.are_synced]
        unsynced.paths -= plan.paths
        if self.is_topic_id_unsynced:
            self.is_topic_id_unsynced = self._topic_id_path in unsynced.paths
        unsynced.directories -= plan.directories
        self.recovery_point = max(self.recovery_point, plan.offset)
        if plan.follows_failure:
            self.sync_problem = ""
            with suppress(OSError):  # should it stay, the next start writes some data again, that is all
                self.fs.unlink(f"{self.directory}/{SYNC_FAILED_FILE}")

    def sync_failed(self, error: BaseException) -> StorageError:
        """Take note that a plan could not run, and return the error to raise.

        What it was about may be lost without a trace, so the log takes nothing more until a flush has ended well.
        Reading goes on. A file beside the log says so to the next process; it need not reach the disk, since a machine
        that starts anew reads what is there.
        """
        self.sync_problem = str(error)
        with suppress(OSError):
            self.fs.write_bytes(f"{self.directory}/{SYNC_FAILED_FILE}", b"")
        return self.failure("flush", error)

    @property
    def checkpointed_recovery_point(self) -> int:
        """The recovery point to be written down in the checkpoint of the log directory.

        After a crash, the segment that holds it and all after it are checked and indexed anew. So it must lie within,
        not at the end of, the first segment whose indexes are not on disk: not at the end of the active one either,
        since another segment may begin there before the next checkpoint.
        """
        point = self.recovery_point
        for segment in self._unsynced.segments:
            following = self.segments.after(segment)
            if following is not None:
                point = min(point, following.base_offset - 1)
        if self.segments.active.size:
            point = min(point, self.log_end_offset - 1)
        return max(point, 0)

    # --- taking away: whole segments are renamed, and removed later; readers that hold their files go on

    def truncate_to(self, offset: int, now_ms: int) -> int:
        """Remove what is from `offset` on, all of a batch that has it in its middle; return the new end of the log.

        `sync_cut` must follow once what derives from the data has gone back, too.
        """
        self.generation += 1
        self.reader.forget()
        doomed = self.segments.above(offset)
        for segment in reversed(doomed):  # the newest first: a crash in between leaves no gap
            self.remove(segment)
        if doomed:
            self.fs.sync_dir(self.directory)  # they must not come back behind a log that was cut even shorter
        active = self.segments.active
        before = active.size
        removed = active.truncate_to(offset)
        if removed is not None:
            offset = min(offset, removed.base_offset)
        if not active.size:
            active.created_ms = now_ms
        self.size -= before - active.size
        self._unsynced.segments = [segment for segment in self._unsynced.segments if segment is not active]
        self.log_end_offset = offset
        self.recovery_point = min(self.recovery_point, offset)
        return offset

    def sync_cut(self) -> None:
        """Wait until what was cut off cannot come back beside another segment that begins there."""
        if self.segments.active.was_cut:
            self.segments.active.sync_cut()

    def truncate_fully(self, offset: int, now_ms: int) -> None:
        """Remove all data, and go on in a new segment at `offset`."""
        self.generation += 1
        self.reader.forget()
        for segment in reversed(list(self.segments)):
            self._mark_deleted(segment)
        new = create_segment(self.fs, self.directory, offset, self.config, now_ms)
        self.segments.replace(list(self.segments), [new])
        self._unsynced.segments.clear()
        self._unsynced.directories.add(self.directory)
        self.size = 0
        self.log_end_offset = self.recovery_point = offset

    def remove(self, segment: Segment) -> None:
        """Remove a segment that is not the only one."""
        self.reader.forget()
        self._mark_deleted(segment)
        self.segments.replace([segment], [])
        self.size -= segment.size
        if any(other is segment for other in self._unsynced.segments):
            self._unsynced.segments = [other for other in self._unsynced.segments if other is not segment]
            self.fs.sync_dir(self.directory)  # what was not whole on the disk must not come back where nobody checks it

    def replace(self, old: Sequence[Segment], new: Sequence[Segment]) -> None:
        """Let `new` segments stand where `old` ones stood; see `compaction.swap`. Raises nothing."""
        gone = {id(segment) for segment in old}
        assert id(self.segments.active) not in gone, "the active segment is never replaced"
        self.reader.forget()
        self.segments.replace(old, new)
        self.size += sum(segment.size for segment in new) - sum(segment.size for segment in old)
        self._unsynced.segments = [segment for segment in self._unsynced.segments if id(segment) not in gone]
        self._unsynced.directories.add(self.directory)

    def _mark_deleted(self, segment: Segment) -> None:
        for path in segment.mark_deleted():
            self.delete_later(path)

    def delete_later(self, path: str) -> None:
        """Let a file that has been renamed be removed after `file.delete.delay.ms`."""
        self.deletions.add_file(path, self.config.file_delete_delay_ms)

    def close(self) -> None:
        """Complete the index files and give all files back."""
        for segment in self.segments:
            segment.close()

    @contextmanager
    def translated(self, action: str) -> Iterator[None]:
        """Raise what `failure` returns where an OSError is raised within."""
        try:
            yield
        except OSError as error:
            raise self.failure(action, error) from error

    def failure(self, action: str, error: BaseException) -> StorageError:
        """Return the error to raise for an OSError of this log."""
        if self._note_error is not None:
            self._note_error(self.directory, error)
        return StorageError(f"Cannot {action} {self.name} in {self.directory}: {error}")
