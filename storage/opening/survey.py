"""What a partition's files say of it to somebody who does not know it: topic id, leader epoch, producer ids.

Owns looking into a directory that nobody has described, without changing anything in it. Damage is no reason to stop
here: whoever opens the log deals with it. Follows Kafka's storage format, files in a partition directory.
"""

from bisect import bisect_right
from typing import NamedTuple
from uuid import UUID

from odradek.protocol.records.errors import CorruptRecord
from odradek.storage.checkpoints.leader_epochs import UNDEFINED, read_leader_epochs
from odradek.storage.checkpoints.partition_metadata import read_topic_id
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem
from odradek.storage.names import LOG_SUFFIX, PRODUCER_SNAPSHOT_SUFFIX, file_name, parse_file_name
from odradek.storage.producers.producer_snapshot import decode_snapshot
from odradek.storage.segment.batch_headers import walk_headers

NO_PRODUCER_ID = -1


class PartitionSurvey(NamedTuple):
    """What was found in the directory of a partition."""

    topic_id: UUID | None = None
    """None in directories from before Kafka 2.8."""
    leader_epoch: int = UNDEFINED
    """The largest that is known; -1 in directories from before Kafka 0.11."""
    producer_id: int = NO_PRODUCER_ID
    """The largest that has written, as far as anything remembers it; -1 if none has."""


def survey_partition(fs: FileSystem, directory: str) -> PartitionSurvey:
    """Look into the directory of a partition. Raises OSError, and CorruptFile for a topic id that cannot be read."""
    topic_id = read_topic_id(fs, directory)
    try:
        epochs = read_leader_epochs(fs, directory)
    except CorruptFile:
        epochs = []
    epoch = max((entry.epoch for entry in epochs), default=UNDEFINED)
    segments, snapshots = _list(fs, directory)
    producer_id, covered = _newest_snapshot(fs, directory, snapshots)
    first = len(segments) - 1 if covered is None else bisect_right(segments, covered) - 1
    for base in segments[max(0, first) :]:
        found = _walk(fs, f"{directory}/{file_name(base, LOG_SUFFIX)}")
        epoch, producer_id = max(epoch, found.leader_epoch), max(producer_id, found.producer_id)
    return PartitionSurvey(topic_id, epoch, producer_id)


def segment_paths(fs: FileSystem, directory: str) -> list[str]:
    """Return the paths of the data files of a partition, in order."""
    return [f"{directory}/{file_name(base, LOG_SUFFIX)}" for base in _list(fs, directory)[0]]


def _list(fs: FileSystem, directory: str) -> tuple[list[int], list[int]]:
    """Return the base offsets of the segments and the offsets of the producer snapshots, both ascending."""
    names = [name for name in map(parse_file_name, fs.listdir(directory)) if name is not None and not name.state]
    segments, snapshots = (
        sorted(name.offset for name in names if name.suffix == suffix)
        for suffix in (LOG_SUFFIX, PRODUCER_SNAPSHOT_SUFFIX)
    )
    return segments, snapshots


def _newest_snapshot(fs: FileSystem, directory: str, snapshots: list[int]) -> tuple[int, int | None]:
    """Return the largest producer id in the newest snapshot that can be read, and its offset, None without one."""
    for offset in reversed(snapshots):
        path = f"{directory}/{file_name(offset, PRODUCER_SNAPSHOT_SUFFIX)}"
        try:
            entries = decode_snapshot(fs.read_bytes(path), path)
        except CorruptFile:
            continue
        return max((producer_id for producer_id, _ in entries), default=NO_PRODUCER_ID), offset
    return NO_PRODUCER_ID, None


def _walk(fs: FileSystem, path: str) -> PartitionSurvey:
    """Look at all batch headers of a segment, up to the first that cannot be one."""
    epoch, producer_id = UNDEFINED, NO_PRODUCER_ID
    file = fs.open(path, writable=False)
    try:
        for _, header in walk_headers(file, 0, file.size()):
            epoch = max(epoch, header.partition_leader_epoch)
            producer_id = max(producer_id, header.producer_id)
    except CorruptRecord:
        pass
    finally:
        file.close()
    return PartitionSurvey(None, epoch, producer_id)
