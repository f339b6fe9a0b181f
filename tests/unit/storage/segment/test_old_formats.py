"""Logs of messages of versions 0 and 1: opened, checked, indexed, read, searched and cut like any other."""

import struct
import zlib

import pytest

from odradek.protocol.records.batch import Codec
from odradek.protocol.records.errors import CorruptRecord
from odradek.protocol.records.legacy_building import build_message_set
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record
from odradek.storage.log.log import Log
from odradek.storage.segment.segment import Segment
from tests.support.legacy_logs import FILES, INDEX_INTERVAL, NAMES, dumped_records, put, read_file
from tests.support.logs import DIRECTORY, NOW_MS, append_values, check_log, contents, open_at, open_with_findings
from tests.support.logs import small_config as small
from tests.support.memory_files import MemoryFiles
from tests.support.timestamps import max_timestamp_record, offset_for_timestamp

CONFIG = small(segment_bytes=1 << 20, index_interval_bytes=INDEX_INTERVAL)
COMPRESSED = [name for name in NAMES if not name.endswith("uncompressed")]


def kafkas(name: str, clean: bool = False) -> tuple[MemoryFiles, Log]:
    """Return a log that Kafka wrote, opened here."""
    fs = MemoryFiles()
    put(fs, DIRECTORY, name)
    return fs, open_at(fs, CONFIG, clean=clean)


def records_from(log: Log, offset: int) -> list[Record]:
    """Return the records of the batches that a reader at `offset` is given first."""
    region = log.read(offset, 1, log.log_end_offset, at_least_one=True)
    assert region.file is not None
    return list(iter_entry_records(region.file.pread(region.length, region.position)))


def mixed_log() -> tuple[MemoryFiles, Log]:
    """Return a log with all three formats: wrappers [0..4] of V0 and [5..9] of V1, a plain V1 message, a batch."""
    fs = MemoryFiles()
    fs.mkdir(DIRECTORY)
    file = fs.open(f"{DIRECTORY}/{FILES[0]}", create=True)
    first = [Record(i, -1, b"%d" % i, b"v0") for i in range(5)]
    second = [Record(i, NOW_MS + i, b"%d" % i, b"v1") for i in range(5, 10)]
    file.write(build_message_set(first, 0, Codec.LZ4))
    file.write(build_message_set(second, 1, Codec.GZIP))
    file.write(build_message_set([Record(10, NOW_MS + 3, None, b"plain")], 1))
    log = open_at(fs, small(segment_bytes=1 << 20))
    append_values(log, [b"a", b"b"], NOW_MS + 50)
    return fs, log


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("clean", [True, False])
def test_a_log_of_kafka_is_opened_whole(name: str, clean: bool) -> None:
    """After either stop the log ends where Kafka's did, nothing is cut, and every record is there."""
    fs = MemoryFiles()
    put(fs, DIRECTORY, name)
    log, findings = open_with_findings(fs, CONFIG, clean=clean)
    assert findings == ()
    assert log.log_end_offset == 16
    if name in COMPRESSED or not clean:  # an entry of Kafka's index is for an append, which may be several messages
        check_log(log)
    found: list[Record] = []
    offset = 0
    while offset < 16:
        found += [record for record in records_from(log, offset) if record.offset >= offset]
        offset = found[-1].offset + 1
    assert found == dumped_records(name)


@pytest.mark.parametrize("name", NAMES)
def test_recovery_makes_the_indexes_that_kafka_made(name: str) -> None:
    """Indexes rebuilt from the data are Kafka's own to the byte, where one append was one entry."""
    fs, log = kafkas(name)
    log.close()
    files = contents(fs)
    for file in FILES[1:]:
        if name in COMPRESSED:
            assert files[file] == read_file(name, file)
    assert files[FILES[0]] == read_file(name)


@pytest.mark.parametrize("name", COMPRESSED)
def test_an_offset_inside_a_wrapper_is_found(name: str) -> None:
    """A reader at any offset of a wrapper is given that wrapper."""
    _, log = kafkas(name, clean=True)
    for offset in range(16):
        offsets = [record.offset for record in records_from(log, offset)]
        assert offsets[0] <= offset <= offsets[-1]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("v1") and "append" not in name])
def test_time_lookups_see_single_messages(name: str) -> None:
    """A timestamp leads to the first message that is not earlier, inside a wrapper too."""
    _, log = kafkas(name, clean=True)
    first_ms = 1_500_000_000_000
    for i in range(15):
        assert offset_for_timestamp(log, first_ms + 1000 * i - 1, 16) == (first_ms + 1000 * i, i, -1)
    assert offset_for_timestamp(log, first_ms + 14_001, 16) is None
    assert max_timestamp_record(log, 16) == (first_ms + 14_000, 14, -1)


def test_append_times_are_found() -> None:
    """Where the wrapper has the time for all, its first record answers for it."""
    _, log = kafkas("v1-append-time", clean=True)
    times = [record.timestamp for record in dumped_records("v1-append-time")]
    assert offset_for_timestamp(log, times[0], 16) == (times[0], 0, -1)
    assert offset_for_timestamp(log, times[0] + 1, 16) == (times[5], times.index(times[5]), -1)
    assert max_timestamp_record(log, 16) == (max(times), times.index(max(times)), -1)


