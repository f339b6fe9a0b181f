"""Making a log durable, without stopping it.

A flush has three steps: `prepare` notes what is not on disk yet, `FlushPlan.run` waits for the disk, on any thread,
while the log goes on, and `complete` moves the recovery point. Of a segment that is appended to only the data file is
synced: one fsync serves an acknowledgement, and its indexes are rebuilt after a crash anyway. Indexes are synced once
their segment is sealed, and until then the recovery point that is written down stays within that segment. Follows
Kafka's log behaviour, flush and recovery point.

A flush that the disk refused leaves the log in doubt (`Log.sync_problem`): nothing is appended to it, and the next
flush writes again what is not on disk for sure (`storage.log.failed_sync`) before it syncs. One that ends well ends the
doubt, which outlives the process: after a restart the page cache may have data that nobody brings to the disk any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from odradek.storage.errors import StorageError
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.log.failed_sync import Stretch, rewrite
from odradek.storage.names import LEADER_EPOCH_FILE, LOG_SUFFIX, SYNC_FAILED_FILE
from odradek.storage.segment.segment import Segment
from odradek.storage.threads import for_each

if TYPE_CHECKING:
    from odradek.storage.log.log import Log

_SYNC_THREADS = 8


@dataclass(slots=True)
class Unsynced:
    """What of a log is not on disk for sure, beside the data of its active segment."""

    segments: list[Segment] = field(default_factory=list)
    """Sealed ones, data or indexes."""
    paths: set[str] = field(default_factory=set)
    """Small files that were written as a whole."""
    directories: set[str] = field(default_factory=set)
    """Directories with new names in them."""
    leader_epochs: bool = False
    """Whether the leader epochs have changed since their file was written."""

    def __bool__(self) -> bool:
        return bool(self.segments or self.paths or self.directories or self.leader_epochs)


@dataclass(slots=True)
class FlushPlan:
    """What one flush makes durable."""

    fs: FileSystem
    offset: int
    """Once the plan has run, every record below this offset is on disk."""
    generation: int
    sizes: list[tuple[Segment, int]]
    sealed: list[Segment]
    files: list[OpenFile]
    paths: frozenset[str]
    directories: frozenset[str]
    follows_failure: bool = False
    """Whether an earlier flush may have lost what this one is about, so that it has to be written again."""
    in_doubt: list[Stretch] = field(default_factory=list)
    """The parts of data and index files for which that holds."""

    def run(self) -> None:
        """Wait until everything is on disk; any thread may do so. Raises OSError, StorageError; see `sync_files`."""
        self.sync_files()
        for directory in self.directories:
            with suppress(FileNotFoundError):
                self.fs.sync_dir(directory)

    def sync_files(self) -> None:
        """Do the part of `run` that is about the content of files.

        Names that have gone meanwhile, because the partition was deleted, are passed over. Raises OSError, and
        StorageError where what an earlier flush did not bring to the disk is gone.
        """
        for stretch in self.in_doubt:
            rewrite(stretch)
        for file in self.files:
            file.sync()
        for path in self.paths:
            with suppress(FileNotFoundError):
                if self.follows_failure:
                    self.fs.write_atomic(path, self.fs.read_bytes(path))
                else:
                    self.fs.open(path).sync()


def prepare(log: Log) -> FlushPlan | None:
    """Return what has to be synced, None if everything is on disk.

    Writes index entries to their files; raises OSError.
    """
    active, unsynced, in_doubt = log.segments.active, log.unsynced, bool(log.sync_problem)
    is_flushed = log.recovery_point == log.log_end_offset and not active.needs_sync and not unsynced
    if is_flushed and not in_doubt:
        return None
    unsynced.leader_epochs |= in_doubt
    if unsynced.leader_epochs:
        log.leader_epochs.flush(sync=False)
        unsynced.paths.add(f"{log.directory}/{LEADER_EPOCH_FILE}")
        unsynced.directories.add(log.directory)
        unsynced.leader_epochs = False
    files: list[OpenFile] = []
    for segment in unsynced.segments:
        files += segment.prepare_sync()
    if active.needs_sync or in_doubt:
        files.append(active.file)
    segments = [*unsynced.segments, active]
    return FlushPlan(
        log.fs,
        log.log_end_offset,
        log.generation,
        [(segment, segment.size) for segment in segments],
        list(unsynced.segments),
        files,
        frozenset(unsynced.paths),
        frozenset(unsynced.directories),
        in_doubt,
        _in_doubt(segments, files) if in_doubt else [],
    )


def _in_doubt(segments: Iterable[Segment], files: Iterable[OpenFile]) -> list[Stretch]:
    """Return all that a flush which failed may have been about, and what came after it."""
    data = [segment for segment in segments if segment.size != segment.synced_size]
    stretches = [Stretch(segment.file, segment.synced_size, segment.size, True) for segment in data]
    paths = {segment.path(LOG_SUFFIX) for segment in segments}
    return stretches + [Stretch(file, 0, file.size(), False) for file in files if file.path not in paths]


def complete(log: Log, plan: FlushPlan) -> None:
    """Take note that the plan has run.

    Nothing is noted if data was cut off the log meanwhile: others may be there now.
    """
    if plan.generation != log.generation:
        return
    for segment, size in plan.sizes:
        segment.synced_size = max(segment.synced_size, size)
        segment.was_cut = False
    for segment in plan.sealed:
        segment.indexes_synced = True
    unsynced = log.unsynced
    unsynced.segments = [segment for segment in unsynced.segments if not segment.indexes_synced]
    unsynced.paths -= plan.paths
    unsynced.directories -= plan.directories
    log.recovery_point = max(log.recovery_point, plan.offset)
    if plan.follows_failure:
        log.sync_problem = ""
        with suppress(OSError):  # should it stay, the next start writes some data again, that is all
            log.fs.unlink(f"{log.directory}/{SYNC_FAILED_FILE}")


def checkpointed_recovery_point(log: Log) -> int:
    """Return the recovery point that may be written down.

    After a crash, the segment that holds it and all after it are checked and indexed anew. So it must lie within, not
    at the end of, the first segment whose indexes are not on disk: not at the end of the active one either, since
    another segment may begin there before the next checkpoint.
    """
    point = log.recovery_point
    for segment in log.unsynced.segments:
        following = log.segments.after(segment)
        if following is not None:
            point = min(point, following.base_offset - 1)
    if log.segments.active.size:
        point = min(point, log.log_end_offset - 1)
    return max(point, 0)


def flush_all(fs: FileSystem, logs: Iterable[Log]) -> dict[str, str]:
    """Bring many logs to the disk, several at a time: a disk can do so at little more cost than one.

    Returns why it did not work, by the directory of the log; the others are not concerned.
    """
    problems: dict[str, str] = {}
    plans: list[tuple[Log, FlushPlan]] = []
    for log in logs:
        try:
            plan = log.prepare_flush()
        except StorageError as error:
            problems[log.directory] = str(error)
        else:
            if plan is not None:
                plans.append((log, plan))

    def sync(planned: tuple[Log, FlushPlan]) -> None:
        log, plan = planned
        try:
            plan.sync_files()
        except (OSError, StorageError) as error:
            problems[log.directory] = str(log.sync_failed(error))

    for_each(plans, lambda: sync, _SYNC_THREADS)
    for directory in {directory for _, plan in plans for directory in plan.directories}:
        try:
            with suppress(FileNotFoundError):
                fs.sync_dir(directory)
        except OSError as error:
            problems |= {log.directory: str(log.sync_failed(error)) for log, _ in plans}
    for log, plan in plans:
        if log.directory not in problems:
            log.complete_flush(plan)
    return problems
