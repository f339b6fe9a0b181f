"""Copies of partitions on their way to another log directory of the same node (KIP-113).

Owns the directories `<partition>.<id>-future`: made, thrown away, or put in place of the partition's own, so that a
crash at any point leaves exactly one log that has everything. The old directory is renamed and that is brought to the
disk before the copy takes its name; a crash in between leaves the copy alone, with a marker in it that says that it is
complete, and the next start gives it the name. A copy beside its log is begun anew at the next start: while nothing is
known of it the log may have been compacted. Must not know: how what is in a log gets into its copy, and when.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from odradek.storage.deletions import PendingDeletions
from odradek.storage.directories.log_checkpoints import LogCheckpoints
from odradek.storage.directories.log_dirs import LogDirectory
from odradek.storage.errors import StorageError
from odradek.storage.files import FileSystem
from odradek.storage.log.flush_plan import FlushPlan
from odradek.storage.log.local_log import NoteError
from odradek.storage.log.log import Log
from odradek.storage.log.switching import switch_to
from odradek.storage.names import (
    MOVE_COMPLETE_FILE,
    DirectoryState,
    TopicPartition,
    directory_name,
    marked_directory_name,
)
from odradek.storage.opening.loader import Opening, open_log, parent_directory


@dataclass(slots=True, eq=False)
class FutureLog:
    """The copy of a partition's log in another log directory."""

    partition: TopicPartition
    directory: LogDirectory
    path: str
    log: Log | None = None
    """None until its directory is made."""
    counts: bool = False
    """Whether the partition is to be reported as being there: it has all, or nearly."""
    is_gone: bool = False
    """Whether it has been thrown away, or is in its place."""


@dataclass(frozen=True, slots=True)
class FutureParts:
    """What copies are made with, and what has to know of them."""

    fs: FileSystem
    directories: Sequence[LogDirectory]
    logs: Mapping[str, dict[TopicPartition, Log]]
    """Those that are open, by the path of their log directory."""
    checkpoints: LogCheckpoints
    deletions: PendingDeletions
    note_error: NoteError
    now_ms: Callable[[], int]


