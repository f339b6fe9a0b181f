"""Taking data away from a log: from its end, where another replica knows better, or from its start, where it is old.

Whole segments are renamed, and removed later (`storage.deletions`); readers that hold their files go on. What follows
from the data goes back with it. Follows Kafka's log behaviour (`UnifiedLog.truncateTo`,
`maybeIncrementLogStartOffset`, `LocalLog.truncateFullyAndStartAt`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.storage.errors import OffsetOutOfRange
from odradek.storage.log.roll import create_segment
from odradek.storage.producers.producer_replay import replay_segments
from odradek.storage.segment.segment import Segment

if TYPE_CHECKING:
    from odradek.storage.log.log import Log


def truncate_to(log: Log, offset: int, now_ms: int) -> bool:
    """Remove the records from `offset` on; see `Log.truncate_to`."""
    if offset >= log.log_end_offset:
        return False
    if offset < log.segments.first.base_offset:
        truncate_fully(log, offset, now_ms)
        return True
    _forget_end(log)
    doomed = [segment for segment in log.segments if segment.base_offset > offset]
    for segment in reversed(doomed):  # the newest first: a crash in between leaves no gap
        _remove(log, segment)
    if doomed:
        log.fs.sync_dir(log.directory)  # they must not come back behind a log that was cut even shorter
    active = log.segments.active
    before = active.size
    removed = active.truncate_to(offset)
    if removed is not None:
        offset = min(offset, removed.base_offset)  # all of a batch goes, also what it has before the offset
    if not active.size:
        active.created_ms = now_ms
    log.size -= before - active.size
    log.unsynced.segments = [segment for segment in log.unsynced.segments if segment is not active]
    log.log_end_offset = offset
    log.recovery_point = min(log.recovery_point, offset)
    log.log_start_offset = min(log.log_start_offset, offset)
    log.leader_epochs.truncate_from_end(offset)
    log.snapshots.reload(
        log.producers, log.log_start_offset, offset, expired_before_ms=now_ms - log.producer_expiration_ms
    )
    replay_segments(log.producers, log.segments.since(log.producers.end_offset), offset)
    if removed is not None:
        active.sync_cut()  # what was cut off must not come back beside another segment that begins there
    return True


def truncate_fully(log: Log, offset: int, now_ms: int) -> None:
    """Remove all records, and go on at `offset`; see `Log.truncate_fully`."""
    _forget_end(log)
    for segment in reversed(list(log.segments)):
        _mark_deleted(log, segment)
    log.segments.replace(list(log.segments), [create_segment(log, offset, now_ms)])
    log.unsynced.segments.clear()
    log.unsynced.directories.add(log.directory)
    log.size = 0
    log.log_start_offset = log.log_end_offset = log.recovery_point = offset
    log.leader_epochs.clear()
    log.snapshots.delete_all()
    log.producers.replace((), offset)


def delete_records_before(log: Log, offset: int) -> None:
    """Let the log start at `offset`; see `Log.delete_records_before`."""
    if not 0 <= offset <= log.log_end_offset:
        raise OffsetOutOfRange(
            f"Cannot increment the log start offset to {offset} of partition {log.topic}-{log.partition} since it is "
            f"larger than the log end offset {log.log_end_offset}"
        )
    if offset > log.log_start_offset:
        _raise_start(log, offset)
    remove_oldest(log, [segment for segment in log.segments if _ends_by(log, segment, offset)])


def remove_oldest(log: Log, segments: Sequence[Segment]) -> None:
    """Remove sealed segments from the start of the log; see `Log.remove_oldest`."""
    for segment in segments:
        following = log.segments.after(segment)
        assert following is not None, "the active segment is never removed"
        if following.base_offset > log.log_start_offset:
            _raise_start(log, following.base_offset)
        _remove(log, segment)
        log.forget_places()


def _ends_by(log: Log, segment: Segment, offset: int) -> bool:
    following = log.segments.after(segment)
    return following is not None and following.base_offset <= offset


def _raise_start(log: Log, offset: int) -> None:
    log.log_start_offset = offset
    log.leader_epochs.truncate_from_start(offset)
    log.unsynced.leader_epochs = True
    log.snapshots.raise_start(log.producers, offset)
    # The recovery point stays: what is gone now may be back after a crash, and was perhaps never on the disk.


def _forget_end(log: Log) -> None:
    log.generation += 1
    log.forget_places()
    log.unsynced.leader_epochs = True


def _remove(log: Log, segment: Segment) -> None:
    _mark_deleted(log, segment)
    log.segments.replace([segment], [])
    log.size -= segment.size
    unsynced = [other for other in log.unsynced.segments if other is not segment]
    if len(unsynced) < len(log.unsynced.segments):
        log.unsynced.segments = unsynced
        log.fs.sync_dir(log.directory)  # what was not whole on the disk must not come back where nobody checks it


def _mark_deleted(log: Log, segment: Segment) -> None:
    paths = segment.mark_deleted()
    snapshot = log.snapshots.mark_deleted(segment.base_offset)
    if snapshot is not None:
        paths.append(snapshot)
    for path in paths:
        log.deletions.add_file(path, log.config.file_delete_delay_ms)
