"""Appending what a leader wrote."""

import errno

import pytest

from odradek.protocol.records.building import BatchFields
from odradek.protocol.records.errors import CorruptRecord
from odradek.storage.errors import OffsetOutOfRange, StorageError
from odradek.storage.log.log import Log
from tests.support.logs import NOW_MS, a_batch, append_values, check_log, old_message, open_at, read_all, small_config
from tests.support.memory_files import MemoryFiles


def leader_with(batches: int, producer: bool = False) -> Log:
    """Return the log of a leader, one record to a batch, a new epoch every three."""
    log = open_at(MemoryFiles(), small_config(segment_bytes=1 << 20, index_interval_bytes=100))
    for number in range(batches):
        fields = BatchFields(producer_id=7, producer_epoch=0, base_sequence=number) if producer else None
        log.append(a_batch([b"%50d" % number], NOW_MS + number, fields), number // 3, NOW_MS)
    return log


def bytes_of(log: Log, offset: int = 0) -> memoryview:
    region = log.read(offset, 1 << 30, log.log_end_offset, at_least_one=True)
    assert region.file is not None
    return memoryview(region.file.pread(region.length, region.position))


def follower() -> Log:
    return open_at(MemoryFiles(), small_config(segment_bytes=1 << 20, index_interval_bytes=100))


def test_follower_is_byte_for_byte_the_leader() -> None:
    """Batches, epochs, producers and indexes are the leader's, whatever pieces they came in."""
    leader, log = leader_with(12, producer=True), follower()
    data = bytes_of(leader)
    size = len(data) // 12
    for start, end in ((0, 5), (5, 6), (6, 12)):
        info = log.append_as_follower(data[start * size : end * size], NOW_MS)
        assert (info.first_offset, info.last_offset, info.size) == (start, end - 1, (end - start) * size)
    assert bytes_of(log) == data
    assert log.leader_epochs.entries == leader.leader_epochs.entries
    assert log.producers.entries[7].last_sequence == 11
    check_log(log)
    assert log.segments.active.indexes.offsets.count == leader.segments.active.indexes.offsets.count


def test_cut_batch_at_the_end_is_left_for_the_next_fetch() -> None:
    """A fetch by size ends in the middle of a batch; what is not whole is not appended."""
    leader, log = leader_with(2), follower()
    data = bytes_of(leader)
    info = log.append_as_follower(data[:-1], NOW_MS)
    assert (info.last_offset, log.log_end_offset) == (0, 1)
    info = log.append_as_follower(data[len(data) // 2 : -1], NOW_MS)
    assert (info.first_offset, info.size) == (-1, 0)
    assert log.append_as_follower(data[len(data) // 2 :], NOW_MS).first_offset == 1


def test_gaps_of_a_compacted_leader_are_kept() -> None:
    """Offsets that compaction removed are missing at the follower, too."""
    leader, log = leader_with(4), follower()
    data = bytes_of(leader)
    size = len(data) // 4
    log.append_as_follower(data[size : 2 * size], NOW_MS)
    log.append_as_follower(data[3 * size :], NOW_MS)
    assert [offset for offset, _ in read_all(log)] == [1, 3]
    check_log(log)


def test_what_does_not_follow_the_end_is_refused() -> None:
    """A batch that the log has already, or out of order, changes nothing."""
    leader, log = leader_with(4), follower()
    data = bytes_of(leader)
    size = len(data) // 4
    log.append_as_follower(data[: 2 * size], NOW_MS)
    for bad in (data[size:], bytes(data[3 * size :]) + bytes(data[2 * size : 3 * size])):
        with pytest.raises(OffsetOutOfRange, match="was due in spool-0"):
            log.append_as_follower(memoryview(bytes(bad)), NOW_MS)
    assert log.log_end_offset == 2


def test_damaged_batch_is_refused_with_all_that_came_with_it() -> None:
    """One wrong checksum, and nothing of the fetch is taken."""
    leader, log = leader_with(3), follower()
    data = bytearray(bytes_of(leader))
    data[-3] ^= 1
    with pytest.raises(CorruptRecord):
        log.append_as_follower(memoryview(data), NOW_MS)
    assert (log.log_end_offset, log.size) == (0, 0)


def test_full_disk_leaves_the_follower_as_it_was(fs: MemoryFiles, log: Log) -> None:
    """A write of many batches fails as a whole."""
    append_values(log, [b"x"])
    data = bytes_of(leader_with(6), 1)
    fs.capacity = fs.used + 150
    with pytest.raises(StorageError):
        log.append_as_follower(data, NOW_MS)
    assert (log.log_end_offset, len(log.leader_epochs.entries)) == (1, 1)
    check_log(log)
    fs.capacity = 1 << 30
    log.append_as_follower(data, NOW_MS)
    assert log.log_end_offset == 6
    fs.fail("write", errno.EIO)


@pytest.mark.parametrize("limit", [300, 100])
def test_what_the_leader_has_fits_however_small_segments_are(limit: int) -> None:
    """More batches come at once than a segment may have, or one that is larger: segments were larger when the leader
    took it. They get one of their own, and what comes then another one."""
    leader, log = leader_with(6), open_at(MemoryFiles(), small_config(segment_bytes=limit))
    data = bytes_of(leader)
    size = len(data) // 6
    assert size > 100
    log.append_as_follower(data[:size], NOW_MS)
    log.append_as_follower(data[size : 5 * size], NOW_MS)
    log.append_as_follower(data[5 * size :], NOW_MS)
    assert read_all(log) == read_all(leader)
    assert [segment.base_offset for segment in log.segments] == [0, 1, 5]
    check_log(log)


def test_old_formats_are_replicated() -> None:
    """Messages of V0 and V1 are taken as they are."""
    log = follower()
    data = old_message(0, 0, b"zero") + old_message(1, 1, b"one") + old_message(1, 5, b"five")
    info = log.append_as_follower(memoryview(data), NOW_MS)
    assert (info.first_offset, info.last_offset, log.log_end_offset) == (0, 5, 6)
    assert bytes_of(log) == data
