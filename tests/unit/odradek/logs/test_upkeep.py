"""What retention and compaction are going to do to a log."""

from dataclasses import replace
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from odradek.config.topic import TopicConfig, kafka_defaults
from odradek.logs.outline import Checkpoints, LogOutline, SegmentOutline, outline_log
from odradek.logs.upkeep import CompactionPart, plan_upkeep
from odradek.storage.log.log import Log
from odradek.storage.log.retention import due_segments
from odradek.storage.names import TopicPartition
from tests.support.log_samples import SPOOL, make_log_directory
from tests.support.logs import NOW_MS, PARTITION
from tests.support.memory_files import MemoryFiles

HOUR = 3_600_000


def _log(*segments: tuple[int, int, int], end: int, checkpoints: Checkpoints = Checkpoints()) -> LogOutline:  # noqa: B008
    """Return a log of segments (base offset, size, largest timestamp)."""
    ends = [base for base, _, _ in segments[1:]] + [end]
    outlines = [
        SegmentOutline(base, each_end, size, 0, 0, 0, time - 1, time, NOW_MS)
        for (base, size, time), each_end in zip(segments, ends, strict=True)
    ]
    return LogOutline("/data/t-0", TopicPartition("t", 0), None, outlines, checkpoints, [], 0, [])


def _config(**values: object) -> TopicConfig:
    return replace(kafka_defaults(), **{"retention_ms": -1, **values})  # type: ignore[arg-type]  # forwarded


def test_by_time_each_segment_goes_after_its_newest_record_and_those_before_it() -> None:
    """A segment is due retention.ms after its largest timestamp, but never before an older one."""
    log = _log((0, 100, NOW_MS), (10, 100, NOW_MS - 5 * HOUR), (20, 100, NOW_MS + HOUR), end=30)
    plan = plan_upkeep(log, _config(retention_ms=HOUR), NOW_MS)
    due = [each.departure.due_ms for each in plan.segments if each.departure]
    assert due == [NOW_MS + HOUR + 1, NOW_MS + HOUR + 1, NOW_MS + 2 * HOUR + 1]
    assert plan.compaction is None


def test_by_size_it_says_how_many_bytes_are_to_come() -> None:
    """With retention.bytes a segment goes once the log without it has still that many bytes."""
    log = _log((0, 100, NOW_MS), (10, 100, NOW_MS), (20, 50, NOW_MS), end=30)
    plan = plan_upkeep(log, _config(retention_bytes=150), NOW_MS)
    departures = [each.departure for each in plan.segments]
    assert [each and each.after_bytes for each in departures] == [0, 100, 150]
    assert departures[0] is not None
    assert (departures[0].reason, departures[0].due_ms) == ("retention.bytes", NOW_MS)


def test_what_is_not_committed_is_held() -> None:
    """A segment beyond the high watermark would go, and does not yet."""
    log = _log((0, 100, 1), (10, 100, 1), end=30, checkpoints=Checkpoints(high_watermark=9))
    for watermark, held in ((9, True), (30, False)):
        committed = replace(log, checkpoints=Checkpoints(high_watermark=watermark))
        plan = plan_upkeep(committed, _config(retention_ms=1), NOW_MS)
        assert [each.departure and each.departure.is_held for each in plan.segments] == [held, held]


def test_what_is_before_the_start_of_the_log_goes_whatever_the_policy() -> None:
    """Deleted records leave with their segment, also of a topic that is only compacted."""
    log = _log((0, 100, NOW_MS), (10, 100, NOW_MS), end=30, checkpoints=Checkpoints(log_start=15))
    plan = plan_upkeep(log, _config(cleanup_policy=frozenset({"compact"})), NOW_MS)
    first, second = (each.departure for each in plan.segments)
    assert first is not None
    assert (first.reason, first.due_ms) == ("before the start of the log", NOW_MS)
    assert second is None


def test_parts_of_a_compacted_log() -> None:
    """Cleaned up to the checkpoint, dirty behind it, waiting where records are too young, and the active segment."""
    log = _log(
        (0, 100, 1),
        (10, 100, 1),
        (20, 300, NOW_MS - 2 * HOUR),
        (30, 100, NOW_MS),
        (40, 100, NOW_MS),
        end=50,
        checkpoints=Checkpoints(cleaned_to=20),
    )
    config = _config(cleanup_policy=frozenset({"compact"}), min_compaction_lag_ms=HOUR)
    plan = plan_upkeep(log, config, NOW_MS)
    part = CompactionPart
    assert [each.part for each in plan.segments] == [part.CLEAN, part.CLEAN, part.DIRTY, part.WAITING, part.ACTIVE]
    assert plan.compaction is not None
    assert (plan.compaction.clean_bytes, plan.compaction.dirty_bytes) == (200, 300)
    assert plan.is_worth_it
    assert not plan_upkeep(log, replace(config, min_cleanable_dirty_ratio=0.6), NOW_MS).is_worth_it


def test_an_empty_active_segment_stays() -> None:
    """Retention never takes a last segment without records."""
    plan = plan_upkeep(_log((0, 10, 1), (5, 0, -1), end=5), _config(retention_ms=1), NOW_MS)
    assert [each.departure is None for each in plan.segments] == [False, True]


@cache
def _written() -> tuple[MemoryFiles, Log]:
    fs = MemoryFiles()
    return fs, make_log_directory(fs)


@given(retention_ms=st.integers(-1, 60_000), retention_bytes=st.integers(-1, 8_000), ahead_ms=st.integers(0, 90_000))
def test_what_is_due_now_is_what_the_broker_would_remove_now(
    retention_ms: int, retention_bytes: int, ahead_ms: int
) -> None:
    """The segments that are told to be due at a time are those that the log engine takes at that time."""
    fs, log = _written()
    config = replace(log.config, retention_ms=retention_ms, retention_bytes=retention_bytes)
    log.update_config(config)
    now = NOW_MS + ahead_ms
    taken = [each.segment.base_offset for each in due_segments(log, log.log_end_offset, now)]
    plan = plan_upkeep(outline_log(fs, SPOOL, PARTITION), config, now)
    told = [
        each.segment.base_offset
        for each in plan.segments
        if each.departure is not None and each.departure.due_ms == now and not each.departure.is_held
    ]
    assert told == taken
