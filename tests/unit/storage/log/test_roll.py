"""When a log starts a new segment, and what is left behind."""

import errno

import pytest

from odradek.storage.errors import RecordListTooLarge, StorageError
from odradek.storage.log.log import Log
from odradek.storage.segment.segment import Segment
from tests.support.logs import (
    NOW_MS,
    a_batch,
    append_values,
    check_log,
    contents,
    open_at,
    read_all,
    small_config,
)
from tests.support.memory_files import MemoryFiles

SIZE = len(a_batch([bytes(100)]))
HOUR_MS = 3_600_000


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_segment_takes_exactly_segment_bytes(fs: MemoryFiles) -> None:
    """A batch that fills the segment to its limit still goes in; the next one begins another."""
    log = open_at(fs, small_config(segment_bytes=3 * SIZE))
    for _ in range(7):
        append_values(log, [bytes(100)])
    assert bases(log) == [0, 3, 6]
    check_log(log)


def test_batch_larger_than_a_segment_is_refused(fs: MemoryFiles) -> None:
    """What no segment can hold is RECORD_LIST_TOO_LARGE, and no segment is started for it."""
    log = open_at(fs, small_config(segment_bytes=SIZE))
    with pytest.raises(RecordListTooLarge, match=f"maximum configured segment size of {SIZE}"):
        append_values(log, [bytes(101)])
    append_values(log, [bytes(100)])
    with pytest.raises(RecordListTooLarge):
        append_values(log, [bytes(101)])
    assert bases(log) == [0]


def test_time_between_records_rolls_and_not_the_wall_clock(fs: MemoryFiles) -> None:
    """segment.ms counts from the largest timestamp of the first batch to that of the incoming one."""
    log = open_at(fs, small_config(segment_ms=HOUR_MS, message_timestamp_after_max_ms=1 << 62))
    append_values(log, [b"a"], NOW_MS)
    append_values(log, [b"b"], NOW_MS + HOUR_MS)
    assert bases(log) == [0]
    append_values(log, [b"c"], NOW_MS + HOUR_MS + 1)
    assert bases(log) == [0, 2]
    append_values(log, [b"old"], NOW_MS)
    assert bases(log) == [0, 2]


def test_segment_without_timestamps_rolls_by_its_age(fs: MemoryFiles) -> None:
    """Where the first batch has no timestamp, the time since the segment was made counts."""
    log = open_at(fs, small_config(segment_ms=HOUR_MS))
    log.append(a_batch([b"a"], -1), 0, NOW_MS)
    log.append(a_batch([b"b"], -1), 0, NOW_MS + HOUR_MS)
    assert bases(log) == [0]
    log.append(a_batch([b"c"], -1), 0, NOW_MS + HOUR_MS + 1)
    assert bases(log) == [0, 2]


def test_time_to_roll_is_known_after_a_restart() -> None:
    """The first timestamp of the active segment is read from its file again."""
    fs, config = MemoryFiles(), small_config(segment_ms=HOUR_MS, message_timestamp_after_max_ms=1 << 62)
    log = open_at(fs, config)
    append_values(log, [b"a"], NOW_MS)
    append_values(log, [b"b"], NOW_MS + 10)
    log.close()
    log = open_at(fs, config, clean=True)
    append_values(log, [b"c"], NOW_MS + HOUR_MS)
    assert bases(log) == [0]
    append_values(log, [b"d"], NOW_MS + HOUR_MS + 1)
    assert bases(log) == [0, 3]


def test_compacted_topic_rolls_in_time_for_its_compaction_lag() -> None:
    """max.compaction.lag.ms bounds segment.ms where cleanup.policy has compact."""
    config = small_config(
        segment_ms=10 * HOUR_MS, max_compaction_lag_ms=HOUR_MS, message_timestamp_after_max_ms=1 << 62
    )
    for policy, expected in ((frozenset({"delete"}), [0]), (frozenset({"compact"}), [0, 1])):
        log = open_at(MemoryFiles(), small_config(**{**_fields(config), "cleanup_policy": policy}))
        append_values(log, [b"a"], NOW_MS)
        append_values(log, [b"b"], NOW_MS + 2 * HOUR_MS)
        assert bases(log) == expected


def _fields(config: object) -> dict[str, object]:
    names = ("segment_ms", "max_compaction_lag_ms", "message_timestamp_after_max_ms")
    return {name: getattr(config, name) for name in names}


