"""What is done to the copy of a log so that it becomes equal to the log, piece by piece.

Owns: where the next piece is, and what of the copy has to go since the log was cut or begins further on. The log is
looked at on the event loop only; a piece is copied on any thread. Must not know: threads, when, where the copy lies.
"""

from __future__ import annotations

from odradek.broker.replication.truncation import truncation_point
from odradek.storage.checkpoints.leader_epochs import UNDEFINED
from odradek.storage.errors import StorageError
from odradek.storage.log.log import Log
from odradek.storage.log.log_values import LogSlice


def first_offset(log: Log) -> int:
    """Return the offset of the first batch of a log, where its copy begins.

    Raises NotInMemory where the disk has to be waited for, StorageError.
    """
    start = log.log_start_offset
    return min(start, log.read(start, 0, log.log_end_offset, at_least_one=True, wait=False).first_offset)


def align(log: Log, copy: Log, was_cut: bool, now_ms: int) -> None:
    """Take from the copy what the log does not have, or does not have any more.

    Where the log `was_cut`, its leader epochs say how far both are equal; without any, the copy begins anew. Raises
    NotInMemory where the disk has to be waited for, and is to be called again then; StorageError.
    """
    if was_cut and not _cut_like(log, copy, now_ms):
        copy.truncate_fully(first_offset(log), now_ms)
    start = log.log_start_offset
    if start < copy.log_start_offset or copy.log_end_offset < start:
        first = first_offset(log)
        if copy.log_end_offset != first or copy.log_start_offset != first:
            copy.truncate_fully(first, now_ms)
    elif copy.log_start_offset < start:
        copy.delete_records_before(start)


def _cut_like(log: Log, copy: Log, now_ms: int) -> bool:
    """Cut the copy where the log has gone another way; return whether that can be told."""
    while True:
        leader = log.end_offset_for_epoch(copy.leader_epochs.latest)
        if leader.epoch == UNDEFINED:
            return False
        point = truncation_point(copy.log_end_offset, copy.end_offset_for_epoch, leader)
        if point >= copy.log_end_offset:
            return True
        copy.truncate_to(point, now_ms)


def next_piece(log: Log, copy: Log, max_bytes: int, now_ms: int) -> LogSlice | None:
    """Return what of the log comes next in the copy, None where it has all. Raises NotInMemory, StorageError."""
    offset, end = copy.log_end_offset, log.log_end_offset
    if offset >= end:
        return None
    piece = log.read(max(offset, log.log_start_offset), max_bytes, end, at_least_one=True, wait=False)
    if piece.file is not None:
        return piece
    copy.local.skip_to(end, now_ms)  # compaction has left nothing there
    return None


def copy_piece(piece: LogSlice, copy: Log, now_ms: int) -> None:
    """Append a piece of the log to its copy. Raises OSError, CorruptRecord, OffsetOutOfRange, StorageError."""
    assert piece.file is not None
    data = bytearray(piece.length)
    read = piece.file.readinto(data, piece.position)
    if not copy.append_as_follower(memoryview(data)[:read], now_ms).size:
        raise StorageError(f"there is no whole batch at byte {piece.position} of {piece.file.path}")
