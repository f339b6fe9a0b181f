"""A log in outline: its segments by size and time, and what the checkpoints of its directory say, with few reads.

Of a segment the first batch header, the last entries of its indexes and sizes of files are looked at, so that one of a
gigabyte costs no more than a small one; of the last segment also the headers behind its last index entry. Nothing is
locked or changed, and files of a running broker may vanish meanwhile. Follows Kafka's storage format, files in a log
directory, and log behaviour, retention and log cleaner.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.logs.index_entries import OFFSET_ENTRY, TIME_ENTRY, count_entries
from odradek.protocol.records.batch import NO_TIMESTAMP
from odradek.protocol.uuids import to_text
from odradek.storage.checkpoints.checkpoint_file import read_offset_checkpoint
from odradek.storage.checkpoints.leader_epochs import EpochStart, read_leader_epochs
from odradek.storage.checkpoints.partition_metadata import read_topic_id
from odradek.storage.errors import CorruptFile, StorageError
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.names import (
    CLEANER_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    PRODUCER_SNAPSHOT_SUFFIX,
    RECOVERY_POINT_FILE,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    DirectoryState,
    TopicPartition,
    file_name,
    parse_directory_name,
    parse_file_name,
)
from odradek.storage.segment.entry_walk import Ending, EntryWalk

MOST_TAIL_BATCHES = 100_000
"""Batch headers of the last segment that are read behind its last index entry: where the index is right, a few."""
_HEADER_ROOM = 128
"""Bytes that hold the header of any batch or message."""


class SegmentOutline(NamedTuple):
    """One segment, as its files say without a look at all of them. Times are milliseconds since 1970, -1 for none."""

    base_offset: int
    end_offset: int | None
    """Where the next segment begins, or the log ends; None where that cannot be read."""
    size: int
    """Bytes of the data file."""
    index_bytes: int
    """Of all its index files, as large as they are on the disk."""
    offset_entries: int
    time_entries: int
    first_timestamp: int
    """Largest timestamp of the first batch."""
    max_timestamp: int
    """Largest timestamp, by the last entry of the time index and, of the last segment, what is behind it."""
    modified_ms: int
    """When the data file was last written to."""


_CHECKPOINT_FILES = (RECOVERY_POINT_FILE, LOG_START_FILE, HIGH_WATERMARK_FILE, CLEANER_OFFSET_FILE)
"""In the order of the fields of `Checkpoints`."""


class Checkpoints(NamedTuple):
    """What the small files of the log directory say of a partition, each None where it says nothing.

    A running broker writes them now and then, so they may be behind.
    """

    recovery_point: int | None = None
    log_start: int | None = None
    high_watermark: int | None = None
    cleaned_to: int | None = None


@dataclass(frozen=True, slots=True)
class LogOutline:
    """One partition."""

    directory: str
    partition: TopicPartition
    topic_id: str | None
    segments: Sequence[SegmentOutline]
    """Oldest first; the last one is appended to."""
    checkpoints: Checkpoints
    epochs: Sequence[EpochStart]
    going: int
    """Files that wait for their removal or replacement (`.deleted`, `.cleaned`, `.swap`)."""
    notes: Sequence[str]
    """What could not be read, in sentences."""

    @property
    def size(self) -> int:
        """Bytes of all data files."""
        return sum(each.size for each in self.segments)

    @property
    def index_bytes(self) -> int:
        """Bytes of all index files."""
        return sum(each.index_bytes for each in self.segments)

    @property
    def start_offset(self) -> int:
        """The first offset that a reader can have: records before it may still be in the first segment."""
        first = self.segments[0].base_offset if self.segments else 0
        return max(first, self.checkpoints.log_start or 0)

    @property
    def end_offset(self) -> int | None:
        """The offset after the last record, None where it cannot be read."""
        return self.segments[-1].end_offset if self.segments else None


class FoundPartition(NamedTuple):
    """A partition in one of several log directories."""

    partition: TopicPartition
    directory: str
    """Path of its own directory."""


def find_partitions(fs: FileSystem, log_directories: Sequence[str]) -> list[FoundPartition]:
    """Return the partitions that are in log directories, by name; copies under way and removed ones are left out.

    Raises OSError where a directory cannot be read.
    """
    found = []
    for home in log_directories:
        for entry in fs.scan(home):
            parsed = parse_directory_name(entry.name) if entry.is_directory else None
            if parsed is not None and parsed.state is DirectoryState.CURRENT:
                found.append(FoundPartition(parsed.partition, f"{home}/{entry.name}"))
    return sorted(found)


def find_partition(fs: FileSystem, log_directories: Sequence[str], partition: TopicPartition) -> str | None:
    """Return the path of a partition's directory, None where none of the log directories has it.

    Only what a directory lists is ever opened: no part of a name that somebody gives becomes a path. Raises OSError.
    """
    return next((each.directory for each in find_partitions(fs, log_directories) if each.partition == partition), None)


class DirectoryCheckpoints:
    """The checkpoints of a log directory, read once; one that cannot be read is told in `notes`, and says nothing."""

    def __init__(self, fs: FileSystem, home: str) -> None:
        self.notes: list[str] = []
        self._offsets = [self._read(fs, home, name) for name in _CHECKPOINT_FILES]

    def of(self, partition: TopicPartition) -> Checkpoints:
        """Return what they say of a partition."""
        return Checkpoints(*(each.get(partition) for each in self._offsets))

    def _read(self, fs: FileSystem, home: str, name: str) -> dict[TopicPartition, int]:
        try:
            return read_offset_checkpoint(fs, f"{home}/{name}")
        except (OSError, CorruptFile) as error:
            self.notes.append(f"{name} is passed over: {error}")
            return {}


def outline_log(
    fs: FileSystem, directory: str, partition: TopicPartition, checkpoints: DirectoryCheckpoints | None = None
) -> LogOutline:
    """Return the outline of the log in a partition's directory; who looks at many passes the checkpoints in.

    Raises OSError; CorruptFile where there is no log.
    """
    bases: list[int] = []
    going = 0
    for name in fs.listdir(directory):
        parsed = parse_file_name(name)
        if parsed is not None and parsed.state:
            going += parsed.suffix != PRODUCER_SNAPSHOT_SUFFIX
        elif parsed is not None and parsed.suffix == LOG_SUFFIX:
            bases.append(parsed.offset)
    if not bases:
        raise CorruptFile(directory, "there is no segment (.log) in it")
    bases.sort()
    segments = []
    for base, following in zip(bases, [*bases[1:], None], strict=True):
        try:
            segments.append(_outline_segment(fs, directory, base, following))
        except FileNotFoundError:
            continue  # retention or compaction has taken it meanwhile
    told = checkpoints or DirectoryCheckpoints(fs, os.path.dirname(directory))
    notes = [*told.notes]
    return LogOutline(
        directory,
        partition,
        _topic_id(fs, directory, notes),
        segments,
        told.of(partition),
        _epochs(fs, directory, notes),
        going,
        notes,
    )


def _outline_segment(fs: FileSystem, directory: str, base: int, following: int | None) -> SegmentOutline:
    path = f"{directory}/{file_name(base, LOG_SUFFIX)}"
    file = fs.open(path, writable=False)
    size = file.size()
    offsets, times = _open(fs, directory, base, OFFSET_INDEX_SUFFIX), _open(fs, directory, base, TIME_INDEX_SUFFIX)
    aborted = _open(fs, directory, base, TRANSACTION_INDEX_SUFFIX)
    offset_entries = count_entries(offsets, OFFSET_ENTRY) if offsets else 0
    time_entries = count_entries(times, TIME_ENTRY) if times else 0
    newest = NO_TIMESTAMP
    if times and time_entries:
        newest = TIME_ENTRY.unpack(times.pread(TIME_ENTRY.size, (time_entries - 1) * TIME_ENTRY.size))[0]
    end = following
    if following is None:
        position = 0
        if offsets and offset_entries:
            last = offsets.pread(OFFSET_ENTRY.size, (offset_entries - 1) * OFFSET_ENTRY.size)
            position = OFFSET_ENTRY.unpack(last)[1]
        end, newest = _tail(file, size, max(0, position), base, newest)
    return SegmentOutline(
        base_offset=base,
        end_offset=end,
        size=size,
        index_bytes=sum(each.size() for each in (offsets, times, aborted) if each is not None),
        offset_entries=offset_entries,
        time_entries=time_entries,
        first_timestamp=_first_timestamp(file, size),
        max_timestamp=newest,
        modified_ms=fs.mtime_ms(path),
    )


def _tail(file: OpenFile, size: int, position: int, end: int, newest: int) -> tuple[int | None, int]:
    """Return the end of the last segment and its largest timestamp, from the last index entry on."""
    walk = EntryWalk(file, size, position, checked=False)
    for number, (_, fields, _) in enumerate(walk):
        end = fields[0] + fields[6] + 1
        newest = max(newest, fields[8])
        if number == MOST_TAIL_BATCHES:
            return None, newest
    return (end if walk.ending is not Ending.GARBAGE else None), newest


def _first_timestamp(file: OpenFile, size: int) -> int:
    walk = EntryWalk(file, size, checked=False, buffer=bytearray(_HEADER_ROOM))
    for _, fields, _ in walk:
        return fields[8]
    return NO_TIMESTAMP


def _open(fs: FileSystem, directory: str, base: int, suffix: str) -> OpenFile | None:
    try:
        return fs.open(f"{directory}/{file_name(base, suffix)}", writable=False)
    except FileNotFoundError:
        return None


def _epochs(fs: FileSystem, directory: str, notes: list[str]) -> list[EpochStart]:
    try:
        return read_leader_epochs(fs, directory)
    except (OSError, CorruptFile) as error:
        notes.append(f"the leader epochs are passed over: {error}")
        return []


def _topic_id(fs: FileSystem, directory: str, notes: list[str]) -> str | None:
    try:
        found = read_topic_id(fs, directory)
    except (OSError, StorageError) as error:
        notes.append(f"the topic id is passed over: {error}")
        return None
    return None if found is None else to_text(found)