def test_jitter_makes_segments_roll_earlier_never_later() -> None:
    """segment.jitter.ms is drawn once for a segment, below segment.jitter.ms and segment.ms."""
    config = small_config(segment_ms=1000, segment_jitter_ms=500, message_timestamp_after_max_ms=1 << 62)
    drawn = set()
    log = open_at(MemoryFiles(), config)
    for number in range(60):
        drawn.add(log.segments.active.jitter_ms)
        append_values(log, [b"x"], NOW_MS + number * 1100)
    assert len(log.segments) == 60
    assert drawn <= set(range(500))
    assert len(drawn) > 10


@pytest.mark.parametrize("index_bytes", [32, 39])
def test_full_index_rolls(index_bytes: int, fs: MemoryFiles) -> None:
    """A segment ends when its offset index is full, or its time index but for one slot."""
    log = open_at(fs, small_config(segment_index_bytes=index_bytes, index_interval_bytes=0))
    for number in range(6):
        append_values(log, [b"x"], NOW_MS + number)
    # time index: 2 (or 3) slots of 12 bytes, one of them spared; the first batch of a segment has no entry
    per_segment = index_bytes // 12
    assert bases(log) == list(range(0, 6, per_segment))
    check_log(log)


def test_offset_too_far_from_the_base_rolls(log: Log) -> None:
    """An index keeps 31 bits of distance, so a batch further away needs a segment of its own."""
    append_values(log, [b"x"])
    batch = bytearray(a_batch([b"y"]))
    batch[:8] = (1 << 31).to_bytes(8, "big")
    log.append_as_follower(memoryview(batch), NOW_MS)
    assert bases(log) == [0, 1 << 31]
    assert log.log_end_offset == (1 << 31) + 1


def test_sealed_segment_has_complete_indexes_and_a_snapshot_follows_it(fs: MemoryFiles, log: Log) -> None:
    """After a roll, the old segment's time index ends with its largest timestamp, and there is a snapshot."""
    append_values(log, [b"a", b"b"], [NOW_MS + 5, NOW_MS])
    log.roll(NOW_MS)
    files = contents(fs)
    assert files["00000000000000000000.timeindex"] == (NOW_MS + 5).to_bytes(8, "big") + (1).to_bytes(4, "big")
    assert files["00000000000000000000.index"] == b""
    assert len(files["00000000000000000002.snapshot"]) == 10
    assert files["00000000000000000002.log"] == files["00000000000000000002.timeindex"] == b""


def test_rolling_an_empty_segment_changes_nothing(log: Log) -> None:
    """There is never an empty segment but the last one."""
    first = log.segments.active
    assert log.roll(NOW_MS) is first
    append_values(log, [b"x"])
    second = log.roll(NOW_MS)
    assert log.roll(NOW_MS) is second
    assert bases(log) == [0, 1]


@pytest.mark.parametrize("operation", ["create", "write", "truncate"])
def test_failed_roll_leaves_the_log_as_it_was(operation: str, fs: MemoryFiles) -> None:
    """No room for a new segment: the append fails, nothing else has changed, and later it works."""
    log = open_at(fs, small_config(segment_bytes=3 * SIZE, index_interval_bytes=0))
    for _ in range(3):
        append_values(log, [bytes(100)])
    fs.fail(operation, errno.ENOSPC)
    try:
        append_values(log, [bytes(100)])
    except StorageError:
        assert log.log_end_offset == 3
        assert bases(log) == [0]
        assert not [name for name in contents(fs) if name.startswith("00000000000000000003")]
        append_values(log, [bytes(100)])
    assert bases(log) == [0, 3]
    check_log(log)
    assert [offset for offset, _ in read_all(log)] == [0, 1, 2, 3]


def test_old_segments_do_not_keep_descriptors(fs: MemoryFiles) -> None:
    """Only the last two segments are open after a roll; the others are opened again by those who read them."""
    log = open_at(fs, small_config(segment_bytes=SIZE))
    for _ in range(6):
        append_values(log, [bytes(100)])
        read_all(log)
    log.roll(NOW_MS)
    opened = [segment.base_offset for segment in log.segments if _is_open(segment)]
    assert opened == [5, 6]
    assert len(read_all(log)) == 6


def _is_open(segment: Segment) -> bool:
    return segment._file is not None
