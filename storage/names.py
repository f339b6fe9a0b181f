"""The names of directories and files of a log directory, written and read.

Pure text: nothing here touches a disk. Follows Kafka's storage format (directory names as in `LocalLog`, file names as
in `LogFileUtils`).
"""

from enum import Enum
from typing import NamedTuple

LOG_SUFFIX = ".log"
OFFSET_INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
PRODUCER_SNAPSHOT_SUFFIX = ".snapshot"

DELETED_SUFFIX = ".deleted"
"""Renamed so and waiting for its removal."""
CLEANED_SUFFIX = ".cleaned"
"""Being written by the cleaner; worthless after a crash."""
SWAP_SUFFIX = ".swap"
"""Complete, and about to replace the segments it was made from, also after a crash."""

LEADER_EPOCH_FILE = "leader-epoch-checkpoint"
PARTITION_METADATA_FILE = "partition.metadata"
SYNC_FAILED_FILE = ".sync-failed"
"""In the directory of a partition whose disk refused a sync, until what that was about was written again. Apache Kafka
does not know it, and passes over it."""
MOVE_COMPLETE_FILE = ".move-complete"
"""In the directory of a partition's copy that has all of its log, on the disk, and may take its place. Apache Kafka
does not know it, and passes over it."""
RECOVERY_POINT_FILE = "recovery-point-offset-checkpoint"
LOG_START_FILE = "log-start-offset-checkpoint"
HIGH_WATERMARK_FILE = "replication-offset-checkpoint"
CLEANER_OFFSET_FILE = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
LOCK_FILE = ".lock"
META_PROPERTIES_FILE = "meta.properties"

METADATA_TOPIC = "__cluster_metadata"
REMOTE_INDEX_CACHE_DIRECTORY = "remote-log-index-cache"
"""Directory of Kafka's tiered storage; not a partition, and left alone."""

MAX_NAME_LENGTH = 255
_MAX_INT32 = 0x7FFF_FFFF
_MAX_INT64 = 0x7FFF_FFFF_FFFF_FFFF
_SEGMENT_SUFFIXES = frozenset(
    {LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX, PRODUCER_SNAPSHOT_SUFFIX}
)
_STATE_SUFFIXES = frozenset({"", DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX})


class TopicPartition(NamedTuple):
    """A partition by the name of its topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class DirectoryState(Enum):
    """What the directory of a partition is, by the suffix of its name."""

    CURRENT = ""
    DELETED = "-delete"
    """The partition is gone; the directory waits for its removal. The topic may be cut short."""
    FUTURE = "-future"
    """A copy on its way to another log directory of the same broker."""
    STRAY = "-stray"
    """Found on disk, but not known to the cluster. The topic may be cut short."""


class DirectoryName(NamedTuple):
    """A directory name, taken apart."""

    partition: TopicPartition
    state: DirectoryState


class FileName(NamedTuple):
    """A file name of a partition directory, taken apart: `<20 digits><suffix><state>`."""

    offset: int
    suffix: str
    """One of the five `*_SUFFIX` of a segment's files, `.log` for example."""
    state: str
    """"" or one of `.deleted`, `.cleaned`, `.swap`."""


def directory_name(partition: TopicPartition) -> str:
    """Return the name of the directory that holds the partition."""
    return f"{partition.topic}-{partition.partition}"


def marked_directory_name(partition: TopicPartition, state: DirectoryState, unique: str) -> str:
    """Return the name `<topic>-<partition>.<unique><state>`, of at most 255 characters.

    `unique` is in Kafka the 32 hex digits of a random UUID.
    Kafka cuts the topic short where the name would be longer, except for `-future`.
    """
    end = f"-{partition.partition}.{unique}{state.value}"
    topic = partition.topic
    if state is not DirectoryState.FUTURE:
        topic = topic[: MAX_NAME_LENGTH - len(end)]
    return topic + end


def parse_directory_name(name: str) -> DirectoryName | None:
    """Return what the directory name says, or None if it is not the name of a partition's directory.

    Stricter than Kafka in one point: the partition is a decimal number in its usual form (no sign, no leading zero),
    so that no two directories can mean the same partition.
    """
    state = DirectoryState.CURRENT
    for marked in (DirectoryState.DELETED, DirectoryState.FUTURE, DirectoryState.STRAY):
        if name.endswith(marked.value):
            name, dot, unique = name.rpartition(".")
            if not dot or len(unique) == len(marked.value):
                return None
            state = marked
            break
    topic, _, number = name.rpartition("-")
    partition = _parse_number(number, _MAX_INT32)
    if not topic or partition is None or str(partition) != number:
        return None
    return DirectoryName(TopicPartition(topic, partition), state)


def file_name(offset: int, suffix: str) -> str:
    """Return the name of a file of the segment (or snapshot) at `offset`: the offset in 20 digits, and the suffix."""
    return f"{offset:020d}{suffix}"


def parse_file_name(name: str) -> FileName | None:
    """Return what the file name says, or None if it is not the name of a segment's file or a producer snapshot."""
    digits, dot, rest = name.partition(".")
    first, dot_of_state, state = rest.partition(".")
    offset = _parse_number(digits, _MAX_INT64)
    if offset is None or dot + first not in _SEGMENT_SUFFIXES or dot_of_state + state not in _STATE_SUFFIXES:
        return None
    return FileName(offset, dot + first, dot_of_state + state)


def _parse_number(text: str, maximum: int) -> int | None:
    """Return the number, or None if the text is not ASCII digits or the number is larger than `maximum`."""
    if not (0 < len(text) <= 20 and text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if number <= maximum else None
