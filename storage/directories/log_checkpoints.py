"""What the checkpoint files of the log directories say of the logs, and when they are to say something else.

Owns the four files of each directory (recovery points, log starts, high watermarks, compacted offsets) and which
partitions that are gone they may still speak of. Whatever waits for the disk comes as a plain function: a call on the
thread that owns the logs collects what is to be written and returns what writes it, on any thread. Must not know: how
logs come and go. Follows Kafka's `LogManager` and `OffsetCheckpointFile`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from odradek.storage.directories.gathering import Gatherings, Steps
from odradek.storage.directories.log_dirs import LogDirectory
from odradek.storage.directories.offset_checkpoints import OffsetFiles, Offsets
from odradek.storage.errors import StorageError
from odradek.storage.files import FileSystem
from odradek.storage.log.local_log import NoteError
from odradek.storage.log.log import Log
from odradek.storage.names import (
    CLEANER_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    TopicPartition,
)


class Forgetting(NamedTuple):
    """What takes partitions that are gone out of the checkpoint files."""

    write: Callable[[], None]
    """May be run on any thread. Raises OSError."""
    written: Callable[[], None]
    """To be called on the thread that owns the logs, once `write` has ended well."""


class LogCheckpoints:
    """The checkpoint files of all log directories."""

    def __init__(
        self,
        fs: FileSystem,
        directories: Sequence[LogDirectory],
        logs: Mapping[str, Mapping[TopicPartition, Log]],
        note_error: NoteError | None = None,
    ) -> None:
        """`logs` are those that are open, by the path of their log directory, now and later."""
        self._logs = logs
        self._gatherings = Gatherings(logs)
        self._recovery_points = OffsetFiles(fs, RECOVERY_POINT_FILE, directories, note_error)
        self._log_starts = OffsetFiles(fs, LOG_START_FILE, directories, note_error)
        self._high_watermarks = OffsetFiles(fs, HIGH_WATERMARK_FILE, directories, note_error)
        self._cleaned = OffsetFiles(fs, CLEANER_OFFSET_FILE, directories, note_error)
        self.cleaned_offsets: Offsets = {}
        """First offset that was not compacted yet, of partitions that were compacted once; see `note_cleaned`."""
        self._outdated: set[TopicPartition] = set()

    # --- what was found at start

    def read(self) -> list[str]:
        """Read all files, and return what is wrong with them, in sentences. Raises OSError."""
        findings: list[str] = []
        for files in self._all:
            findings += files.read()
        self.cleaned_offsets.update(self._cleaned.offsets)
        return findings

    @property
    def _all(self) -> tuple[OffsetFiles, ...]:
        return self._recovery_points, self._log_starts, self._high_watermarks, self._cleaned

    @property
    def found(self) -> set[TopicPartition]:
        """The partitions that the files spoke of."""
        return {partition for files in self._all for partition in files.offsets}

    @property
    def high_watermarks_found(self) -> Mapping[TopicPartition, int]:
        """High watermarks of the last checkpoint before the start."""
        return self._high_watermarks.offsets

    def recovery_point_found(self, partition: TopicPartition) -> int:
        """Return up to where a log was on the disk."""
        return self._recovery_points.offsets.get(partition, 0)

    def log_start_found(self, partition: TopicPartition) -> int:
        """Return where a log began, 0 if that is for its files to say."""
        return self._log_starts.offsets.get(partition, 0)

    # --- what is to be written

    def recovery_points(self) -> Callable[[], None] | None:
        """Return what writes down how far the logs are on disk, None if nothing has changed since the last time."""
        return self._recovery_points.prepare(self._recovery_point_offsets())

    def log_starts(self) -> Callable[[], None] | None:
        """Return what writes down where logs start, as far as their files do not say; None if nothing has changed."""
        return self._log_starts.prepare(self._log_start_offsets())

    def high_watermarks(self, high_watermarks: Mapping[TopicPartition, int]) -> Callable[[], None] | None:
        """Return what writes down these high watermarks, None if nothing has changed."""
        return self._high_watermarks.prepare(self._offsets(lambda log: high_watermarks.get(partition_of(log))))

    def recovery_points_in_steps(self) -> Steps:
        """Collect how far the logs are on disk, a log at a time."""
        return self._gatherings.gather(self._recovery_points, _recovery_point, _recovery_point)

    def log_starts_in_steps(self) -> Steps:
        """Collect where logs start, as far as their files do not say, a log at a time."""
        return self._gatherings.gather(self._log_starts, _start_to_write, _start_to_write)

    def high_watermarks_in_steps(self, high_watermarks: Iterable[tuple[TopicPartition, int]]) -> Steps:
        """Collect these high watermarks, one at a time; of logs that change meanwhile the next time tells."""
        known: Offsets = {}

        def take() -> Iterator[None]:
            for partition, offset in high_watermarks:
                known[partition] = offset
                yield

        return self._gatherings.gather(
            self._high_watermarks, lambda log: known.get(partition_of(log)), lambda _: None, take()
        )

    def touch(self, partition: TopicPartition) -> None:
        """Tell that a log is another one now, or is cut: what is being collected of it holds no longer."""
        self._gatherings.touch(partition)

    def note_cleaned(self, partition: TopicPartition, offset: int) -> Callable[[], None] | None:
        """Note that the log is compacted below `offset`; return what writes it down, None if that is nothing new."""
        self.cleaned_offsets[partition] = offset
        return self.cleaned()

    def cleaned(self) -> Callable[[], None] | None:
        """Return what writes down how far logs are compacted, None if nothing has changed."""
        return self._cleaned.prepare(self._compacted_offsets())

    def write_last(self, directory: LogDirectory) -> None:
        """Write what a clean stop leaves in one directory. Raises OSError."""
        self._recovery_points.write(directory, self._recovery_point_offsets())
        self._log_starts.write(directory, self._log_start_offsets())

    # --- partitions that are gone

    def outdate(self, *gone: TopicPartition) -> None:
        """Note that these partitions are gone, and may still stand in files."""
        self._outdated.update(gone)
        for partition in gone:
            self._gatherings.touch(partition)

    def is_outdated(self, partition: TopicPartition) -> bool:
        """Return whether files may still speak of a partition of that name that is gone."""
        return partition in self._outdated

    def forget_outdated(self) -> Forgetting:
        """Return what takes the partitions that are gone by now out of the files."""
        gone = frozenset(self._outdated)
        for partition in gone:
            self.cleaned_offsets.pop(partition, None)
        writes = (
            self._high_watermarks.forget(gone, self._high_watermark_offsets_found),
            self._recovery_points.forget(gone, self._recovery_point_offsets),
            self._log_starts.forget(gone, self._log_start_offsets),
            self._cleaned.forget(gone, self._compacted_offsets),
        )

        def write_all() -> None:
            for write in writes:
                if write is not None:
                    write()

        return Forgetting(write_all, lambda: self._outdated.difference_update(gone))

    def forget_now(self) -> None:
        """Do that at once. Raises StorageError."""
        forgetting = self.forget_outdated()
        write_now(forgetting.write)
        forgetting.written()

    # --- offsets of open logs

    def _recovery_point_offsets(self) -> dict[str, Offsets]:
        return self._offsets(_recovery_point)

    def _log_start_offsets(self) -> dict[str, Offsets]:
        return self._offsets(_start_to_write)

    def _high_watermark_offsets_found(self) -> dict[str, Offsets]:
        return self._offsets(lambda log: self._high_watermarks.offsets.get(partition_of(log)))

    def _compacted_offsets(self) -> dict[str, Offsets]:
        return self._offsets(lambda log: self.cleaned_offsets.get(partition_of(log)))

    def _offsets(self, offset_of: Callable[[Log], int | None]) -> dict[str, Offsets]:
        """Return an offset for every open log that has it, by log directory."""
        return {
            path: {partition: offset for partition, log in logs.items() if (offset := offset_of(log)) is not None}
            for path, logs in self._logs.items()
        }


def write_now(*writes: Callable[[], None] | None) -> None:
    """Do what waits for the disk at once. Raises StorageError."""
    try:
        for write in writes:
            if write is not None:
                write()
    except OSError as error:
        raise StorageError(f"Cannot write the checkpoints of a log directory: {error}") from error


def partition_of(log: Log) -> TopicPartition:
    """Return the name of the partition that the log is of."""
    return TopicPartition(log.topic, log.partition)


def _recovery_point(log: Log) -> int:
    return log.local.checkpointed_recovery_point


def _start_to_write(log: Log) -> int | None:
    """Return where a log starts, None if it starts with its first segment."""
    return log.log_start_offset if log.log_start_offset > log.segments.first.base_offset else None
