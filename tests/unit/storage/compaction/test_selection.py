"""Which part of a log may be compacted, and which log is worth it most."""

from dataclasses import dataclass

from odradek.storage.compaction.selection import (
    UNBOUNDED_MS,
    Candidate,
    CompactionLimits,
    LogFacts,
    examine,
    filthiest,
    first_dirty_offset,
    is_worth_it,
)

NOW_MS = 1_000_000
NO_LIMITS = CompactionLimits(0.5, 0, UNBOUNDED_MS)


@dataclass
class Facts:
    """A segment."""

    base_offset: int
    size: int = 100
    first_timestamp: int = 10
    max_timestamp: int = 20


def facts(*bases: int, checkpoint: int | None = None, stable: int = 1000, start: int = 0, end: int = 1000) -> LogFacts:
    """A log with segments at these offsets, the last one active."""
    return LogFacts(start, end, stable, checkpoint, [Facts(base) for base in bases])


def test_a_log_that_was_never_compacted_is_dirty_from_its_start() -> None:
    """Without a checkpoint all closed segments are dirty, and the active one must not be touched."""
    found = examine(facts(0, 10, 20), NO_LIMITS, NOW_MS)
    assert (found.first_dirty, found.end, found.clean_bytes, found.dirty_bytes) == (0, 20, 0, 200)
    assert found.ratio == 1.0


def test_a_checkpoint_that_cannot_be_right_does_not_count() -> None:
    """One before the start or beyond the end of the log means that all of it is dirty."""
    assert first_dirty_offset(facts(5, 10, checkpoint=3, start=5)) == 5
    assert first_dirty_offset(facts(5, 10, checkpoint=1001, start=5)) == 5
    assert first_dirty_offset(facts(5, 10, checkpoint=7, start=5)) == 7
    assert first_dirty_offset(facts(5, 10, checkpoint=1000, start=5)) == 1000


def test_clean_and_dirty_bytes_meet_at_the_checkpoint() -> None:
    """Segments before it are clean; one that it lies within counts on both sides, as in Kafka."""
    found = examine(facts(0, 10, 20, 30, checkpoint=20), NO_LIMITS, NOW_MS)
    assert (found.clean_bytes, found.dirty_bytes, found.end) == (200, 100, 30)
    within = examine(facts(0, 10, 20, 30, checkpoint=25), NO_LIMITS, NOW_MS)
    assert (within.clean_bytes, within.dirty_bytes) == (300, 100)


def test_nothing_from_the_last_stable_offset_on_is_touched() -> None:
    """The segment that holds the first unstable offset stays as a whole."""
    found = examine(facts(0, 10, 20, 30, stable=15), NO_LIMITS, NOW_MS)
    assert (found.end, found.dirty_bytes) == (10, 100)
    assert examine(facts(0, 10, 20, 30, stable=20), NO_LIMITS, NOW_MS).end == 20


def test_nothing_is_dirty_once_all_but_the_active_segment_is_clean() -> None:
    """A checkpoint at the base of the active segment, or in it, leaves nothing to do."""
    for checkpoint in (30, 35):
        found = examine(facts(0, 10, 30, checkpoint=checkpoint), NO_LIMITS, NOW_MS)
        assert (found.dirty_bytes, found.end) == (0, 30)
        assert not is_worth_it(found, NO_LIMITS)


def test_young_segments_wait_for_the_least_lag() -> None:
    """From the first dirty segment with a record younger than min.compaction.lag.ms on, all stays."""
    log = facts(0, 10, 20, 30)
    log.segments[1].max_timestamp = NOW_MS - 99  # type: ignore[misc]  # a test's own values
    assert examine(log, CompactionLimits(0.5, 100, UNBOUNDED_MS), NOW_MS).end == 10
    assert examine(log, CompactionLimits(0.5, 98, UNBOUNDED_MS), NOW_MS).end == 30


def test_a_log_with_an_overdue_record_need_not_be_dirty_enough() -> None:
    """A dirty segment whose first record is older than max.compaction.lag.ms makes the log eligible at any ratio."""
    log = facts(0, 10, 20, 30, checkpoint=20)
    limits = CompactionLimits(0.9, 0, 100)
    late = examine(log, limits, 111)
    assert late.overdue
    assert is_worth_it(late, limits)
    early = examine(log, limits, 110)
    assert not early.overdue
    assert not is_worth_it(early, limits)


def test_segments_without_timestamps_are_never_overdue() -> None:
    """A first timestamp of -1 or 0 says nothing."""
    log = facts(0, 10, 20)
    for segment in log.segments:
        segment.first_timestamp = -1  # type: ignore[misc]  # a test's own values
    assert not examine(log, CompactionLimits(0.5, 0, 1), NOW_MS).overdue


def test_the_ratio_must_be_above_the_limit() -> None:
    """At exactly min.cleanable.dirty.ratio a log is not dirty enough."""
    half = Candidate(0, 10, 50, 50, False)
    assert not is_worth_it(half, NO_LIMITS)
    assert is_worth_it(half._replace(dirty_bytes=51), NO_LIMITS)
    assert not is_worth_it(Candidate(0, 0, 0, 0, True), NO_LIMITS)


def test_the_filthiest_log_is_next() -> None:
    """The one with the largest ratio, whatever its size; none if there is none."""
    small, large = Candidate(0, 10, 1, 9, False), Candidate(0, 10, 500, 500, False)
    assert filthiest([("large", large), ("small", small)]) == ("small", small)
    assert filthiest([]) is None