def test_a_log_without_timestamps_has_none() -> None:
    """Version 0 knows no time: no lookup finds anything, and the time index stays empty."""
    fs, log = kafkas("v0-gzip")
    assert offset_for_timestamp(log, 0, 16) is None
    assert max_timestamp_record(log, 16) is None
    log.close()
    assert contents(fs)[FILES[2]] == b""


@pytest.mark.parametrize("name", COMPRESSED)
def test_cutting_inside_a_wrapper_takes_all_of_it(name: str) -> None:
    """A wrapper that has the offset in its middle goes as a whole, and the log ends at its first record."""
    _, log = kafkas(name)
    log.truncate_to(7, NOW_MS)
    assert log.log_end_offset == 5
    check_log(log)
    append_values(log, [b"new"])
    assert log.log_end_offset == 6
    assert [record.value for record in records_from(log, 5)] == [b"new"]


@pytest.mark.parametrize("name", NAMES)
def test_a_flipped_bit_ends_the_log_there(name: str) -> None:
    """Recovery checks the CRC-32 of every message and cuts before the first that is damaged."""
    data = read_file(name)
    for at in range(12, len(data), 61):
        fs = MemoryFiles()
        fs.mkdir(DIRECTORY)
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        fs.open(f"{DIRECTORY}/{FILES[0]}", create=True).write(bytes(damaged))
        log, findings = open_with_findings(fs, CONFIG)
        assert log.size <= at
        assert findings
        check_log(log)


def test_all_formats_share_a_log() -> None:
    """Messages, wrappers and batches lie behind each other; what is appended now is a batch with a leader epoch."""
    fs, log = mixed_log()
    assert log.log_end_offset == 13
    assert [record.offset for record in records_from(log, 2)] == [0, 1, 2, 3, 4]
    assert [record.offset for record in records_from(log, 7)] == [5, 6, 7, 8, 9]
    assert [record.offset for record in records_from(log, 10)] == [10]
    assert [entry.start_offset for entry in log.leader_epochs.entries] == [11]
    assert offset_for_timestamp(log, NOW_MS + 7, 13) == (NOW_MS + 7, 7, -1)
    assert offset_for_timestamp(log, NOW_MS + 10, 13) == (NOW_MS + 50, 11, 0)
    log.close()
    again = open_at(fs, small(segment_bytes=1 << 20))
    assert again.log_end_offset == 13
    check_log(again)


def test_records_below_the_start_of_the_log_are_not_found_by_time() -> None:
    """A start inside a wrapper hides the messages before it from lookups."""
    _, log = mixed_log()
    log.delete_records_before(8)
    assert offset_for_timestamp(log, NOW_MS, 13) == (NOW_MS + 8, 8, -1)


def test_damage_inside_a_wrapper_is_an_error_to_lookups_only() -> None:
    """What does not decompress is passed on to readers, as in Kafka, and refuses a look into it."""
    fs = MemoryFiles()
    fs.mkdir(DIRECTORY)
    data = build_message_set([Record(0, NOW_MS), Record(1, NOW_MS + 1)], 1, Codec.GZIP)
    body = bytearray(data)
    body[34 + 12] ^= 0xFF
    body[12:16] = zlib.crc32(body[16:]).to_bytes(4, "big")
    fs.open(f"{DIRECTORY}/{FILES[0]}", create=True).write(bytes(body))
    log = open_at(fs)
    assert log.log_end_offset == 2
    with pytest.raises(Exception, match="decompress"):
        offset_for_timestamp(log, NOW_MS, 2)
    log.truncate_to(1, NOW_MS)
    assert log.log_end_offset == 1  # where the wrapper began cannot be known


def test_unused_attributes_mean_nothing() -> None:
    """Bits that say transaction or control batch in version 2 are unused before it."""
    fs = MemoryFiles()
    fs.mkdir(DIRECTORY)
    body = struct.pack(">bbqii", 1, 0x70, NOW_MS, -1, -1)
    message = struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body
    fs.open(f"{DIRECTORY}/{FILES[0]}", create=True).write(message)
    log = open_at(fs)
    segment: Segment = log.segments.active
    ((_, header),) = list(segment.batches_from(0))
    assert not header.is_control
    assert not header.is_transactional
    assert header.delete_horizon_ms is None


def test_a_replica_takes_undamaged_messages_only() -> None:
    """What another replica sends in the old formats is checked by its CRC-32."""
    _, log = mixed_log()
    data = build_message_set([Record(13, NOW_MS, None, b"x"), Record(14, NOW_MS, None, b"y")], 1)
    assert log.append_as_follower(memoryview(data), NOW_MS).last_offset == 14
    damaged = bytearray(build_message_set([Record(15, NOW_MS, None, b"z")], 1))
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecord):
        log.append_as_follower(memoryview(damaged), NOW_MS)
    assert log.log_end_offset == 15
