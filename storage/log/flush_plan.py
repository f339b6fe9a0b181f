"""What one flush of a log makes durable: noted by the log, waited for on any thread, while the log goes on.

Must not know: logs, and when a flush is due. What a flush that failed leaves in doubt is written again before it is
synced (`storage.log.failed_sync`). Follows Kafka's log behaviour, flush and recovery point.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.log.failed_sync import Stretch, write_again
from odradek.storage.names import LOG_SUFFIX
from odradek.storage.segment.segment import Segment


@dataclass(slots=True)
class Unsynced:
    """What of a log is not on disk for sure, beside the data of its active segment."""

    segments: list[Segment] = field(default_factory=list)
    """Sealed ones, data or indexes."""
    paths: set[str] = field(default_factory=set)
    """Small files that were written as a whole."""
    directories: set[str] = field(default_factory=set)
    """Directories with new names in them."""

    def __bool__(self) -> bool:
        return bool(self.segments or self.paths or self.directories)


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
            write_again(stretch)
        for file in self.files:
            file.sync()
        for path in self.paths:
            with suppress(FileNotFoundError):
                if self.follows_failure:
                    self.fs.write_atomic(path, self.fs.read_bytes(path))
                else:
                    self.fs.open(path).sync()


def stretches_in_doubt(segments: Iterable[Segment], files: Iterable[OpenFile]) -> list[Stretch]:
    """Return all that a flush which failed may have been about, and what came after it."""
    data = [segment for segment in segments if segment.size != segment.synced_size]
    stretches = [Stretch(segment.file, segment.synced_size, segment.size, True) for segment in data]
    paths = {segment.path(LOG_SUFFIX) for segment in segments}
    return stretches + [Stretch(file, 0, file.size(), False) for file in files if file.path not in paths]