class FutureLogs:
    """The copies that there are. One thread calls, but for what says that any may."""

    def __init__(self, parts: FutureParts, deletion_delay_ms: int) -> None:
        """The delay is for directories that partitions have left."""
        self._parts = parts
        self._deletion_delay_ms = deletion_delay_ms
        self._futures: dict[TopicPartition, FutureLog] = {}
        self.interrupted: dict[TopicPartition, LogDirectory] = {}
        """Where partitions were on their way to when the node stopped."""
        self.preferred: dict[TopicPartition, str] = {}
        """The paths of log directories where partitions are to be made that are not here yet."""

    def __contains__(self, partition: TopicPartition) -> bool:
        return partition in self._futures

    def __iter__(self) -> Iterator[FutureLog]:
        return iter(self._futures.values())

    def get(self, partition: TopicPartition) -> FutureLog | None:
        """Return the copy of a partition, None if it is not on its way anywhere."""
        return self._futures.get(partition)

    def settle(self) -> list[str]:
        """Finish what a stop interrupted, before logs are opened; return what was found, in sentences. Raises OSError.

        Where a directory is left out, the log may be in there: then a copy without one stays as it is.
        """
        findings: list[str] = []
        usable = [directory for directory in self._parts.directories if not directory.failure]
        is_whole = len(usable) == len(self._parts.directories)
        for directory in usable:
            for partition, paths in directory.futures.items():
                if any(partition in other.closed for other in usable):
                    for path in paths:
                        self._set_aside(partition, path)
                    self.interrupted[partition] = directory
                elif is_whole and (complete := next(filter(self._is_complete, paths), None)):
                    findings.append(self._promote(partition, complete, directory))
                else:
                    directory.set_aside += paths
            directory.futures.clear()
        return findings

    def _is_complete(self, path: str) -> bool:
        return self._parts.fs.exists(f"{path}/{MOVE_COMPLETE_FILE}")

    def _promote(self, partition: TopicPartition, path: str, directory: LogDirectory) -> str:
        target = f"{directory.path}/{directory_name(partition)}"
        self._parts.fs.rename(path, target)
        self._complete(target)
        directory.closed[partition] = target
        return f"{partition} is in {directory.path} now: the node stopped when the move there was all but done"

    def begin(self, partition: TopicPartition, directory: LogDirectory) -> FutureLog:
        """Note that a partition is to move to a directory; `make` has to follow."""
        name = marked_directory_name(partition, DirectoryState.FUTURE, uuid4().hex)
        future = self._futures[partition] = FutureLog(partition, directory, f"{directory.path}/{name}")
        return future

    def make(self, future: FutureLog, log: Log, start_offset: int) -> None:
        """Make an empty copy of a log that begins at this offset; any thread may do so. Raises StorageError, OSError.

        `start_offset` is where a batch begins.
        """
        parts = self._parts
        if not parts.fs.exists(future.directory.path):
            raise StorageError(f"log directory {future.directory.path} has vanished")
        opening = Opening(
            partition=future.partition,
            directory=future.path,
            config=log.config,
            now_ms=parts.now_ms(),
            clean=True,
            log_start_offset=start_offset,
            topic_id=log.topic_id,
            producer_expiration_ms=log.producer_expiration_ms,
            verify_transactions=False,
        )
        future.log, _ = open_log(parts.fs, opening, parts.deletions, note_error=parts.note_error)

    def discard(self, partition: TopicPartition) -> None:
        """Throw a copy away, if there is one. Raises nothing: what is left is thrown away at the next start."""
        future = self._futures.pop(partition, None)
        if future is not None:
            future.is_gone = True
            self.remove_rest(future)

    def remove_rest(self, future: FutureLog) -> None:
        """Remove what a thread has made of a copy that was thrown away meanwhile."""
        if future.directory.failure:
            return
        try:
            self._set_aside(future.partition, future.path)
        except OSError as error:
            self._parts.note_error(future.path, error)

    def _set_aside(self, partition: TopicPartition, path: str) -> None:
        fs = self._parts.fs
        if fs.exists(path):
            target = f"{parent_directory(path)}/{marked_directory_name(partition, DirectoryState.DELETED, uuid4().hex)}"
            fs.rename(path, target)
            self._parts.deletions.add_directory(target, 0)

    def make_durable(self, future: FutureLog, plan: FlushPlan | None) -> None:
        """Bring all that a copy has to the disk, and that it is complete; any thread may do so. Raises OSError."""
        fs = self._parts.fs
        if plan is not None:
            plan.run()
        fs.write_bytes(f"{future.path}/{MOVE_COMPLETE_FILE}", b"", sync=True)
        fs.sync_dir(future.path)
        fs.sync_dir(future.directory.path)

    def swap(self, future: FutureLog, log: Log) -> Callable[[], None]:
        """Let a copy that has all of the log, and is durable as far as the log is, take its place.

        Returns what is to be done yet, on any thread. Waits for the disk once, for the name of a directory. Raises
        OSError, and the log is where it was. Where the old directory has its mark of removal and the disk takes no name
        any more, the log goes on in the copy under the name that this has: the next start gives it its own.
        """
        parts, partition = self._parts, future.partition
        assert future.log is not None
        source, home = log.directory, parent_directory(log.directory)
        aside = f"{home}/{marked_directory_name(partition, DirectoryState.DELETED, uuid4().hex)}"
        target = f"{future.directory.path}/{directory_name(partition)}"
        parts.fs.rename(source, aside)
        try:
            parts.fs.sync_dir(home)
            parts.fs.rename(future.path, target)
        except OSError:
            try:
                parts.fs.rename(aside, source)
            except OSError as error:
                parts.note_error(source, error)
                target = future.path
            else:
                parts.fs.sync_dir(home)  # or a power cut would leave the log with its mark of removal
                raise
        switch_to(log, future.log, target)
        del self._futures[partition]
        future.is_gone = True
        parts.logs[future.directory.path][partition] = parts.logs[home].pop(partition)
        parts.checkpoints.touch(partition)
        parts.checkpoints.cleaned_offsets.pop(partition, None)
        parts.deletions.moved(future.path, target)
        parts.deletions.add_directory(aside, self._deletion_delay_ms)
        return partial(self._complete if target != future.path else parts.fs.sync_dir, target)

    def _complete(self, path: str) -> None:
        """Make the name of a copy that is in its place durable, and take its marker away. Raises OSError."""
        self._parts.fs.sync_dir(parent_directory(path))
        with suppress(OSError):  # it says nothing in a directory of that name
            self._parts.fs.unlink(f"{path}/{MOVE_COMPLETE_FILE}")
