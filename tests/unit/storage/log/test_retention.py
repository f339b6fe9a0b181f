"""Which segments are old enough to go."""

import errno

import pytest

from odradek.config.topic import topic_config
from odradek.storage.errors import StorageError
from odradek.storage.log.log import Log
from odradek.storage.log.retention import SegmentDeletionReason, due_segments, remove_next_due
from odradek.storage.names import LOG_SUFFIX
from tests.support.logs import (
    DIRECTORY,
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
SEGMENT = 2 * SIZE
DELETE = frozenset({"delete"})
UNLIMITED = -1


def a_log(batches: int = 9, fs: MemoryFiles | None = None, **config: object) -> Log:
    """Return a log of batches of one record, two to a segment, a second apart; nothing is to go unless configured."""
    limits = {"retention_ms": UNLIMITED, "retention_bytes": UNLIMITED, "segment_bytes": SEGMENT, **config}
    log = open_at(fs or MemoryFiles(), small_config(**limits))
    for number in range(batches):
        append_values(log, [bytes(100)], NOW_MS + 1000 * number)
    return log


def due(log: Log, now_ms: int = NOW_MS, high_watermark: int | None = None) -> list[tuple[int, SegmentDeletionReason]]:
    """Return base offset and reason of the segments that are to go."""
    limit = log.log_end_offset if high_watermark is None else high_watermark
    due = due_segments(log, limit, now_ms)
    return [(segment.base_offset, reason) for segment, reason, _ in due]


def remove_all(log: Log, now_ms: int = NOW_MS) -> list[int]:
    """Remove what is to go, and return the base offsets."""
    gone = []
    while removed := remove_next_due(log, log.log_end_offset, now_ms):
        gone.append(removed.segment.base_offset)
    return gone


def test_nothing_goes_without_a_limit() -> None:
    """-1 keeps everything, for size as for time."""
    assert due(a_log(), NOW_MS + (1 << 50)) == []


@pytest.mark.parametrize("spare", [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 3 * SEGMENT, 9 * SIZE])
def test_log_never_falls_below_the_size_limit(spare: int) -> None:
    """A segment goes only while what is left is at least retention.bytes."""
    log = a_log(retention_bytes=9 * SIZE - spare)
    gone = remove_all(log)
    assert gone == [0, 2, 4, 6, 8][: max(0, min(spare, 9 * SIZE)) // SEGMENT + (spare == 9 * SIZE)]
    assert log.size >= 9 * SIZE - spare


def test_size_limit_of_zero_takes_all_data() -> None:
    """Also the segment that is appended to; an empty one is left, at the same end offset."""
    log = a_log(retention_bytes=0)
    assert due(log) == [(base, SegmentDeletionReason.SIZE) for base in (0, 2, 4, 6, 8)]
    assert remove_all(log) == [0, 2, 4, 6, 8]
    assert (log.log_start_offset, log.log_end_offset, log.size) == (9, 9, 0)
    assert due(log) == []
    assert append_values(log, [b"new"]) == 9
    check_log(log)


def test_time_counts_from_the_largest_timestamp_of_the_segment() -> None:
    """A segment goes once its newest record is older than retention.ms, not when it is exactly as old."""
    log = a_log(retention_ms=10_000)
    assert due(log, NOW_MS + 1000 + 10_000) == []
    assert due(log, NOW_MS + 1000 + 10_001) == [(0, SegmentDeletionReason.TIME)]
    assert due(log, NOW_MS + 5000 + 10_001) == [(base, SegmentDeletionReason.TIME) for base in (0, 2, 4)]


def test_young_segment_keeps_older_ones_behind_it() -> None:
    """Data goes from the front without gaps: the first segment that may stay ends the search."""
    log = a_log(0, retention_ms=10_000)
    for ahead in (0, 0, 60_000, 0, 0, 0):
        append_values(log, [bytes(100)], NOW_MS + ahead)
    assert due(log, NOW_MS + 20_000) == [(0, SegmentDeletionReason.TIME)]


def test_active_segment_expires_too_and_an_empty_one_takes_its_place(fs: MemoryFiles) -> None:
    """A topic that nobody writes to gives its space back."""
    log = a_log(fs=fs, retention_ms=10_000)
    assert remove_all(log, NOW_MS + 60_000) == [0, 2, 4, 6, 8]
    assert (log.log_start_offset, log.log_end_offset) == (9, 9)
    log.flush()
    log.close()
    again = open_at(fs, clean=True)
    assert (again.log_start_offset, again.log_end_offset) == (9, 9)


def test_without_timestamps_the_time_of_the_file_counts(fs: MemoryFiles) -> None:
    """Records of clients that give none have the age of the last write to the segment."""
    log = open_at(fs, small_config(retention_ms=10_000, message_timestamp_before_max_ms=1 << 62))
    append_values(log, [b"a"], -1)
    log.roll(NOW_MS)
    written = fs.mtime_ms(f"{DIRECTORY}/{0:020d}{LOG_SUFFIX}")
    assert due(log, written + 10_000) == []
    assert due(log, written + 10_001) == [(0, SegmentDeletionReason.IDLE_TIME)]
    fs.set_mtime_ms(f"{DIRECTORY}/{0:020d}{LOG_SUFFIX}", written - 10_000)
    assert due(log, written + 1) == [(0, SegmentDeletionReason.IDLE_TIME)]


def test_time_of_the_file_does_not_matter_where_there_are_timestamps(fs: MemoryFiles) -> None:
    """A copy of a directory, whose files are all new, expires when the original would."""
    log = a_log(2, fs, retention_ms=10_000)
    fs.set_mtime_ms(f"{DIRECTORY}/{0:020d}{LOG_SUFFIX}", NOW_MS + 50_000)
    assert due(log, NOW_MS + 30_000) == [(0, SegmentDeletionReason.TIME)]


def test_records_of_the_future_stay() -> None:
    """Until their time has come and retention.ms has passed."""
    log = a_log(0, retention_ms=0, message_timestamp_after_max_ms=1 << 62)
    append_values(log, [b"a"], NOW_MS + 60_000)
    assert due(log, NOW_MS + 60_000) == []
    assert due(log, NOW_MS + 60_001) == [(0, SegmentDeletionReason.TIME)]


@pytest.mark.parametrize(
    ("high_watermark", "bases"), [(0, []), (1, []), (2, [0]), (8, [0, 2, 4, 6]), (9, [0, 2, 4, 6, 8])]
)
def test_what_is_not_committed_stays(high_watermark: int, bases: list[int]) -> None:
    """The log must not start beyond its high watermark."""
    log = a_log(retention_ms=0)
    assert [base for base, _ in due(log, NOW_MS + 60_000, high_watermark)] == bases


@pytest.mark.parametrize("policy", [frozenset(), frozenset({"compact"}), DELETE, frozenset({"compact", "delete"})])
def test_what_is_before_the_start_goes_under_every_policy(policy: frozenset[str]) -> None:
    """Age and size count only where the policy says delete; the start of the log always does."""
    log = a_log(retention_ms=0, retention_bytes=0, cleanup_policy=policy)
    log.log_start_offset = 5
    expected = [(0, SegmentDeletionReason.LOG_START), (2, SegmentDeletionReason.LOG_START)]
    if "delete" in policy:
        expected += [(4, SegmentDeletionReason.SIZE), (6, SegmentDeletionReason.SIZE), (8, SegmentDeletionReason.SIZE)]
    assert due(log, NOW_MS + 60_000) == expected


def test_size_comes_before_time() -> None:
    """Each segment goes for one reason, the first in Kafka's order."""
    log = a_log(retention_ms=10_000, retention_bytes=9 * SIZE - SEGMENT)
    assert due(log, NOW_MS + 3000 + 10_001) == [(0, SegmentDeletionReason.SIZE), (2, SegmentDeletionReason.TIME)]


def test_limits_follow_a_change_at_run_time() -> None:
    """The next look goes by the new configuration, whatever the old one was."""
    log = a_log(retention_ms=10_000)
    assert due(log, NOW_MS + 5000) == []
    log.update_config(small_config(retention_ms=1000, segment_bytes=SEGMENT))
    assert due(log, NOW_MS + 5000) == [(0, SegmentDeletionReason.TIME), (2, SegmentDeletionReason.TIME)]


def test_files_are_renamed_and_follow_later(fs: MemoryFiles) -> None:
    """Data, indexes and the producers' snapshot get .deleted, and are removed after file.delete.delay.ms."""
    log = a_log(5, fs, retention_bytes=3 * SIZE, file_delete_delay_ms=700)
    assert remove_all(log) == [0]
    assert read_all(log)[0][0] == 2
    gone = {name.removesuffix(".deleted") for name in contents(fs) if name.endswith(".deleted")}
    assert gone == {f"{0:020d}{suffix}" for suffix in (".log", ".index", ".timeindex")}
    assert log.local.deletions.take_due(NOW_MS) == []
    assert log.local.deletions.take_due(NOW_MS + 699) == []
    log.local.deletions.remove(log.local.deletions.take_due(NOW_MS + 700))
    assert [name for name in contents(fs) if name.endswith(".deleted")] == []


def test_epochs_and_snapshots_follow_the_start(fs: MemoryFiles) -> None:
    """The epoch that the log starts in begins there; snapshots of segments that are gone are gone."""
    log = open_at(fs, small_config(segment_bytes=SEGMENT, retention_bytes=SEGMENT))
    for number in range(6):
        append_values(log, [bytes(100)], NOW_MS, epoch=number // 3)
    assert remove_all(log) == [0, 2]
    assert [(entry.epoch, entry.start_offset) for entry in log.leader_epochs.entries] == [(1, 4)]
    assert log.snapshots.offsets == [4]


def test_whoever_holds_the_file_reads_on() -> None:
    """A slice that was handed out before stays readable, also once the file is unlinked."""
    log = a_log(retention_bytes=0)
    region = log.read(0, 1 << 20, log.log_end_offset, at_least_one=True)
    assert region.file is not None
    before = region.file.pread(region.length, region.position)
    remove_all(log)
    log.local.deletions.take_due(NOW_MS)
    log.local.deletions.remove(log.local.deletions.take_due(NOW_MS + 60_000))
    assert region.file.pread(region.length, region.position) == before


@pytest.mark.parametrize("failing", range(4))
def test_disk_that_fails_is_tried_again(failing: int, fs: MemoryFiles) -> None:
    """Whichever file cannot be renamed: the log stays in order, and the next look finishes what this one began."""
    log = a_log(6, fs, retention_bytes=2 * SIZE)
    remove_one = remove_next_due(log, 6, NOW_MS)
    assert remove_one is not None
    fs.fail("rename", errno.EIO, path_part=(".log", ".index", ".timeindex", ".snapshot")[failing])
    with pytest.raises(StorageError, match="Cannot delete segments of spool-0"):
        remove_next_due(log, 6, NOW_MS)
    assert log.log_start_offset == 4
    assert [offset for offset, _ in read_all(log)] == [4, 5]
    assert remove_all(log) == [2]
    check_log(log)
    assert [name for name in contents(fs) if name.startswith(f"{2:020d}") and not name.endswith(".deleted")] == []


@pytest.mark.parametrize(
    ("broker", "topic", "expected"),
    [
        ({}, {}, 168 * 3_600_000),
        ({"log.retention.hours": "2"}, {}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, {}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, {}, 4),
        ({"log.retention.ms": "4"}, {"retention.ms": "5"}, 5),
        ({"log.retention.minutes": "-1"}, {}, -1),
    ],
)
def test_finest_unit_wins_and_the_topic_over_all(broker: dict[str, str], topic: dict[str, str], expected: int) -> None:
    """retention.ms of the topic, then log.retention.ms, .minutes, .hours."""
    assert topic_config(broker, topic).retention_ms == expected
