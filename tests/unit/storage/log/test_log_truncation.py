"""Taking data away, from the end and from the start."""

import pytest

from odradek.protocol.records.building import BatchFields
from odradek.storage.errors import OffsetOutOfRange, StorageError
from odradek.storage.log.log import Log
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
from tests.support.timestamps import offset_for_timestamp

SIZE = len(a_batch([bytes(100)]))


def a_log(batches: int, fs: MemoryFiles | None = None) -> Log:
    """Return a log of batches of one record, four to a segment, each with a leader epoch of its own."""
    log = open_at(fs or MemoryFiles(), small_config(segment_bytes=4 * SIZE, index_interval_bytes=0))
    for number in range(batches):
        append_values(log, [bytes(100)], NOW_MS + number, epoch=number)
    return log


@pytest.mark.parametrize("offset", range(11))
def test_nothing_is_left_from_the_offset_on(offset: int, fs: MemoryFiles) -> None:
    """Records, indexes, epochs and end offset agree after a truncation, and the log goes on from there."""
    log = a_log(10, fs)
    assert log.truncate_to(offset, NOW_MS) is (offset < 10)
    assert log.log_end_offset == offset
    check_log(log)
    assert [entry.start_offset for entry in log.leader_epochs.entries] == list(range(offset))
    append_values(log, [b"new"], NOW_MS, epoch=50)
    check_log(log)
    assert read_all(log)[offset:] == [(offset, b"new")]
    log.flush()
    log.close()
    log = open_at(fs, small_config(segment_bytes=4 * SIZE, index_interval_bytes=0), clean=True)
    assert len(read_all(log)) == offset + 1
    assert log.segments.active.max_timestamp >= NOW_MS


def test_batch_that_has_the_offset_in_its_middle_goes_as_a_whole() -> None:
    """Half a batch cannot stay; the log ends where the batch began."""
    log = a_log(2)
    append_values(log, [b"a", b"b", b"c"])
    log.truncate_to(4, NOW_MS)
    assert log.log_end_offset == 2
    check_log(log)


def test_segments_after_the_cut_are_renamed_and_removed_later(fs: MemoryFiles) -> None:
    """Whole segments get the suffix .deleted, with indexes and snapshot, and go after file.delete.delay.ms."""
    log = a_log(10, fs)
    log.truncate_to(3, NOW_MS)
    deleted = [name for name in contents(fs) if name.endswith(".deleted")]
    assert sorted(deleted) == sorted(
        f"{base:020d}{suffix}.deleted" for base in (4, 8) for suffix in (".log", ".index", ".timeindex", ".snapshot")
    )
    assert log.local.deletions.take_due(NOW_MS) == []
    assert log.local.deletions.take_due(NOW_MS + 59_999) == []
    log.local.deletions.remove(log.local.deletions.take_due(NOW_MS + 60_000))
    assert not [name for name in contents(fs) if name.endswith(".deleted")]


def test_producers_are_as_they_were_at_the_cut(fs: MemoryFiles) -> None:
    """What a producer sent after the cut was never sent: its next sequence is the one that was cut off."""
    log = open_at(fs, small_config(segment_bytes=400))
    for sequence in range(8):
        fields = BatchFields(producer_id=7, producer_epoch=0, base_sequence=sequence)
        log.append(a_batch([bytes(50)], fields=fields), 0, NOW_MS)
    assert len(log.segments) > 2
    log.truncate_to(5, NOW_MS)
    assert log.producers.entries[7].last_sequence == 4
    assert log.producers.end_offset == 5
    log.truncate_to(1, NOW_MS)
    assert log.producers.entries[7].last_sequence == 0
    log.truncate_to(0, NOW_MS)
    assert not log.producers.entries


@pytest.mark.parametrize("snapshot", [0, 4])
def test_producers_are_as_they_were_at_a_cut_where_a_snapshot_was_taken_last(snapshot: int) -> None:
    """The start of the log, and of a segment: a batch that was cut off and comes again is no duplicate, but is written
    and gets its offset. Who is told that it is one has lost it."""
    log = open_at(MemoryFiles(), small_config(segment_bytes=4 * SIZE, index_interval_bytes=0))
    for sequence in range(snapshot + 2):
        fields = BatchFields(producer_id=7, producer_epoch=0, base_sequence=sequence)
        log.append(a_batch([bytes(100)], NOW_MS, fields), 0, NOW_MS)
    assert log.segments.active.base_offset == snapshot
    log.truncate_to(snapshot, NOW_MS)
    again = a_batch([bytes(100)], NOW_MS, BatchFields(producer_id=7, producer_epoch=0, base_sequence=snapshot))
    info = log.append(again, 1, NOW_MS)
    assert (info.duplicate, info.first_offset, log.log_end_offset) == (False, snapshot, snapshot + 1)


def test_truncation_before_the_first_segment_starts_anew() -> None:
    """A log whose start was deleted can be made to begin earlier."""
    log = a_log(10)
    log.delete_records_before(8)
    assert log.segments.first.base_offset == 8
    assert log.truncate_to(2, NOW_MS)
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (2, 2, 1)
    append_values(log, [b"x"])
    assert read_all(log) == [(2, b"x")]


