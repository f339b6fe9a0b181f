"""All logs of a node: opened at start, made and deleted while it runs, closed at the end.

Owns which log directory a partition is in, which directories have failed, and the marker of a clean shutdown; what the
checkpoint files say is owned by `log_checkpoints`. Background work comes as plain functions: a call on the thread that
owns the logs collects what is to be done and returns what may wait for the disk on another thread. Does not know
topics' metadata: whoever calls says which partitions there should be. Follows Kafka's log behaviour, start-up load and
recovery (`LogManager`).
"""

import errno
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple
from uuid import UUID, uuid4

from odradek.config.topic import TopicConfig
from odradek.storage.deletions import PendingDeletions
from odradek.storage.directories.clean_shutdown import (
    UNKNOWN_BROKER_EPOCH,
    write_clean_shutdown,
)
from odradek.storage.directories.failures import DirectoryFailures
from odradek.storage.directories.futures import FutureLogs, FutureParts
from odradek.storage.directories.loading import LoadReport, Wanted, load_each, try_load, wanted_logs
from odradek.storage.directories.log_checkpoints import Forgetting, LogCheckpoints, write_now
from odradek.storage.directories.log_dirs import LogDirectory, release_log_directories
from odradek.storage.errors import DirectoryFailed, IncompatibleDirectory, StorageError
from odradek.storage.files import DiskSpace, FileSystem
from odradek.storage.log.flush_all import flush_all
from odradek.storage.log.loaded_log import LoadedLog
from odradek.storage.log.log import Log
from odradek.storage.names import DirectoryState, TopicPartition, directory_name, marked_directory_name
from odradek.storage.opening.loader import DEFAULT_PRODUCER_EXPIRATION_MS, Opening, parent_directory
from odradek.storage.threads import for_each

_CLOSE_THREADS = 8
"""Logs closed at a time: each waits for the disk a few times, which several can do together."""


class LostLog(NamedTuple):
    """A log in a directory that has failed."""

    directory: str
    topic_id: UUID | None
    """None where it was not opened before."""


@dataclass(frozen=True, slots=True)
class LogManagerSettings:
    """What the broker's configuration says to all logs."""

    producer_expiration_ms: int = DEFAULT_PRODUCER_EXPIRATION_MS
    verify_transactions: bool = True
    directory_delete_delay_ms: int = 60_000
    recovery_threads: int = 2


