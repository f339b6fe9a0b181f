"""Offsets as the first clients ask for them: the end of the log, and where its segments begin.

Before records had timestamps (ListOffsets v0) a moment could be looked up only by the time at which a segment was last
written. Follows Kafka's log behaviour, ListOffsets timestamps (`UnifiedLog.legacyFetchOffsetsBefore`).
"""

from collections.abc import Iterator
from itertools import islice

from odradek.storage.log.log import Log
from odradek.storage.names import LOG_SUFFIX


def newest_offsets(log: Log, limit: int, upto: int) -> list[int]:
    """Return the end of the log and the beginnings of its segments, newest first, at most `limit`.

    Nothing is told of what lies beyond `upto`, which stands for all that is greater. An active segment without data is
    the end of the log at the same time, and counts once.
    """
    offsets = [log.log_end_offset] if log.segments.active.size else []
    offsets += (max(segment.base_offset, log.log_start_offset) for segment in reversed(list(log.segments)))
    return _first(iter(offsets), limit, upto)


def offsets_before(log: Log, timestamp: int, limit: int, upto: int, now_ms: int) -> list[int]:
    """Return the same from the newest segment on that was last written at `timestamp` (ms) or before.

    The end of the log counts as written now. Empty where all segments are younger. Raises StorageError.
    """
    if timestamp >= now_ms:
        return newest_offsets(log, limit, upto)
    segments = list(log.segments)
    try:
        while segments and log.local.fs.mtime_ms(segments[-1].path(LOG_SUFFIX)) > timestamp:
            segments.pop()
    except OSError as error:
        raise log.local.failure("read from", error) from error
    return _first((max(segment.base_offset, log.log_start_offset) for segment in reversed(segments)), limit, upto)


def _first(offsets: Iterator[int], limit: int, upto: int) -> list[int]:
    return list(islice(dict.fromkeys(min(offset, upto) for offset in offsets), limit))
