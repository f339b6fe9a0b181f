"""What is in a log directory: partitions, their segments, and where their records begin. Nothing is written or locked.

A broker may be at work in the directory. So files are read, never mapped (a broker that cuts a mapped file would have
this process killed), and sizes are taken once: what is appended later is not looked at. Follows Kafka's storage format,
files in a log.dir and in a partition directory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

from odradek.storage.checkpoints.checkpoint_file import read_offset_checkpoint
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem, PosixFiles
from odradek.storage.names import (
    LOG_START_FILE,
    LOG_SUFFIX,
    SWAP_SUFFIX,
    DirectoryName,
    DirectoryState,
    file_name,
    parse_directory_name,
    parse_file_name,
)
from odradek.storage.names import TopicPartition as Named
from pyspark_odradek.errors import SourceError, UnknownTopicError
from pyspark_odradek.log_files.conditions import MAX_OFFSET
from pyspark_odradek.log_files.options import LogOptions
from pyspark_odradek.offsets import TopicPartition

_INTERNAL = "__"
_SHOWN = 5


class LogFiles(PosixFiles):
    """Files that somebody else may change meanwhile."""

    def map_readonly(self, path: str) -> bytes:
        """Return the content of an index, a copy of it: 10 MiB at most with Kafka's settings."""
        return self.read_bytes(path)


class SegmentFile(NamedTuple):
    """A segment, as it was when the query was planned."""

    base_offset: int
    end_offset: int
    """Where the next segment begins; MAX_OFFSET for the last one."""
    size: int
    """In bytes."""

    @property
    def is_last(self) -> bool:
        """Whether a broker may be appending to it."""
        return self.end_offset == MAX_OFFSET


class PartitionFiles(NamedTuple):
    """The segments of a partition."""

    partition: TopicPartition
    directory: str
    start_offset: int
    """Records before it are deleted, even if they are still on disk."""
    segments: tuple[SegmentFile, ...]


def segment_path(directory: str, base_offset: int, suffix: str = LOG_SUFFIX) -> str:
    """Return the path of a file of a segment."""
    return f"{directory}/{file_name(base_offset, suffix)}"


def find_partitions(fs: FileSystem, options: LogOptions) -> list[PartitionFiles]:
    """Return the partitions that are to be read.

    Raises:
        UnknownTopicError: a topic that the options name is not there.
        SourceError: the directory is not there, cannot be read, or is being changed.
    """
    with reading(options.path):
        found = {name.partition: path for name, path in _directories(fs, options.path)}
        chosen = _choose(options, found)
        return [_look_into(fs, partition, found[partition]) for partition in sorted(chosen)]


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn errors of the operating system into sentences. Raises SourceError."""
    try:
        yield
    except FileNotFoundError as gone:
        missing = gone.filename or path
        why = "" if missing == path else ": the broker removed it meanwhile, by retention or compaction; try again"
        raise SourceError(f"{missing} is not there{why}") from gone
    except OSError as failed:
        raise SourceError(f"{failed.filename or path} cannot be read: {failed.strerror or failed}") from failed


def _directories(fs: FileSystem, path: str) -> Iterator[tuple[DirectoryName, str]]:
    """Yield the directories of partitions: the given one, or those in it."""
    own = parse_directory_name(path.rpartition("/")[2])
    names = fs.scan(path)
    if own is not None and any(parse_file_name(name) for name, is_directory in names if not is_directory):
        yield own, path
        return
    for name, is_directory in names:
        parsed = parse_directory_name(name)
        if is_directory and parsed is not None and parsed.state is DirectoryState.CURRENT:
            yield parsed, f"{path}/{name}"


def _choose(options: LogOptions, found: dict[Named, str]) -> list[Named]:
    there = sorted({partition.topic for partition in found})
    if not there:
        raise SourceError(f"{options.path} is neither a log directory with partitions nor the directory of one")
    if missing := [topic for topic in options.topics if topic not in there]:
        raise UnknownTopicError(f"{options.path} has no topic {missing[0]}; there are {_some(there)}")
    assigned = {Named(topic, number) for topic, numbers in options.assigned.items() for number in numbers}
    if unknown := sorted(assigned - found.keys()):
        raise UnknownTopicError(f"{options.path} has no partition {unknown[0]}")
    if assigned:
        return list(assigned)
    if options.topics:
        return [partition for partition in found if partition.topic in options.topics]
    pattern = options.pattern
    if pattern is not None:
        return [partition for partition in found if pattern.fullmatch(partition.topic)]
    ordinary = [partition for partition in found if not partition.topic.startswith(_INTERNAL)]
    return ordinary if len(there) > 1 else list(found)


def _look_into(fs: FileSystem, partition: Named, directory: str) -> PartitionFiles:
    names = [name for name in map(parse_file_name, fs.listdir(directory)) if name and name.suffix == LOG_SUFFIX]
    if swapped := [name for name in names if name.state == SWAP_SUFFIX]:
        raise SourceError(
            f"{segment_path(directory, swapped[0].offset)}{SWAP_SUFFIX} is about to replace other segments: try again,"
            " or let a broker finish it first if none is running"
        )
    bases = sorted(name.offset for name in names if not name.state)
    segments = tuple(
        SegmentFile(base, end, fs.size(segment_path(directory, base))) for base, end in pairwise((*bases, MAX_OFFSET))
    )
    checkpoint = f"{directory.rpartition('/')[0]}/{LOG_START_FILE}"
    try:
        start = read_offset_checkpoint(fs, checkpoint).get(partition, 0)
    except CorruptFile as damaged:
        raise SourceError(f"it is not known where {partition} begins: {damaged}") from damaged
    return PartitionFiles(TopicPartition(*partition), directory, start, segments)


def _some(topics: list[str]) -> str:
    more = f" and {len(topics) - _SHOWN} more" if len(topics) > _SHOWN else ""
    return ", ".join(topics[:_SHOWN]) + more
