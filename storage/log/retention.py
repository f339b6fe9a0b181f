"""Which segments of a log are old enough to go, and why.

Data goes by whole segments, the oldest first, up to the first one that may stay. Owns the rules and nothing else: it
reads no clock, and has the log do what `remove_next_due` comes to. Follows Kafka's log behaviour, retention
(`UnifiedLog.deleteOldSegments`):

- What lies before the start of the log goes, whatever the policy.
- With `delete` in `cleanup.policy`, a segment goes while the log without it is still at least `retention.bytes`
  large, and while its newest record is older than `retention.ms`.
- Nothing goes that is not committed: the high watermark must have passed the segment.
- The last segment goes too, unless it is empty: a new one takes its place, so that the log keeps its end offset.

Kafka looks at each rule in a pass of its own over the segments. Since what one rule removes can only make the others
remove less, one pass with all of them comes to the same.
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import zip_longest
from typing import NamedTuple

from odradek.storage.log.log import Log
from odradek.storage.names import LOG_SUFFIX
from odradek.storage.segment.segment import Segment

DELETE = "delete"


class SegmentDeletionReason(StrEnum):
    """Why a segment goes."""

    LOG_START = "before the start of the log"
    SIZE = "retention.bytes"
    TIME = "retention.ms"
    IDLE_TIME = "retention.ms, by the time of the file"
    """No record of the segment has a timestamp; that of its last write counts."""


class DueSegment(NamedTuple):
    """A segment that is to go."""

    segment: Segment
    reason: SegmentDeletionReason
    end_offset: int
    """Where the log starts once it is gone."""


def due_segments(log: Log, high_watermark: int, now_ms: int) -> Iterator[DueSegment]:
    """Yield the segments that are to go now, oldest first; each is looked at only when it is asked for.

    Changes nothing; the log must not change meanwhile. Raises OSError, CorruptRecord where a segment cannot be read.
    """
    size = log.size
    segments = list(log.segments)
    for segment, following in zip_longest(segments, segments[1:]):
        end = log.log_end_offset if following is None else following.base_offset
        if high_watermark < end or (following is None and not segment.size):
            return
        if following is not None and end <= log.log_start_offset:
            reason: SegmentDeletionReason | None = SegmentDeletionReason.LOG_START
        else:
            reason = _reason(log, segment, size, now_ms)
        if reason is None:
            return
        yield DueSegment(segment, reason, end)
        size -= segment.size


def _reason(log: Log, segment: Segment, size: int, now_ms: int) -> SegmentDeletionReason | None:
    """Return why a segment of a log of `size` bytes is to go by the topic's limits, None if it may stay."""
    config = log.config
    if DELETE not in config.cleanup_policy:
        return None
    if 0 <= config.retention_bytes <= size - segment.size:
        return SegmentDeletionReason.SIZE
    if config.retention_ms >= 0:
        newest, reason = segment.max_timestamp, SegmentDeletionReason.TIME
        if newest < 0:
            newest, reason = segment.fs.mtime_ms(segment.path(LOG_SUFFIX)), SegmentDeletionReason.IDLE_TIME
        if now_ms - newest > config.retention_ms:
            return reason
    return None


def remove_next_due(log: Log, high_watermark: int, now_ms: int) -> DueSegment | None:
    """Remove the oldest segment if retention lets it go now; return it with the reason, None if it stays.

    Call again until it stays. Raises StorageError, CorruptRecord.
    """
    with log.local.translated("delete old segments of"):
        due = next(due_segments(log, high_watermark, now_ms), None)
    if due is not None:
        if due.segment is log.segments.active:
            log.roll(now_ms)
        log.remove_oldest([due.segment])
    return due
