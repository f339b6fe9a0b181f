"""Appending as the leader: offsets, what is remembered, and what a failing disk leaves behind."""

import errno

import pytest

from odradek.protocol.records.batch import Codec, read_header
from odradek.protocol.records.building import BatchFields
from odradek.protocol.records.errors import CorruptRecord
from odradek.storage.errors import InvalidProducerEpoch, OutOfOrderSequence, StorageError
from odradek.storage.log.log import Log
from odradek.storage.log.log_values import AppendInfo
from odradek.storage.producers.producer_state import AppendOrigin
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
from tests.support.timestamps import offset_for_timestamp


def idempotent(sequence: int, count: int = 1, epoch: int = 0, producer_id: int = 7) -> memoryview:
    fields = BatchFields(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    return a_batch([b"%d" % number for number in range(sequence, sequence + count)], fields=fields)


def state(log: Log) -> tuple[object, ...]:
    """Return everything that an append changes."""
    segment = log.segments.active
    return (
        log.log_end_offset,
        log.size,
        segment.base_offset,
        segment.size,
        segment.max_timestamp,
        segment.indexes.offsets.count,
        segment.indexes.times.count,
        log.leader_epochs.entries,
        {producer_id: list(entry.batches) for producer_id, entry in log.producers.entries.items()},
    )


def test_batches_get_the_next_offsets_and_the_leaders_epoch(fs: MemoryFiles, log: Log) -> None:
    """Base offset and leader epoch are set in the bytes that are stored, and all else is as it came."""
    sent = bytes(a_batch([b"a", b"b"]))
    assert log.append(a_batch([b"a", b"b"]), 5, NOW_MS) == AppendInfo(0, 1, NOW_MS, -1, 0, len(sent))
    assert log.append(a_batch([b"c"]), 6, NOW_MS).first_offset == 2
    stored = contents(fs)["00000000000000000000.log"]
    header = read_header(stored, len(sent))
    assert (header.base_offset, header.partition_leader_epoch) == (2, 6)
    assert read_header(stored).partition_leader_epoch == 5
    assert stored[16 : len(sent)] == sent[16:]
    assert log.leader_epochs.entries == [(5, 0), (6, 2)]
    assert log.log_end_offset == 3


def test_append_time_is_the_brokers_where_the_topic_says_so(fs: MemoryFiles) -> None:
    """With LogAppendTime, info and index have the broker's clock."""
    log = open_at(fs, small_config(message_timestamp_type="LogAppendTime"))
    info = log.append(a_batch([b"a"], 5), 0, NOW_MS + 77)
    assert (info.max_timestamp, info.log_append_time_ms) == (NOW_MS + 77, NOW_MS + 77)
    found = offset_for_timestamp(log, NOW_MS + 77, 1)
    assert found is not None
    assert found.timestamp == NOW_MS + 77


def test_batch_is_rewritten_where_the_topic_wants_another_codec(fs: MemoryFiles) -> None:
    """compression.type other than producer changes what is stored, and the size that is reported."""
    log = open_at(fs, small_config(compression_type="gzip"))
    info = log.append(a_batch([bytes(500)] * 3), 0, NOW_MS)
    assert info.size == log.size < 300
    assert read_all(log) == [(offset, bytes(500)) for offset in range(3)]


def test_damaged_batch_is_refused_and_leaves_nothing(log: Log) -> None:
    """What validation refuses is not appended."""
    append_values(log, [b"a"])
    before = state(log)
    damaged = a_batch([b"b"])
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecord):
        log.append(damaged, 0, NOW_MS)
    assert state(log) == before


def test_batch_sent_again_is_answered_with_its_first_offset(fs: MemoryFiles, log: Log) -> None:
    """A repeated batch of an idempotent producer is not written again, also after a restart."""
    append_values(log, [b"x"])
    assert log.append(idempotent(0, 3), 0, NOW_MS).first_offset == 1
    again = log.append(idempotent(0, 3), 0, NOW_MS)
    assert again == AppendInfo(1, 3, NOW_MS, NOW_MS, 0, 0, duplicate=True)
    log.close()
    for clean in (True, False):
        log = open_at(fs, clean=clean)
        assert log.append(idempotent(0, 3), 0, NOW_MS).duplicate
        assert log.log_end_offset == 4


