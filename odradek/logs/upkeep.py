"""What retention and compaction are going to do to a log, and when: from its outline, its config and the time.

Pure. The rules are those of `odradek.storage.log.retention` and `odradek.storage.compaction.selection`, told ahead: a
segment goes when all before it have gone and a rule lets it go. Follows Kafka's log behaviour, retention
(`UnifiedLog.deleteOldSegments`) and log cleaner, selection (`LogCleanerManager`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from odradek.config.topic import TopicConfig
from odradek.logs.outline import LogOutline, SegmentOutline
from odradek.storage.compaction.selection import Candidate, CompactionLimits, LogFacts, examine, is_worth_it

DELETE = "delete"
COMPACT = "compact"


class CompactionPart(StrEnum):
    """What compaction makes of a segment."""

    CLEAN = "clean"
    """Compacted before: its records are read again only to drop those that have a later one by now."""
    DIRTY = "dirty"
    """The next round reads the keys of it."""
    WAITING = "waiting"
    """Closed, but not to be touched yet: its records are too young or not committed."""
    ACTIVE = "active"
    """Appended to, and never compacted."""


class Departure(NamedTuple):
    """When a segment goes, and by which rule: at a time, or sooner, once enough is written behind it."""

    reason: str
    """The config that lets it go, or those of which the first does."""
    due_ms: int | None
    """From when on it may go by its age; None: never. A broker looks every few minutes
    (log.retention.check.interval.ms)."""
    after_bytes: int | None
    """Bytes that are to be written until it goes by retention.bytes, 0 if there are enough; None: never."""
    is_held: bool = False
    """Whether it would go now, were all of its records committed (below the high watermark)."""


class SegmentUpkeep(NamedTuple):
    """What becomes of one segment."""

    segment: SegmentOutline
    departure: Departure | None
    """None where no rule ever lets it go."""
    part: CompactionPart | None
    """None where the topic is not compacted."""


class LogUpkeep(NamedTuple):
    """What becomes of a log."""

    segments: Sequence[SegmentUpkeep]
    compaction: Candidate | None
    """What a round would be about now; None where the topic is not compacted."""
    is_worth_it: bool
    """Whether that round would be begun."""


def plan_upkeep(log: LogOutline, config: TopicConfig, now_ms: int) -> LogUpkeep:
    """Return what is going to become of each segment, oldest first."""
    departures = _departures(log, config, now_ms)
    compaction, is_worth = None, False
    if COMPACT in config.cleanup_policy and log.segments:
        limits = CompactionLimits(
            config.min_cleanable_dirty_ratio, config.min_compaction_lag_ms, config.max_compaction_lag_ms
        )
        compaction = examine(_facts(log), limits, now_ms)
        is_worth = is_worth_it(compaction, limits)
    last = len(log.segments) - 1
    return LogUpkeep(
        [
            SegmentUpkeep(each, departures[number], _part(each, compaction, number == last))
            for number, each in enumerate(log.segments)
        ],
        compaction,
        is_worth,
    )


def _departures(log: LogOutline, config: TopicConfig, now_ms: int) -> list[Departure | None]:
    """Return when each segment goes: none before the one in front of it; once one stays for good, so do all behind."""
    left = log.size
    found: list[Departure | None] = []
    earliest, bytes_before = now_ms, 0
    for number, each in enumerate(log.segments):
        own = _departure(log, each, left, config, now_ms, number == len(log.segments) - 1)
        if own is None:
            found += [None] * (len(log.segments) - number)
            break
        if own.due_ms is not None:
            earliest = max(earliest, own.due_ms)
            own = own._replace(due_ms=earliest)
        if own.after_bytes is not None:
            bytes_before = max(bytes_before, own.after_bytes)
            own = own._replace(after_bytes=bytes_before)
        found.append(own)
        left -= each.size
    return found


def _departure(
    log: LogOutline, segment: SegmentOutline, left: int, config: TopicConfig, now_ms: int, is_last: bool
) -> Departure | None:
    """Return by which rule a segment goes once it is the first of a log of `left` bytes."""
    end, watermark = segment.end_offset, log.checkpoints.high_watermark
    if is_last and not segment.size:
        return None
    is_held = watermark is not None and end is not None and watermark < end
    start = log.checkpoints.log_start
    if not is_last and start is not None and end is not None and end <= start:
        return Departure("before the start of the log", now_ms, 0, is_held)
    if DELETE not in config.cleanup_policy:
        return None
    rules = []
    after = due = None
    if config.retention_ms >= 0:
        newest = segment.max_timestamp if segment.max_timestamp >= 0 else segment.modified_ms
        due = max(now_ms, newest + config.retention_ms + 1)
        rules.append("retention.ms")
    if config.retention_bytes >= 0:
        after = max(0, config.retention_bytes - (left - segment.size))
        rules.append("retention.bytes")
    if after == 0:
        return Departure("retention.bytes", now_ms, 0, is_held)
    if due == now_ms:
        return Departure("retention.ms", now_ms, after, is_held)
    return Departure(" or ".join(rules), due, after) if rules else None


def _facts(log: LogOutline) -> LogFacts:
    end = log.segments[-1].base_offset if log.end_offset is None else log.end_offset
    # The last stable offset is only known to a running broker; what is committed is the nearest that files tell.
    stable = end if log.checkpoints.high_watermark is None else log.checkpoints.high_watermark
    return LogFacts(log.start_offset, end, stable, log.checkpoints.cleaned_to, log.segments)


def _part(segment: SegmentOutline, compaction: Candidate | None, is_last: bool) -> CompactionPart | None:
    if compaction is None:
        return None
    if is_last:
        return CompactionPart.ACTIVE
    if segment.base_offset < compaction.first_dirty:
        return CompactionPart.CLEAN
    return CompactionPart.DIRTY if segment.base_offset < compaction.end else CompactionPart.WAITING
