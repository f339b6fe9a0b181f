"""From options and conditions to tasks: which bytes of which segments each task reads.

The indexes say which bytes are needed; large pieces are cut where an index knows a batch to begin, small ones put
together, so that tasks are of about the same size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from odradek.storage.files import FileSystem
from pyspark_odradek.errors import OptionError
from pyspark_odradek.log_files.conditions import MAX_OFFSET, Conditions
from pyspark_odradek.log_files.files import PartitionFiles, SegmentFile, find_partitions, reading, segment_path
from pyspark_odradek.log_files.locating import Extent, Locator
from pyspark_odradek.log_files.options import LogOptions
from pyspark_odradek.log_files.transactions import ALL_COMMITTED, AbortedRange, find_committed
from pyspark_odradek.offsets import EARLIEST, LATEST, OffsetRange, TopicPartition
from pyspark_odradek.option_values import Position

_USUAL_TASKS: Final = 8
_WORTH_A_TASK: Final = 8 * 1024 * 1024


class SegmentPart(NamedTuple):
    """Bytes of a segment, of which the records with some offsets are wanted."""

    wanted: OffsetRange
    path: str
    segment: SegmentFile
    start: int
    end: int
    """Where the next batch begins, or the segment ended when this was planned."""
    not_before_ms: int
    """Batches with only earlier records need not be decoded."""
    aborted: tuple[AbortedRange, ...]

    @property
    def is_tail(self) -> bool:
        """Whether a batch may be cut off at the end, since a broker was writing it."""
        return self.segment.is_last and self.end == self.segment.size


def plan(fs: FileSystem, options: LogOptions, conditions: Conditions) -> list[list[SegmentPart]]:
    """Return the pieces that each task reads, in order.

    Raises:
        SourceError: the directory is not there, cannot be read, or is not what the options say.
        KafkaError, CorruptFile: what must be read for planning is damaged.
    """
    found = find_partitions(fs, options)
    _check_known(options, {files.partition for files in found})
    with reading(options.path):
        segments = [
            (files, piece)
            for files in found
            if files.partition.partition in conditions.partitions
            and (conditions.topics is None or files.partition.topic in conditions.topics)
            for piece in _pieces(fs, options, conditions, files)
        ]
        total = sum(piece.end - piece.start for _, piece in segments)
        size = _task_size(options, total)
        return group([part for files, piece in segments for part in _cut(fs, files, piece, size)], size)


def group(pieces: Sequence[SegmentPart], task_bytes: int) -> list[list[SegmentPart]]:
    """Return the pieces put together, in their order, as long as a task has at most so many bytes."""
    tasks: list[list[SegmentPart]] = []
    room = 0
    for piece in pieces:
        size = piece.end - piece.start
        if not tasks or size > room:
            tasks.append([])
            room = task_bytes
        tasks[-1].append(piece)
        room -= size
    return tasks


def _task_size(options: LogOptions, total: int) -> int:
    """Return how many bytes a task should have: little is shared out, too, as long as the shares are worth a task."""
    if options.min_partitions is not None:
        return min(options.task_bytes, max(1, -(-total // options.min_partitions)))
    return min(options.task_bytes, max(_WORTH_A_TASK, -(-total // _USUAL_TASKS)))


def _cut(fs: FileSystem, files: PartitionFiles, piece: SegmentPart, size: int) -> list[SegmentPart]:
    """Return a piece cut into some of about that size, in bytes."""
    if piece.end - piece.start <= size:
        return [piece]
    cuts = Locator(fs, files, piece.segment).cuts(Extent(piece.start, piece.end), size)
    bounds = [piece.start, *cuts, piece.end]
    return [piece._replace(start=start, end=stop) for start, stop in pairwise(bounds)]


def _pieces(
    fs: FileSystem, options: LogOptions, conditions: Conditions, files: PartitionFiles
) -> Iterator[SegmentPart]:
    """Yield the piece of each segment of a partition that may have wanted records."""
    first = max(_resolve(fs, options.start, files), files.start_offset, conditions.offsets.first)
    until = min(_resolve(fs, options.end, files), conditions.offsets.last + 1)
    committed = find_committed(fs, files) if options.read_committed else ALL_COMMITTED
    until = min(until, committed.until)
    for segment in files.segments:
        end = segment.end_offset
        if end <= first or segment.base_offset >= until:
            continue
        locator = Locator(fs, files, segment)
        since = locator.first_offset_since(conditions.not_before_ms)
        if since is None:
            continue
        wanted = OffsetRange(files.partition, max(first, since), min(until, end))
        if wanted.first >= wanted.until:
            continue
        extent = locator.extent(wanted.first, until if until < end else None)
        if extent.start < extent.end:
            path = segment_path(files.directory, segment.base_offset)
            aborted = committed.between(wanted.first, wanted.until)
            yield SegmentPart(wanted, path, segment, *extent, conditions.not_before_ms, aborted)


def _resolve(fs: FileSystem, position: Position, files: PartitionFiles) -> int:
    """Return the offset that a position stands for in a partition; MAX_OFFSET for its end."""
    if position.timestamp is not None:
        return _offset_of_time(fs, files, position.timestamp)
    offset = position.special if position.special is not None else position.offsets.get(files.partition, EARLIEST)
    return {EARLIEST: 0, LATEST: MAX_OFFSET}.get(offset, offset)


def _offset_of_time(fs: FileSystem, files: PartitionFiles, timestamp_ms: int) -> int:
    for segment in files.segments:
        found = Locator(fs, files, segment).offset_of_time(timestamp_ms, files.start_offset)
        if found is not None:
            return found
    return MAX_OFFSET


def _check_known(options: LogOptions, there: set[TopicPartition]) -> None:
    """Raise OptionError unless offsets are given for exactly the partitions that are read."""
    for position, name in ((options.start, "startingOffsets"), (options.end, "endingOffsets")):
        if position.offsets and (missing := sorted(there - position.offsets.keys())):
            raise OptionError(
                f"{name} must name all partitions that are read, {missing[0]} is missing; -2 stands for the earliest"
                " offset and -1 for the latest"
            )
        if unknown := sorted(position.offsets.keys() - there):
            raise OptionError(f"{name} names partition {unknown[0]}, which is not there")
