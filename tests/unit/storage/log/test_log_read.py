"""Reading: which bytes of which file an offset leads to."""

import errno

import pytest

from odradek.storage.errors import OffsetOutOfRange, StorageError
from odradek.storage.log.log import Log
from tests.support.logs import NOW_MS, a_batch, append_values, open_at, read_all, small_config
from tests.support.memory_files import MemoryFiles
from tests.support.timestamps import max_timestamp_record, offset_for_timestamp

SIZE = len(a_batch([bytes(100)]))


def a_log(batches: int, per_segment: int = 5, interval: int = 300) -> Log:
    """Return a log of equal batches, one record each."""
    log = open_at(MemoryFiles(), small_config(segment_bytes=per_segment * SIZE, index_interval_bytes=interval))
    for _ in range(batches):
        append_values(log, [bytes(100)])
    return log


@pytest.mark.parametrize("offset", range(12))
def test_slice_starts_at_the_batch_and_ends_with_its_segment(offset: int) -> None:
    """A read gives all that one segment has from the offset on, and says where."""
    log = a_log(12)
    region = log.read(offset, 1 << 20, 12, at_least_one=False)
    base = offset // 5 * 5
    assert region.file is not None
    assert region.file.path.endswith(f"{base:020d}.log")
    assert (region.position, region.first_offset, region.segment_base) == ((offset - base) * SIZE, offset, base)
    assert region.length == (min(base + 5, 12) - offset) * SIZE


def test_offset_within_a_batch_leads_to_the_start_of_the_batch(log: Log) -> None:
    """Records before the offset come along; clients pass over them."""
    append_values(log, [b"a"])
    append_values(log, [b"b", b"c", b"d"])
    region = log.read(3, 1 << 20, 4, at_least_one=True)
    assert region.first_offset == 1


def test_size_limit_cuts_the_slice_but_never_the_first_batch_that_must_come() -> None:
    """max_bytes counts bytes, not batches; only with at_least_one the first batch is whole."""
    log = a_log(5)
    assert log.read(0, SIZE + 7, 5, at_least_one=True).length == SIZE + 7
    assert log.read(0, 7, 5, at_least_one=True).length == SIZE
    assert log.read(0, 7, 5, at_least_one=False).length == 7
    assert log.read(0, 0, 5, at_least_one=True).length == SIZE
    assert log.read(0, 0, 5, at_least_one=False).file is None