class LogManager:
    """The logs of one node, in its log directories.

    One thread calls, except for what is returned to be run elsewhere.
    """

    def __init__(
        self,
        fs: FileSystem,
        directories: Sequence[LogDirectory],
        now_ms: Callable[[], int],
        settings: LogManagerSettings | None = None,
        failures: DirectoryFailures | None = None,
    ) -> None:
        self._fs = fs
        self._directories = list(directories)
        self._now_ms = now_ms
        self._settings = settings or LogManagerSettings()
        self._logs: dict[TopicPartition, Log] = {}
        self._by_directory: dict[str, dict[TopicPartition, Log]] = {directory.path: {} for directory in directories}
        self._clean: dict[str, bool] = {}
        self._failures = failures or DirectoryFailures(fs, [directory.path for directory in directories])
        self.checkpoints = LogCheckpoints(fs, directories, self._by_directory, self._failures.note)
        self._lost: dict[TopicPartition, LostLog] = {}
        """What lies in directories that have failed."""
        self.deletions = PendingDeletions(fs)
        note, delay_ms = self._failures.note, self._settings.directory_delete_delay_ms
        parts = FutureParts(fs, self._directories, self._by_directory, self.checkpoints, self.deletions, note, now_ms)
        self.futures = FutureLogs(parts, delay_ms)

    def __iter__(self) -> Iterator[Log]:
        return iter(self._logs.values())

    def __len__(self) -> int:
        return len(self._logs)

    @property
    def high_watermarks(self) -> Mapping[TopicPartition, int]:
        """High watermarks of the last checkpoint before the start."""
        return self.checkpoints.high_watermarks_found

    @property
    def directories(self) -> Sequence[LogDirectory]:
        """The log directories, in the order of the configuration."""
        return self._directories

    def get(self, partition: TopicPartition) -> Log | None:
        """Return the log of a partition, None if it is not open."""
        return self._logs.get(partition)

    def has(self, partition: TopicPartition) -> bool:
        """Return whether there is a log of a partition of that name, open or not."""
        return partition in self._logs or self._path_of_closed(partition) is not None

    def directory_id(self, partition: TopicPartition, topic_id: UUID) -> UUID | None:
        """Return the id of the directory that a topic's partition is in, None if its log is not open."""
        log = self._logs.get(partition)
        if log is None or log.topic_id != topic_id:
            return None
        future = self.futures.get(partition)
        path = future.directory.path if future is not None and future.counts else parent_directory(log.directory)
        meta = next((directory.meta for directory in self._directories if directory.path == path), None)
        return None if meta is None else meta.directory_id

    def logs_in(self, directory: LogDirectory) -> list[Log]:
        """Return the logs that are in a log directory."""
        return list(self._by_directory[directory.path].values())

    def disk_space(self, directory: LogDirectory) -> DiskSpace:
        """Return size and free space of the file system that a log directory is on. Raises OSError."""
        return self._fs.disk_space(directory.path)

    # --- start

    def load_all(self, wanted: Wanted) -> LoadReport:
        """Open the logs of all partitions that are on disk and wanted.

        Logs of a directory without the marker of a clean shutdown are recovered, on several threads. The markers are
        removed, and removals that were under way go on. A partition that cannot be opened is offline; the others are
        not concerned. One that is not wanted is renamed, and kept. Raises StorageError or OSError where a log directory
        itself cannot be used.
        """
        report = LoadReport()
        report.findings += self.checkpoints.read()
        report.findings += self.futures.settle()
        found = {partition for directory in self._directories for partition in directory.closed}
        self.checkpoints.outdate(*(self.checkpoints.found - found))
        openings: list[Opening] = []
        for directory in self._directories:
            if directory.failure:
                report.findings.append(
                    f"log directory {directory.path} has failed and is left out, its partitions are offline: "
                    f"{directory.failure}; repair or replace the disk, and start this node again"
                )
                continue
            self._clean[directory.path] = directory.settle_last_stop(self._fs)
            for path in directory.deleted:
                self.deletions.add_directory(path, self._settings.directory_delete_delay_ms)
            openings += [self._opening(*log) for log in wanted_logs(directory, wanted, report)]
        for opening, outcome in load_each(self._fs, openings, self._settings.recovery_threads):
            if isinstance(outcome, StorageError):
                self._failures.note(opening.directory, outcome.__cause__)
            loaded = report.note(opening, outcome)
            if loaded is not None:
                self._serve(opening, loaded)
        if openings:  # that not a single partition is known tells more of the metadata than of the partitions
            report.strays = {
                partition: self._rename(partition, path, DirectoryState.STRAY)
                for partition, path in report.strays.items()
            }
        return report

    def _serve(self, opening: Opening, loaded: LoadedLog) -> Log:
        log = Log(self._fs, loaded, opening.config, self.deletions, self._failures.note)
        self._logs[opening.partition] = log
        self.checkpoints.touch(opening.partition)
        self._by_directory[parent_directory(log.directory)][opening.partition] = log
        for directory in self._directories:
            directory.closed.pop(opening.partition, None)
        return log

    def _opening(self, partition: TopicPartition, path: str, topic_id: UUID, config: TopicConfig) -> Opening:
        return Opening(
            partition=partition,
            directory=path,
            config=config,
            now_ms=self._now_ms(),
            clean=self._clean.get(parent_directory(path), False),
            recovery_point=self.checkpoints.recovery_point_found(partition),
            log_start_offset=self.checkpoints.log_start_found(partition),
            topic_id=topic_id,
            producer_expiration_ms=self._settings.producer_expiration_ms,
            verify_transactions=self._settings.verify_transactions,
        )

    # --- partitions come and go

    def get_or_create(self, partition: TopicPartition, topic_id: UUID, config: TopicConfig) -> Log:
        """Return the log of a partition, opened if it is on disk, else made in the directory with the fewest logs.

        What is on disk of another topic of the same name is renamed and left. One that could not be opened at start is
        tried again. Raises StorageError, as DirectoryFailed where the log lies in a directory that has failed.
        """
        log = self._logs.get(partition)
        if log is not None:
            return log
        self._check_not_lost(partition, topic_id)
        path = self._path_of_closed(partition)
        if path is not None:
            opening = self._opening(partition, path, topic_id, config)
            outcome = try_load(self._fs, opening)
            if isinstance(outcome, IncompatibleDirectory):
                self._rename(partition, path, DirectoryState.STRAY)
                path = None
        if path is None:
            if self.checkpoints.is_outdated(partition):
                self.checkpoints.forget_now()
            opening = self._opening(partition, self._path_for_new(partition), topic_id, config)
            outcome = try_load(self._fs, opening)
        if isinstance(outcome, StorageError):
            self._failures.note(opening.directory, outcome.__cause__)
            raise outcome
        return self._serve(opening, outcome)

    def _path_of_closed(self, partition: TopicPartition) -> str | None:
        return next((found.closed[partition] for found in self._directories if partition in found.closed), None)

    def _path_for_new(self, partition: TopicPartition) -> str:
        """Return where to put a new partition: where it was asked for, or else in the directory that has the fewest.

        Raises DirectoryFailed, and StorageError where the directory has vanished: one that came to be anew without its
        meta.properties would be refused at the next start.
        """
        usable = [one.path for one in self._directories if one.for_partitions and not one.failure]
        if not usable:
            raise DirectoryFailed("all log directories have failed")
        preferred = self.futures.preferred.pop(partition, None)
        emptiest = min(usable, key=lambda path: (path != preferred, len(self._by_directory[path])))
        if not self._fs.exists(emptiest):
            gone = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), emptiest)
            self._failures.note(emptiest, gone)
            raise StorageError(f"Cannot make {partition}: log directory {emptiest} has vanished") from gone
        return f"{emptiest}/{directory_name(partition)}"

    def truncate_to(self, partition: TopicPartition, offset: int) -> None:
        """Remove the records of an open log from `offset` on, for others to take their place. Raises StorageError.

        The recovery point is written down before that can happen: a crash must not let what comes then pass unchecked.
        """
        self.checkpoints.touch(partition)
        if self._logs[partition].truncate_to(offset, self._now_ms()):
            checkpoints = self.checkpoints
            if checkpoints.cleaned_offsets.get(partition, 0) > offset:
                checkpoints.cleaned_offsets[partition] = self._logs[partition].log_end_offset
            write_now(checkpoints.recovery_points(), checkpoints.cleaned())

    def truncate_fully(self, partition: TopicPartition, offset: int) -> None:
        """Remove all records of an open log, and let it start anew at `offset`. Raises StorageError."""
        self.checkpoints.touch(partition)
        self._logs[partition].truncate_fully(offset, self._now_ms())
        checkpoints = self.checkpoints
        checkpoints.cleaned_offsets.pop(partition, None)
        write_now(checkpoints.recovery_points(), checkpoints.log_starts(), checkpoints.cleaned())

    def delete(self, partition: TopicPartition) -> None:
        """Take a partition out of service, and let its files be removed later; nothing happens if there is none.

        Raises StorageError.
        """
        self._lost.pop(partition, None)
        self.futures.discard(partition)
        log = self._logs.pop(partition, None)
        path = log.directory if log else self._path_of_closed(partition)
        if path is not None:
            target = self._rename(partition, path, DirectoryState.DELETED)
            self.deletions.add_directory(target, self._settings.directory_delete_delay_ms)

    def _rename(self, partition: TopicPartition, path: str, state: DirectoryState) -> str:
        target = f"{parent_directory(path)}/{marked_directory_name(partition, state, uuid4().hex)}"
        try:
            self._fs.rename(path, target)
        except OSError as error:
            self._failures.note(path, error)
            raise StorageError(f"Cannot rename {path}: {error}") from error
        self._by_directory[parent_directory(path)].pop(partition, None)
        for directory in self._directories:
            directory.closed.pop(partition, None)
        self.checkpoints.outdate(partition)
        return target

    def is_outdated(self, partition: TopicPartition) -> bool:
        """Return whether checkpoints may still speak of a partition of that name that is gone.

        They would do harm to a new one, so that `get_or_create` waits for the disk unless `forget_outdated` came first.
        """
        return self.checkpoints.is_outdated(partition)

    def forget_outdated(self) -> Forgetting:
        """Return what takes the partitions that are gone by now out of the checkpoint files."""
        return self.checkpoints.forget_outdated()

    # --- directories that fail

    def fail_directory(self, path: str, reason: str) -> list[TopicPartition]:
        """Use nothing in a log directory any more; return the partitions whose open logs were in it.

        They cannot be opened before the next start. Nothing is written there, so that it is found as after a crash.
        """
        directory = next(one for one in self._directories if one.path == path)
        directory.failure = reason
        gone = self._by_directory[path]
        for partition, log in gone.items():
            del self._logs[partition]
            self._lost[partition] = LostLog(path, log.topic_id)
        self._lost.update((partition, LostLog(path, None)) for partition in directory.closed)
        partitions = list(gone)
        gone.clear()
        directory.closed.clear()
        self.deletions.forget(path)
        return partitions

    def lose(self, partition: TopicPartition, topic_id: UUID) -> None:
        """Note that a partition's log is in a directory that could not be used at start."""
        path = next(one.path for one in self._directories if one.failure)
        self._lost[partition] = LostLog(path, topic_id)

    @property
    def lost(self) -> Collection[TopicPartition]:
        """The partitions whose logs are in directories that have failed."""
        return self._lost.keys()

    def _check_not_lost(self, partition: TopicPartition, topic_id: UUID) -> None:
        """Refuse to make a log anew whose data may come back. Raises DirectoryFailed."""
        lost = self._lost.get(partition)
        if lost is None:
            return
        if lost.topic_id is None or lost.topic_id == topic_id:
            raise DirectoryFailed(f"the log directory {lost.directory} of {partition} has failed")
        del self._lost[partition]  # of a topic that is gone: the next start sets it aside

    # --- background work

    def due_deletions(self, now_ms: int) -> Callable[[], None] | None:
        """Return what removes the files whose time has come, None if there are none."""
        due = self.deletions.take_due(now_ms)
        return partial(self.deletions.remove, due) if due else None

    def change_producer_expiration(self, expiration_ms: int) -> None:
        """Follow a change of producer.id.expiration.ms."""
        self._settings = replace(self._settings, producer_expiration_ms=expiration_ms)
        for log in self._logs.values():
            log.producer_expiration_ms = expiration_ms

    def change_verification(self, is_enabled: bool) -> None:
        """Follow a change of transaction.partition.verification.enable."""
        self._settings = replace(self._settings, verify_transactions=is_enabled)
        for log in self._logs.values():
            log.producers.verify_transactions = is_enabled

    # --- end

    def close(self, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> list[str]:
        """Bring everything to the disk and close it; return what went wrong, in sentences.

        Directories in which all went well are marked as cleanly shut down, with the epoch under which Apache Kafka
        registered this broker, if it ever did. Nothing may use the logs meanwhile.
        """
        problems = flush_all(self._fs, self._logs.values())

        def close(log: Log) -> None:
            try:
                log.close()
            except StorageError as error:
                problems[log.directory] = str(error)

        flushed = [log for log in self._logs.values() if log.directory not in problems]
        for_each(flushed, lambda: close, _CLOSE_THREADS)
        sentences = list(problems.values())
        for directory in self._directories:
            try:
                self._close_directory(directory, problems, broker_epoch)
            except OSError as error:
                sentences.append(f"Cannot finish log directory {directory.path}: {error}")
        release_log_directories(self._directories)
        self._logs.clear()
        return sentences

    def _close_directory(self, directory: LogDirectory, problems: Mapping[str, str], broker_epoch: int) -> None:
        """Write the checkpoints of a directory, and the marker if all in it is as it should be. Raises OSError."""
        if directory.failure:
            return
        if directory.for_partitions:
            self.checkpoints.write_last(directory)
        clean = not any(log.directory in problems for log in self.logs_in(directory))
        if clean and (self._clean.get(directory.path) or not directory.closed):
            write_clean_shutdown(self._fs, directory.path, broker_epoch)
