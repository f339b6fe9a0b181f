"""The values that a log hands out: what an append did, and where fetched data lies."""

from typing import NamedTuple

from odradek.storage.files import OpenFile


class AppendInfo(NamedTuple):
    """What became of an append."""

    first_offset: int
    """Offset of the first record; -1 if there was nothing to append."""
    last_offset: int
    max_timestamp: int
    """Largest timestamp of the records, -1 if they have none."""
    log_append_time_ms: int
    """The broker's time that was set on the records; -1 if they kept their own."""
    log_start_offset: int
    size: int
    """Bytes written; 0 for a duplicate."""
    duplicate: bool = False
    """Whether an idempotent producer sent a batch again: nothing was written, the offsets are the first ones."""


class LogSlice(NamedTuple):
    """A region of one segment's data file: whole batches, of which the last one may be cut by a size limit."""

    file: OpenFile | None
    """Holds the data even if the segment is deleted meanwhile; None if the slice is empty."""
    position: int
    length: int
    first_offset: int
    """Base offset of the first batch, perhaps below the offset asked for; that itself if the slice is empty."""
    segment_base: int
    """Base offset of the segment that a reader at this offset is in."""


class TimestampAndOffset(NamedTuple):
    """A record found by its time."""

    timestamp: int
    offset: int
    leader_epoch: int
    """Leader epoch of its batch, -1 if unknown."""
