"""Which kind of file a name stands for, in a log directory or in the directory of a partition.

Pure text. A suffix that marks a file as about to go (`.deleted`, `.cleaned`, `.swap`) does not change its kind. Follows
Kafka's storage format, files in a log directory and in a partition directory.
"""

import os
import re
from enum import StrEnum

from odradek.storage.names import (
    CLEAN_SHUTDOWN_FILE,
    CLEANER_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LEADER_EPOCH_FILE,
    LOG_START_FILE,
    META_PROPERTIES_FILE,
    METADATA_TOPIC,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
    parse_directory_name,
    parse_file_name,
)

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
QUORUM_STATE_FILE = "quorum-state"
BOOTSTRAP_FILE = "bootstrap.checkpoint"
OFFSET_CHECKPOINTS = (RECOVERY_POINT_FILE, LOG_START_FILE, HIGH_WATERMARK_FILE, CLEANER_OFFSET_FILE)

_SNAPSHOT_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint(?:\.deleted|\.part)?", re.ASCII)


class LogFileKind(StrEnum):
    """The kinds of files that Kafka keeps."""

    LOG = "log"
    OFFSET_INDEX = "index"
    TIME_INDEX = "timeindex"
    TRANSACTION_INDEX = "txnindex"
    PRODUCER_SNAPSHOT = "snapshot"
    METADATA_SNAPSHOT = "checkpoint"
    OFFSET_CHECKPOINT = "offset-checkpoint"
    LEADER_EPOCHS = "leader-epoch-checkpoint"
    PARTITION_METADATA = "partition.metadata"
    META_PROPERTIES = "meta.properties"
    QUORUM_STATE = "quorum-state"
    CLEAN_SHUTDOWN = "clean-shutdown"


class Contents(StrEnum):
    """What the records of a log are."""

    PLAIN = "plain"
    """A user's: keys and values of bytes."""
    OFFSETS = "offsets"
    """What the group coordinator remembers."""
    TRANSACTIONS = "transactions"
    """What the transaction coordinator remembers."""
    METADATA = "metadata"
    """The cluster's metadata."""


_BY_NAME = {
    **dict.fromkeys(OFFSET_CHECKPOINTS, LogFileKind.OFFSET_CHECKPOINT),
    LEADER_EPOCH_FILE: LogFileKind.LEADER_EPOCHS,
    PARTITION_METADATA_FILE: LogFileKind.PARTITION_METADATA,
    META_PROPERTIES_FILE: LogFileKind.META_PROPERTIES,
    QUORUM_STATE_FILE: LogFileKind.QUORUM_STATE,
    CLEAN_SHUTDOWN_FILE: LogFileKind.CLEAN_SHUTDOWN,
    BOOTSTRAP_FILE: LogFileKind.METADATA_SNAPSHOT,
}
_OF_SEGMENT = {f".{kind}": kind for kind in list(LogFileKind)[:5]}

_CONTENTS = {
    METADATA_TOPIC: Contents.METADATA,
    OFFSETS_TOPIC: Contents.OFFSETS,
    TRANSACTIONS_TOPIC: Contents.TRANSACTIONS,
}


def kind_of(name: str) -> LogFileKind | None:
    """Return the kind of a file by its name (without directory), None if no file of Kafka has such a name."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    parsed = parse_file_name(name)
    if parsed is not None:
        return _OF_SEGMENT[parsed.suffix]
    return LogFileKind.METADATA_SNAPSHOT if _SNAPSHOT_NAME.fullmatch(name) else None


def base_offset_of(name: str) -> int:
    """Return the offset in the name of a segment's file or a producer snapshot, 0 where the name has none."""
    parsed = parse_file_name(name)
    return parsed.offset if parsed is not None else 0


def snapshot_end_of(name: str) -> tuple[int, int] | None:
    """Return (end offset, epoch) of a metadata snapshot by its name, None for `bootstrap.checkpoint`."""
    found = _SNAPSHOT_NAME.fullmatch(name)
    return (int(found[1]), int(found[2])) if found else None


def contents_of(path: str) -> Contents:
    """Return what the records in the file at `path` are, by the name of its directory."""
    directory, name = os.path.split(os.path.abspath(path))
    if kind_of(name) is LogFileKind.METADATA_SNAPSHOT:
        return Contents.METADATA
    parsed = parse_directory_name(os.path.basename(directory))
    topic = parsed.partition.topic if parsed is not None else ""
    return _CONTENTS.get(topic, Contents.PLAIN)