def test_full_truncation_starts_at_any_offset(fs: MemoryFiles) -> None:
    """All goes, producers and epochs too, and the log is empty at the new offset."""
    log = a_log(10, fs)
    log.truncate_fully(100, NOW_MS)
    check_log(log)
    assert (log.log_start_offset, log.log_end_offset, log.recovery_point, log.size) == (100, 100, 100, 0)
    assert log.leader_epochs.entries == []
    append_values(log, [b"x"], epoch=3)
    assert read_all(log) == [(100, b"x")]
    assert log.leader_epochs.entries == [(3, 100)]


@pytest.mark.parametrize("offset", range(11))
def test_deleted_records_are_gone_for_readers_and_whole_segments_from_disk(offset: int, fs: MemoryFiles) -> None:
    """The start moves to the offset, and segments that end before it go; the active one stays."""
    log = a_log(10, fs)
    log.flush()
    log.delete_records_before(offset)
    assert log.log_start_offset == offset
    assert [segment.base_offset for segment in log.segments] == [
        base for base in (0, 4, 8) if base + 4 > offset or base == 8
    ]
    assert [found for found, _ in read_all(log)] == list(range(offset, 10))
    check_log(log)
    assert log.leader_epochs.epoch_for_offset(max(offset - 1, 0)) == (-1 if offset else 0)
    config = small_config(segment_bytes=4 * SIZE, index_interval_bytes=0)
    log.close()
    log = open_at(fs, config, clean=True, log_start_offset=offset)
    assert [found for found, _ in read_all(log)] == list(range(offset, 10))
    check_log(log)


def test_start_never_moves_back_nor_beyond_the_end() -> None:
    """An earlier start is ignored, one beyond the end is refused."""
    log = a_log(10)
    log.delete_records_before(5)
    log.delete_records_before(3)
    assert log.log_start_offset == 5
    for offset in (-1, 11):
        with pytest.raises(OffsetOutOfRange):
            log.delete_records_before(offset)


def test_removed_oldest_segments_move_the_start() -> None:
    """Retention takes the first segments; the log starts with the first that is left."""
    log = a_log(10)
    size = log.size
    log.remove_oldest(list(log.segments)[:1])
    assert (log.log_start_offset, log.size) == (4, size - 4 * SIZE)
    check_log(log)


def test_deleted_records_are_not_found_by_time() -> None:
    """Lookups by time start at the start of the log, also within a segment."""
    log = a_log(10)
    log.delete_records_before(6)
    found = offset_for_timestamp(log, NOW_MS, 10)
    assert found is not None
    assert found.offset == 6


def on_disk(fs: MemoryFiles) -> Log:
    """Return a log of ten batches that is on the disk, with all its names."""
    log = a_log(10, fs)
    log.flush()
    fs.sync_dir("/data")
    fs.sync_dir("/")
    return log


def test_what_was_cut_off_does_not_come_back_with_a_crash(fs: MemoryFiles) -> None:
    """Not even before the next flush: another segment may begin where it was cut."""
    log = on_disk(fs)
    log.truncate_to(6, NOW_MS)
    survivor = fs.crash(kept=0.0)
    log = open_at(survivor, small_config(segment_bytes=4 * SIZE), recovery_point=6)
    assert log.log_end_offset == 6
    check_log(log)


def test_cut_of_which_the_disk_refused_the_sync_is_synced_with_the_next_flush(fs: MemoryFiles) -> None:
    """The log is cut nevertheless, and the caller told that it may not be for good."""
    log = on_disk(fs)
    fs.fail("sync", path_part=".log")
    with pytest.raises(StorageError, match="Cannot truncate"):
        log.truncate_to(6, NOW_MS)
    assert log.log_end_offset == 6
    plan = log.prepare_flush()
    assert plan is not None
    assert [file.path for file in plan.files] == [f"{DIRECTORY}/{4:020d}.log"]


def test_start_that_moves_says_nothing_of_what_is_on_the_disk(fs: MemoryFiles) -> None:
    """The recovery point stays: what is gone may be back after a crash, and was never flushed."""
    log = on_disk(fs)
    for number in range(10, 16):
        append_values(log, [bytes(100)], NOW_MS + number, epoch=number)
    log.delete_records_before(15)
    assert (log.recovery_point, log.log_start_offset) == (10, 15)
    log.flush()
    assert log.recovery_point == 16


def test_removed_segment_that_was_not_on_the_disk_does_not_come_back(fs: MemoryFiles) -> None:
    """It would come back below the recovery point, where nobody checks it, in parts and without its indexes."""
    log = on_disk(fs)
    for number in range(10, 20):
        append_values(log, [bytes(100)], NOW_MS + number, epoch=number)
    log.delete_records_before(18)
    survivor = fs.crash(kept=0.0)
    assert [name for name in contents(survivor) if name.endswith(".log")] == [f"{16:020d}.log"]
