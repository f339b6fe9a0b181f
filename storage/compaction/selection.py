"""Which part of a log may be compacted, and which log is worth it most.

Pure: it sees segments by the few facts that it needs, asks for the time of a segment's records only where a limit
depends on it, and reads no clock. Follows Kafka's log behaviour, log cleaner, selection (`LogCleanerManager`;
KIP-58 min.compaction.lag.ms, KIP-354 max.compaction.lag.ms).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

UNBOUNDED_MS = 2**63 - 1
"""The default of max.compaction.lag.ms: no limit."""


class SegmentFacts(Protocol):
    """What is to be known of a segment."""

    @property
    def base_offset(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def first_timestamp(self) -> int: ...

    @property
    def max_timestamp(self) -> int: ...


class CompactionLimits(NamedTuple):
    """The configs of a topic that decide."""

    min_dirty_ratio: float
    min_lag_ms: int
    max_lag_ms: int


class LogFacts(NamedTuple):
    """What is to be known of a log."""

    start_offset: int
    end_offset: int
    stable_offset: int
    """Records from here on must not be touched: their transaction is open, or they are not on the disk for sure."""
    checkpoint: int | None
    """Where the last round ended, None if there was none."""
    segments: Sequence[SegmentFacts]
    """All of them, oldest first; the last one is appended to."""


class Candidate(NamedTuple):
    """What a round over a log would be about."""

    first_dirty: int
    end: int
    """Base offset of the first segment that must not be touched."""
    clean_bytes: int
    dirty_bytes: int
    overdue: bool
    """Whether a record has waited for max.compaction.lag.ms."""

    @property
    def ratio(self) -> float:
        """Share of the bytes that were never compacted."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0


def first_dirty_offset(facts: LogFacts) -> int:
    """Return where the part begins that was not compacted yet: all of the log if what is known cannot be right."""
    checkpoint = facts.checkpoint
    if checkpoint is None or not facts.start_offset <= checkpoint <= facts.end_offset:
        return facts.start_offset
    return checkpoint


def examine(facts: LogFacts, limits: CompactionLimits, now_ms: int) -> Candidate:
    """Return what a round over the log would be about now."""
    first_dirty = first_dirty_offset(facts)
    active = facts.segments[-1]
    dirty = _closed_since(facts.segments, first_dirty)
    uncleanable = min(facts.stable_offset, active.base_offset)
    if limits.min_lag_ms > 0:
        young = (one.base_offset for one in dirty if one.max_timestamp > now_ms - limits.min_lag_ms)
        uncleanable = min(uncleanable, next(young, uncleanable))
    uncleanable = max(uncleanable, first_dirty)
    end = next(iter(_closed_since(facts.segments, uncleanable)), active).base_offset
    return Candidate(
        first_dirty,
        end,
        sum(one.size for one in facts.segments if one.base_offset < first_dirty),
        sum(one.size for one in dirty if one.base_offset < end),
        limits.max_lag_ms < UNBOUNDED_MS and any(_is_overdue(one, now_ms - limits.max_lag_ms) for one in dirty),
    )


def is_worth_it(candidate: Candidate, limits: CompactionLimits) -> bool:
    """Return whether there is something to compact, and enough of it, or for long enough."""
    return candidate.dirty_bytes > 0 and (candidate.overdue or candidate.ratio > limits.min_dirty_ratio)


T = TypeVar("T")


def filthiest(candidates: Iterable[tuple[T, Candidate]]) -> tuple[T, Candidate] | None:
    """Return the one with the largest share of bytes that were never compacted, None if there is none."""
    return max(candidates, key=lambda pair: pair[1].ratio, default=None)


def _closed_since(segments: Sequence[SegmentFacts], offset: int) -> Sequence[SegmentFacts]:
    """Return the segment whose range has the offset, and all after it, but for the one that is appended to."""
    if offset >= segments[-1].base_offset:
        return ()
    for index in range(len(segments) - 1, 0, -1):
        if segments[index].base_offset <= offset:
            return segments[index:-1]
    return segments[:-1]


def _is_overdue(segment: SegmentFacts, before_ms: int) -> bool:
    return 0 < segment.first_timestamp < before_ms