@pytest.mark.parametrize("upto", range(13))
def test_nothing_from_the_limit_on_is_in_the_slice(upto: int) -> None:
    """Whatever segment the limit is in, and however often it is asked for, the slice ends before its batch."""
    log = a_log(12)
    for _ in range(2):
        for offset in range(13):
            region = log.read(offset, 1 << 20, upto, at_least_one=True)
            end_of_segment = min(offset // 5 * 5 + 5, 12)
            assert region.length == max(0, min(upto, end_of_segment) - offset) * SIZE
            assert (region.file is None) is (region.length == 0)


def test_offsets_outside_of_the_log_are_out_of_range() -> None:
    """Below the start and above the end is an error, the end itself is not."""
    log = a_log(12)
    log.delete_records_before(7)
    for offset in (-1, 0, 6, 13):
        with pytest.raises(OffsetOutOfRange, match="from offset 7 to 12"):
            log.read(offset, 1000, 12, at_least_one=True)
    assert log.read(12, 1000, 12, at_least_one=True).length == 0
    assert log.read(7, 1000, 12, at_least_one=True).length


def test_reader_at_the_end_gets_what_comes_next() -> None:
    """A reader that waits at the end finds the next batch, also in a segment that did not exist then."""
    log = a_log(4)
    for number in range(4, 12):
        waiting = log.read(number, 1000, number, at_least_one=True)
        assert waiting.file is None
        assert waiting.segment_base == (number - 1) // 5 * 5
        append_values(log, [bytes(100)])
        region = log.read(number, 1000, number + 1, at_least_one=True)
        assert (region.first_offset, region.length) == (number, SIZE)
        assert region.segment_base == number // 5 * 5


def test_following_the_log_looks_neither_at_the_index_nor_at_the_file(fs: MemoryFiles, log: Log) -> None:
    """A reader that comes back to where it stopped costs no file operation."""
    append_values(log, [b"a"])
    log.read(0, 1 << 20, 1, at_least_one=True)
    append_values(log, [b"b"])
    fs.fail("read", times=1 << 30)
    log.segments.active.indexes.offsets = None  # type: ignore[assignment]  # not to be asked
    assert log.read(1, 1 << 20, 2, at_least_one=True).first_offset == 1


def test_slice_is_readable_after_its_segment_was_deleted(fs: MemoryFiles) -> None:
    """A response on its way is sent whole, although retention or DeleteRecords removed the file meanwhile."""
    log = open_at(fs, small_config(segment_bytes=2 * SIZE, file_delete_delay_ms=0))
    for number in range(6):
        append_values(log, [b"%100d" % number])
    region = log.read(0, 1 << 20, 6, at_least_one=True)
    assert region.file is not None
    before = region.file.pread(region.length, region.position)
    log.delete_records_before(4)
    log.local.deletions.remove(log.local.deletions.take_due(NOW_MS))
    log.truncate_to(5, NOW_MS)
    assert region.file.pread(region.length, region.position) == before
    assert len(before) == 2 * SIZE


def test_slice_is_as_it_was_after_the_log_went_on() -> None:
    """Appends and rolls after a read change nothing that was read."""
    log = a_log(3)
    region = log.read(1, 1 << 20, 3, at_least_one=True)
    for _ in range(10):
        append_values(log, [bytes(100)])
    assert region.length == 2 * SIZE
    assert region.file is not None
    assert len(region.file.pread(region.length, region.position)) == 2 * SIZE


def test_read_error_is_a_storage_error(fs: MemoryFiles) -> None:
    """A disk that cannot be read is KAFKA_STORAGE_ERROR for the one that asked."""
    log = open_at(fs, small_config(segment_bytes=2 * SIZE))
    for _ in range(6):
        append_values(log, [bytes(100)])
    log.close()
    log = open_at(fs, small_config(segment_bytes=2 * SIZE), clean=True)
    fs.fail("read", errno.EIO)
    with pytest.raises(StorageError, match="read from spool-0"):
        log.read(0, 1000, 6, at_least_one=True)
    assert len(read_all(log)) == 6


@pytest.mark.parametrize("damage", ["missing", "garbage", "zeros", "other", "short"])
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_index_of_an_old_segment_that_cannot_be_right_is_rebuilt(suffix: str, damage: str, fs: MemoryFiles) -> None:
    """Whatever happened to an index file, every offset and time is found, and the file is right afterwards."""
    config = small_config(segment_bytes=10 * SIZE, index_interval_bytes=0)
    log = open_at(fs, config)
    for number in range(25):
        append_values(log, [b"%100d" % number], NOW_MS + number)
    log.close()
    path = f"/data/spool-0/{10:020d}{suffix}"
    good = fs.read_bytes(path)
    other = fs.read_bytes(f"/data/spool-0/{0:020d}{suffix}")
    if damage == "missing":
        fs.unlink(path)
    else:
        bad = {
            "garbage": b"\x7f\x13\xee\x01" * (len(good) // 4),
            "zeros": bytes(len(good)),
            "other": other[::-1],
            "short": good[: len(good) - 5],
        }
        fs.write_bytes(path, bad[damage])
    log = open_at(fs, config, clean=True)
    for number in range(25):
        assert log.read(number, 1, 25, at_least_one=True).first_offset == number
        found = offset_for_timestamp(log, NOW_MS + number, 25)
        assert found is not None
        assert found.offset == number
    latest = max_timestamp_record(log, 25)
    assert latest is not None
    assert latest.offset == 24
    log.close()
    assert fs.read_bytes(path) == good


def test_index_that_leads_into_the_middle_of_a_batch_is_rebuilt(fs: MemoryFiles) -> None:
    """An index may look sane and be wrong: the bytes that it leads to tell."""
    config = small_config(segment_bytes=10 * SIZE, index_interval_bytes=0)
    log = open_at(fs, config)
    for _ in range(12):
        append_values(log, [bytes(100)])
    log.close()
    path = f"/data/spool-0/{0:020d}.index"
    good = fs.read_bytes(path)
    wrong = bytearray(good)
    wrong[7 * 8 + 7] += 1
    fs.write_bytes(path, wrong)
    log = open_at(fs, config, clean=True)
    assert log.read(8, 1, 12, at_least_one=True).first_offset == 8
    log.close()
    assert fs.read_bytes(path) == good


def test_upper_bound_of_a_slice_is_above_its_records() -> None:
    """The bound for the aborted transactions of a fetch covers the slice, and stays within the next index entry."""
    log = a_log(12)
    for offset in range(12):
        for max_bytes in (1, SIZE, 2 * SIZE, 1 << 20):
            region = log.read(offset, max_bytes, 12, at_least_one=True)
            last = region.first_offset + -(-region.length // SIZE) - 1
            bound = log.upper_bound(region)
            assert last < bound <= 12
            assert bound <= last + 6
