"""Removing old snapshots of the metadata, and the part of the log that newer ones stand for.

Owns: when a snapshot is too old, or too much. The newest is never removed, and the log always begins where a snapshot
ends that is still there. Must not know: what is in an image. Follows Kafka (KIP-630, `KafkaRaftLog.maybeClean`): the
oldest snapshot goes while all of them and the log together are larger than `metadata.max.retention.bytes`, or while it
is older than `metadata.max.retention.ms`; then the log begins where the next one ends, and whole segments before that
go with it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from odradek.broker.metadata.snapshots import (
    DELETED_SUFFIX,
    PART_SUFFIX,
    SnapshotName,
    is_undamaged_file,
    list_snapshots,
    read_timestamp,
)
from odradek.broker.runtime.logging import get_logger
from odradek.storage.files import FileSystem
from odradek.storage.log.log import Log

_LEFTOVERS: Final = (f".checkpoint{PART_SUFFIX}", f".checkpoint{DELETED_SUFFIX}")

log = get_logger("metadata")


class MetadataRetention(NamedTuple):
    """What may stay; a negative one is no limit."""

    max_bytes: int = 100 * 1024 * 1024
    """`metadata.max.retention.bytes`, of log and snapshots together."""
    max_ms: int = 7 * 24 * 3600 * 1000
    """`metadata.max.retention.ms`, since the last record that the snapshot stands for."""


def why_oldest_goes(total_bytes: int, timestamp: int | None, limits: MetadataRetention, now_ms: int) -> str | None:
    """Return why the oldest of several snapshots goes, None if it stays.

    `total_bytes` is the size of the log and all snapshots, `timestamp` that of the snapshot, None if it cannot be read.
    """
    if 0 <= limits.max_bytes < total_bytes:
        return f"log and snapshots are larger than metadata.max.retention.bytes={limits.max_bytes}"
    if limits.max_ms >= 0 and timestamp is not None and now_ms - timestamp > limits.max_ms:
        return f"older than metadata.max.retention.ms={limits.max_ms}"
    return None


def clean(fs: FileSystem, records: Log, limits: MetadataRetention, now_ms: int) -> None:
    """Rename what is to go; it is removed later, by `records.local.deletions`. Raises OSError, StorageError."""
    directory = records.directory
    snapshots = list_snapshots(fs, directory)[::-1]
    sizes = {name: fs.size(f"{directory}/{name}") for name in snapshots}
    while len(snapshots) > 1:
        oldest, following = snapshots[:2]
        timestamp = read_timestamp(fs, f"{directory}/{oldest}")
        reason = why_oldest_goes(records.size + sum(sizes[name] for name in snapshots), timestamp, limits, now_ms)
        if reason is None:
            return
        if not is_undamaged_file(fs, f"{directory}/{following}"):
            log.warning(
                "old metadata snapshot kept: the next one is damaged", snapshot=str(oldest), next=str(following)
            )
            return
        # The log first: what is before its start is never missed, but a log without a snapshot before it would be.
        records.delete_records_before(min(following.end_offset, records.log_end_offset))
        _set_aside(fs, records, oldest)
        log.info("old metadata snapshot deleted", snapshot=str(oldest), reason=reason)
        snapshots = snapshots[1:]


def remove_leftovers(fs: FileSystem, records: Log) -> None:
    """Remove the snapshots that were never finished or were about to go, and those from before the start of the log.

    A snapshot that stands for the start of the log must be there. Raises OSError.
    """
    directory = records.directory
    doomed = [name for name in fs.listdir(directory) if name.endswith(_LEFTOVERS)]
    doomed += _before(list_snapshots(fs, directory), records.log_start_offset)
    for name in doomed:
        fs.unlink(f"{directory}/{name}")


def _before(snapshots: Sequence[SnapshotName], log_start_offset: int) -> list[str]:
    """Return the names of the snapshots, but for the newest, that end before the start of the log."""
    return [str(name) for name in snapshots[1:] if name.end_offset < log_start_offset]


def _set_aside(fs: FileSystem, records: Log, name: SnapshotName) -> None:
    path = f"{records.directory}/{name}"
    fs.rename(path, path + DELETED_SUFFIX)
    records.local.delete_later(path + DELETED_SUFFIX)