def test_batches_out_of_sequence_are_refused(log: Log) -> None:
    """A gap in the sequence, and an older epoch, are errors with nothing appended."""
    log.append(idempotent(0, 3, epoch=1), 0, NOW_MS)
    before = state(log)
    with pytest.raises(OutOfOrderSequence):
        log.append(idempotent(4, epoch=1), 0, NOW_MS)
    with pytest.raises(InvalidProducerEpoch):
        log.append(idempotent(3, epoch=0), 0, NOW_MS)
    assert state(log) == before
    assert log.append(idempotent(3, epoch=1), 0, NOW_MS).first_offset == 3


def test_brokers_own_batches_are_taken_as_they_are(fs: MemoryFiles) -> None:
    """A batch of the broker itself is not validated: the producer's rules for timestamps do not concern it."""
    log = open_at(fs, small_config(message_timestamp_before_max_ms=1))
    info = log.append(a_batch([b"old"], 5, BatchFields(codec=Codec.GZIP)), 0, NOW_MS, AppendOrigin.COORDINATOR)
    assert (info.first_offset, info.max_timestamp, info.log_append_time_ms) == (0, 5, -1)


def test_changed_configuration_counts_from_the_next_batch_on(log: Log) -> None:
    """update_config changes limits and validation at once."""
    append_values(log, [bytes(100)])
    log.update_config(small_config(segment_bytes=200, compression_type="gzip"))
    append_values(log, [bytes(100)])
    assert [segment.base_offset for segment in log.segments] == [0, 1]
    assert read_header(log.segments.active.file.pread(61, 0)).codec == Codec.GZIP


@pytest.mark.parametrize("failed_cuts", [0, 1, 3])
@pytest.mark.parametrize("written", [0, 1, 50])
def test_full_disk_takes_nothing_and_gives_nothing_up(written: int, failed_cuts: int, fs: MemoryFiles) -> None:
    """A write that fails half-way is cut off, reads go on, and once there is space again, so do writes."""
    log = open_at(fs, small_config(index_interval_bytes=0))
    log.append(idempotent(0, 2), 0, NOW_MS)
    append_values(log, [b"here"], epoch=1)
    before = state(log)
    fs.capacity = fs.used + written
    if failed_cuts:
        fs.fail("truncate", errno.EIO, ".log", times=failed_cuts)
    for _ in range(3):
        with pytest.raises(StorageError, match="spool-0"):
            log.append(idempotent(2, 2), 1, NOW_MS + 100)
        assert state(log) == before
        assert [value for _, value in read_all(log)] == [b"0", b"1", b"here"]
    fs.capacity = 1 << 30
    assert log.append(idempotent(2, 2), 1, NOW_MS + 100).first_offset == 3
    check_log(log)
    assert [value for _, value in read_all(log)] == [b"0", b"1", b"here", b"2", b"3"]
    assert len(contents(fs)["00000000000000000000.log"]) == log.size
    survivor = open_at(fs.crash(kept=1.0))
    assert len(read_all(survivor)) == 5


def test_failed_write_is_cut_off_by_recovery_where_it_could_not_be_before(fs: MemoryFiles, log: Log) -> None:
    """If even the cut fails and the process ends then, the half-written batch is gone after the next start."""
    append_values(log, [b"here"])
    fs.capacity = fs.used + 30
    fs.fail("truncate", errno.EIO, ".log")
    with pytest.raises(StorageError):
        append_values(log, [b"lost"])
    assert len(contents(fs)["00000000000000000000.log"]) == log.size + 30
    fs.capacity = 1 << 30
    survivor = open_at(fs.crash(kept=1.0))
    assert read_all(survivor) == [(0, b"here")]


def test_error_of_the_disk_is_kafkas_storage_error(fs: MemoryFiles, log: Log) -> None:
    """What the operating system says is passed on in a KAFKA_STORAGE_ERROR that names partition and directory."""
    fs.fail("write", errno.EIO)
    with pytest.raises(StorageError, match=r"append to spool-0 in /data/spool-0: .*Input/output error") as raised:
        append_values(log, [b"x"])
    assert raised.value.code.name == "KAFKA_STORAGE_ERROR"


def test_producers_that_fell_silent_are_forgotten(log: Log) -> None:
    """After producer.id.expiration.ms a producer is new again."""
    log.append(idempotent(0), 0, NOW_MS)
    list(log.producers.remove_expired(NOW_MS + 86_399_999, log.producer_expiration_ms))
    assert 7 in log.producers.entries
    list(log.producers.remove_expired(NOW_MS + 86_400_000, log.producer_expiration_ms))
    assert 7 not in log.producers.entries
