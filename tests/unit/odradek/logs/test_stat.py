"""Figures of segments and of log directories."""

import pytest

from odradek.logs.stat import stat_partitions, stat_segments
from odradek.logs.verify.directory import read_layout
from odradek.protocol.records.batch import Codec
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.legacy_building import build_wrapper
from odradek.protocol.records.record import Record
from tests.support.log_samples import DATA, SPOOL, make_log_directory
from tests.support.logs import NOW_MS
from tests.support.memory_files import MemoryFiles

ZEROS = [Record(number, 5, None, bytes(1000)) for number in range(10)]


def a_segment(content: bytes) -> MemoryFiles:
    fs = MemoryFiles()
    fs.mkdir("/d/t-0")
    fs.write_bytes("/d/t-0/00000000000000000000.log", content)
    return fs


def test_segments_add_up_to_the_log() -> None:
    """Offsets, sizes, records, batches and index entries of each segment are those of its files."""
    fs = MemoryFiles()
    log = make_log_directory(fs)
    found = stat_segments(fs, SPOOL)
    assert [each.base_offset for each in found] == [segment.base_offset for segment in log.segments]
    assert [each.next_offset for each in found] == [*(each.base_offset for each in found[1:]), log.log_end_offset]
    assert sum(each.size for each in found) == log.size
    assert sum(each.records for each in found) == log.log_end_offset
    assert sum(each.batches for each in found) == 44
    assert [each.aborted_transactions for each in found].count(1) == 1
    assert (found[0].first_timestamp, found[-1].max_timestamp) == (NOW_MS, NOW_MS + 39_000)
    for each in found:
        assert each.offset_entries == fs.size(f"{SPOOL}/{each.base_offset:020d}.index") // 8
        assert each.bytes_per_entry == (each.size / each.offset_entries if each.offset_entries else None)
        assert (each.codecs, each.compression_ratio, each.problem) == ({"none": each.batches}, None, "")


@pytest.mark.parametrize("every", [True, False])
def test_the_compression_ratio_is_that_of_the_records(every: bool) -> None:
    """How much larger records are without compression, of batches and of old wrappers; others do not count."""
    batch = bytes(build_batch(ZEROS, BatchFields(codec=Codec.LZ4)))
    wrapper = build_wrapper(ZEROS, 1, Codec.GZIP)
    plain = bytes(build_batch(ZEROS))
    [found] = stat_segments(a_segment(batch * 200 + wrapper + plain), "/d/t-0", every_batch=every)
    assert found.codecs == {"none": 1, "gzip": 1, "lz4": 200}
    assert found.sampled_batches == (201 if every else 16 + 3 + 1)
    assert found.compression_ratio is not None
    assert found.compression_ratio > 20


def test_a_damaged_segment_is_told_and_the_rest_counted() -> None:
    """Batches up to the damage count; records that do not decompress do not."""
    batch = bytearray(build_batch(ZEROS, BatchFields(codec=Codec.GZIP)))
    broken = bytearray(batch)
    broken[80] ^= 0xFF
    [found] = stat_segments(a_segment(bytes(batch + broken) + b"\xee" * 100), "/d/t-0")
    assert (found.batches, found.sampled_batches) == (2, 1)
    assert f"at byte {2 * len(batch)}" in found.problem


def test_a_log_directory_is_looked_at_by_its_partitions() -> None:
    """Sizes by what the files are, and where each log begins and ends."""
    fs = MemoryFiles()
    log = make_log_directory(fs)
    fs.mkdir(f"{DATA}/empty-3")
    [empty, found] = stat_partitions(fs, read_layout(fs, DATA))
    assert (empty.topic, empty.partition, empty.total_bytes, empty.end_offset) == ("empty", 3, 0, None)
    assert (found.topic, found.partition, found.segments) == ("spool", 0, len(log.segments))
    assert (found.start_offset, found.end_offset, found.data_bytes) == (0, 88, log.size)
    assert found.total_bytes == sum(fs.size(f"{SPOOL}/{name}") for name in fs.listdir(SPOOL))
