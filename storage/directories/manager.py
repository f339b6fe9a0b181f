"""All logs of a node: opened at start, made and deleted while it runs, closed at the end.

Owns which log directory a partition is in, the checkpoint files of the directories, and the marker of a clean
shutdown. Background work comes as plain functions: a call on the thread that owns the logs collects what is to be
done and returns what may wait for the disk on another thread. Does not know topics' metadata: whoever calls says
which partitions there should be. Follows Kafka's log behaviour, start-up load and recovery (`LogManager`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple
from uuid import UUID, uuid4

from odradek.config.topic import TopicConfig
from odradek.storage.deletions import PendingDeletions
from odradek.storage.directories.clean_shutdown import (
    UNKNOWN_BROKER_EPOCH,
    remove_clean_shutdown,
    was_clean_shutdown,
    write_clean_shutdown,
)
from odradek.storage.directories.loading import LoadReport, Wanted, load_each, try_load, wanted_logs
from odradek.storage.directories.log_dirs import LogDirectory, release_log_directories
from odradek.storage.directories.offset_checkpoints import OffsetFiles, Offsets
from odradek.storage.errors import IncompatibleDirectory, StorageError
from odradek.storage.files import DiskSpace, FileSystem
from odradek.storage.log.flush_all import flush_all
from odradek.storage.log.loaded_log import LoadedLog
from odradek.storage.log.log import Log
from odradek.storage.names import (
    CLEANER_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    DirectoryState,
    TopicPartition,
    directory_name,
    marked_directory_name,
)
from odradek.storage.opening.loader import DEFAULT_PRODUCER_EXPIRATION_MS, Opening, parent_directory
from odradek.storage.threads import for_each

_CLOSE_THREADS = 8
"""Logs closed at a time: each waits for the disk a few times, which several can do together."""


class Forgetting(NamedTuple):
    """What takes partitions that are gone out of the checkpoint files."""

    write: Callable[[], None]
    """May be run on any thread. Raises OSError."""
    written: Callable[[], None]
    """To be called on the thread that owns the logs, once `write` has ended well."""


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
    ) -> None:
        self._fs = fs
        self._directories = list(directories)
        self._now_ms = now_ms
        self._settings = settings or LogManagerSettings()
        self._logs: dict[TopicPartition, Log] = {}
        self._by_directory: dict[str, dict[TopicPartition, Log]] = {directory.path: {} for directory in directories}
        self._clean: dict[str, bool] = {}
        self._outdated: set[TopicPartition] = set()
        """Partitions that are gone, but may still stand in checkpoint files."""
        self._recovery_points = OffsetFiles(fs, RECOVERY_POINT_FILE, directories)
        self._log_starts = OffsetFiles(fs, LOG_START_FILE, directories)
        self._high_watermarks = OffsetFiles(fs, HIGH_WATERMARK_FILE, directories)
        self._cleaned = OffsetFiles(fs, CLEANER_OFFSET_FILE, directories)
        self.cleaned_offsets: dict[TopicPartition, int] = {}
        """First offset that was not compacted yet, of partitions that were compacted once; see `note_cleaned`."""
        self.deletions = PendingDeletions(fs)

    def __iter__(self) -> Iterator[Log]:
        return iter(self._logs.values())

    def __len__(self) -> int:
        return len(self._logs)

    @property
    def _offset_files(self) -> tuple[OffsetFiles, ...]:
        return self._recovery_points, self._log_starts, self._high_watermarks, self._cleaned

    @property
    def high_watermarks(self) -> Mapping[TopicPartition, int]:
        """High watermarks of the last checkpoint before the start."""
        return self._high_watermarks.offsets

    @property
    def directories(self) -> Sequence[LogDirectory]:
        """The log directories, in the order of the configuration."""
        return self._directories

    def get(self, partition: TopicPartition) -> Log | None:
        """Return the log of a partition, None if it is not open."""
        return self._logs.get(partition)

    def directory_id(self, partition: TopicPartition, topic_id: UUID) -> UUID | None:
        """Return the id of the directory that a topic's partition is in, None if its log is not open."""
        log = self._logs.get(partition)
        if log is None or log.topic_id != topic_id:
            return None
        path = parent_directory(log.directory)
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
        for files in self._offset_files:
            report.findings += files.read()
        self.cleaned_offsets.update(self._cleaned.offsets)
        found = {partition for directory in self._directories for partition in directory.closed}
        checkpointed = {partition for files in self._offset_files for partition in files.offsets}
        self._outdated.update(checkpointed - found)
        openings: list[Opening] = []
        for directory in self._directories:
            self._clean[directory.path] = was_clean_shutdown(self._fs, directory.path)
            remove_clean_shutdown(self._fs, directory.path)
            for path in directory.deleted:
                self.deletions.add_directory(path, self._settings.directory_delete_delay_ms)
            openings += [self._opening(*log) for log in wanted_logs(directory, wanted, report)]
        for opening, outcome in load_each(self._fs, openings, self._settings.recovery_threads):
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
        log = Log(self._fs, loaded, opening.config, self.deletions)
        self._logs[opening.partition] = log
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
            recovery_point=self._recovery_points.offsets.get(partition, 0),
            log_start_offset=self._log_starts.offsets.get(partition, 0),
            topic_id=topic_id,
            producer_expiration_ms=self._settings.producer_expiration_ms,
            verify_transactions=self._settings.verify_transactions,
        )

    # --- partitions come and go

    def get_or_create(self, partition: TopicPartition, topic_id: UUID, config: TopicConfig) -> Log:
        """Return the log of a partition, opened if it is on disk, else made in the directory with the fewest logs.

        What is on disk of another topic of the same name is renamed and left. One that could not be opened at start is
        tried again. Raises StorageError.
        """
        log = self._logs.get(partition)
        if log is not None:
            return log
        path = self._path_of_closed(partition)
        if path is not None:
            opening = self._opening(partition, path, topic_id, config)
            outcome = try_load(self._fs, opening)
            if isinstance(outcome, IncompatibleDirectory):
                self._rename(partition, path, DirectoryState.STRAY)
                path = None
        if path is None:
            if partition in self._outdated:
                self._forget_now()
            opening = self._opening(partition, self._path_for_new(partition), topic_id, config)
            outcome = try_load(self._fs, opening)
        if isinstance(outcome, StorageError):
            raise outcome
        return self._serve(opening, outcome)

    def _path_of_closed(self, partition: TopicPartition) -> str | None:
        return next((found.closed[partition] for found in self._directories if partition in found.closed), None)

    def _path_for_new(self, partition: TopicPartition) -> str:
        """Return where to put a new partition: in the directory that has the fewest."""
        usable = [directory.path for directory in self._directories if directory.for_partitions]
        emptiest = min(usable, key=lambda path: len(self._by_directory[path]))
        return f"{emptiest}/{directory_name(partition)}"

    def truncate_to(self, partition: TopicPartition, offset: int) -> None:
        """Remove the records of an open log from `offset` on, for others to take their place. Raises StorageError.

        The recovery point is written down before that can happen: a crash must not let what comes then pass unchecked.
        """
        if self._logs[partition].truncate_to(offset, self._now_ms()):
            if self.cleaned_offsets.get(partition, 0) > offset:
                self.cleaned_offsets[partition] = self._logs[partition].log_end_offset
            self._write_now(self.checkpoint_recovery_points(), self.checkpoint_cleaned_offsets())

    def truncate_fully(self, partition: TopicPartition, offset: int) -> None:
        """Remove all records of an open log, and let it start anew at `offset`. Raises StorageError."""
        self._logs[partition].truncate_fully(offset, self._now_ms())
        self.cleaned_offsets.pop(partition, None)
        self._write_now(
            self.checkpoint_recovery_points(), self.checkpoint_log_starts(), self.checkpoint_cleaned_offsets()
        )

    def delete(self, partition: TopicPartition) -> None:
        """Take a partition out of service, and let its files be removed later; nothing happens if there is none.

        Raises StorageError.
        """
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
            raise StorageError(f"Cannot rename {path}: {error}") from error
        self._by_directory[parent_directory(path)].pop(partition, None)
        for directory in self._directories:
            directory.closed.pop(partition, None)
        self._outdated.add(partition)
        return target

    def is_outdated(self, partition: TopicPartition) -> bool:
        """Return whether checkpoints may still speak of a partition of that name that is gone.

        They would do harm to a new one, so that `get_or_create` waits for the disk unless `forget_outdated` came first.
        """
        return partition in self._outdated

    def forget_outdated(self) -> Forgetting:
        """Return what takes the partitions that are gone by now out of the checkpoint files."""
        gone = frozenset(self._outdated)
        for partition in gone:
            self._high_watermarks.offsets.pop(partition, None)
            self.cleaned_offsets.pop(partition, None)
        writes = (
            self._recovery_points.forget(gone, self._recovery_point_offsets),
            self._log_starts.forget(gone, self._log_start_offsets),
            self._cleaned.forget(gone, self._compacted_offsets),
        )

        def write_all() -> None:
            for write in writes:
                if write is not None:
                    write()

        return Forgetting(write_all, lambda: self._outdated.difference_update(gone))

    def _forget_now(self) -> None:
        forgetting = self.forget_outdated()
        self._write_now(forgetting.write)
        forgetting.written()

    def _write_now(self, *writes: Callable[[], None] | None) -> None:
        try:
            for write in writes:
                if write is not None:
                    write()
        except OSError as error:
            raise StorageError(f"Cannot write the checkpoints of a log directory: {error}") from error

    # --- background work

    def checkpoint_recovery_points(self) -> Callable[[], None] | None:
        """Return what writes down how far the logs are on disk, None if nothing has changed since the last time."""
        return self._recovery_points.prepare(self._recovery_point_offsets())

    def checkpoint_log_starts(self) -> Callable[[], None] | None:
        """Return what writes down where logs start, as far as their files do not say; None if nothing has changed."""
        return self._log_starts.prepare(self._log_start_offsets())

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[TopicPartition, int]) -> Callable[[], None] | None:
        """Return what writes down these high watermarks, None if nothing has changed."""
        return self._high_watermarks.prepare(self._offsets(lambda log: high_watermarks.get(partition_of(log))))

    def note_cleaned(self, partition: TopicPartition, offset: int) -> Callable[[], None] | None:
        """Note that the log is compacted below `offset`; return what writes it down, None if that is nothing new."""
        self.cleaned_offsets[partition] = offset
        return self.checkpoint_cleaned_offsets()

    def checkpoint_cleaned_offsets(self) -> Callable[[], None] | None:
        """Return what writes down how far logs are compacted, None if nothing has changed."""
        return self._cleaned.prepare(self._compacted_offsets())

    def _recovery_point_offsets(self) -> dict[str, Offsets]:
        return self._offsets(lambda log: log.local.checkpointed_recovery_point)

    def _log_start_offsets(self) -> dict[str, Offsets]:
        return self._offsets(_start_to_write)

    def _compacted_offsets(self) -> dict[str, Offsets]:
        return self._offsets(lambda log: self.cleaned_offsets.get(partition_of(log)))

    def _offsets(self, offset_of: Callable[[Log], int | None]) -> dict[str, Offsets]:
        """Return an offset for every open log that has it, by log directory."""
        return {
            path: {partition: offset for partition, log in logs.items() if (offset := offset_of(log)) is not None}
            for path, logs in self._by_directory.items()
        }

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
        if directory.for_partitions:
            self._recovery_points.write(directory, self._recovery_point_offsets())
            self._log_starts.write(directory, self._log_start_offsets())
        clean = not any(log.directory in problems for log in self.logs_in(directory))
        if clean and (self._clean.get(directory.path) or not directory.closed):
            write_clean_shutdown(self._fs, directory.path, broker_epoch)


def _start_to_write(log: Log) -> int | None:
    """Return where a log starts, None if it starts with its first segment."""
    return log.log_start_offset if log.log_start_offset > log.segments.first.base_offset else None


def partition_of(log: Log) -> TopicPartition:
    """Return the name of the partition that the log is of."""
    return TopicPartition(log.topic, log.partition)
