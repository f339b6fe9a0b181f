"""Transactions in the log: markers, what readers of committed records must be told, and how that survives."""

import pytest

from odradek.protocol.records.batch import read_header
from odradek.protocol.records.building import BatchFields
from odradek.protocol.records.control import (
    ControlType,
    EndTransactionMarker,
    build_control_batch,
    build_end_transaction_batch,
)
from odradek.protocol.records.errors import InvalidRecord
from odradek.storage.errors import CoordinatorFenced, InvalidProducerEpoch, InvalidTxnState
from odradek.storage.log.log import Log
from odradek.storage.segment.transaction_index import AbortedTxn
from tests.support.logs import NOW_MS, a_batch, append_values, check_log, open_at, small_config
from tests.support.memory_files import MemoryFiles

CONFIG = small_config(segment_bytes=400)


def open_log_without_verification(fs: MemoryFiles, *, clean: bool = True, recovery_point: int = 0) -> Log:
    log = open_at(fs, CONFIG, clean=clean, recovery_point=recovery_point)
    log.producers.verify_transactions = False
    return log


class Writer:
    """A transactional producer of one partition."""

    def __init__(self, log: Log, producer_id: int) -> None:
        self.log = log
        self.producer_id = producer_id
        self.sequence = 0

    def write(self, count: int = 1) -> int:
        fields = BatchFields(
            producer_id=self.producer_id, producer_epoch=0, base_sequence=self.sequence, transactional=True
        )
        self.sequence += count
        return self.log.append(a_batch([b"data"] * count, fields=fields), 0, NOW_MS).first_offset

    def end(self, *, commit: bool, coordinator_epoch: int = 0, epoch: int = 0) -> int:
        marker = EndTransactionMarker(commit, coordinator_epoch)
        batch = build_end_transaction_batch(marker, self.producer_id, epoch, NOW_MS)
        return self.log.append_marker(batch, 0, NOW_MS, 0).first_offset


def test_open_transaction_holds_readers_of_committed_records_back(fs: MemoryFiles) -> None:
    """The first unstable offset is the start of the oldest open transaction, and moves on with its marker."""
    log = open_log_without_verification(fs)
    first, second = Writer(log, 1), Writer(log, 2)
    append_values(log, [b"plain"])
    assert log.producers.first_unstable_offset(1) is None
    first.write()
    second.write()
    assert log.producers.first_unstable_offset(3) == 1
    first.end(commit=True)
    assert log.producers.first_unstable_offset(4) == 2
    second.end(commit=False)
    assert log.producers.first_unstable_offset(5) is None


def test_aborted_transactions_are_listed_for_the_readers_they_concern(fs: MemoryFiles) -> None:
    """Only aborted ones, only where they overlap what is read, in the order of their markers, across segments."""
    log = open_log_without_verification(fs)
    first, second = Writer(log, 1), Writer(log, 2)
    first.write(2)  # 0, 1
    second.write()  # 2
    second.end(commit=False)  # 3
    first.end(commit=False)  # 4
    first.write()  # 5
    first.end(commit=True)  # 6
    log.roll(NOW_MS)
    second.write()  # 7
    second.end(commit=False)  # 8
    early = AbortedTxn(2, 2, 3, 0)
    long = AbortedTxn(1, 0, 4, 5)
    late = AbortedTxn(2, 7, 8, 9)
    assert log.aborted_transactions(0, 9) == [early, long, late]
    assert log.aborted_transactions(0, 2) == [long]
    assert log.aborted_transactions(4, 7) == [long]
    assert log.aborted_transactions(5, 7) == []
    assert log.aborted_transactions(5, 8) == [late]


@pytest.mark.parametrize("clean", [True, False])
def test_transactions_are_known_after_a_restart(clean: bool, fs: MemoryFiles) -> None:
    """Open transactions, aborted ones and sequences are the same after a clean stop and after a recovery."""
    log = open_log_without_verification(fs)
    first, second = Writer(log, 1), Writer(log, 2)
    for number in range(12):
        first.write()
        if number % 3 == 2:
            first.end(commit=number % 2 == 0)
    second.write()
    before = (
        log.aborted_transactions(0, log.log_end_offset),
        log.producers.first_unstable_offset(log.log_end_offset),
        {producer: entry.last_sequence for producer, entry in log.producers.entries.items()},
    )
    assert len(before[0]) == 2
    assert len(log.segments) > 3
    log.flush()
    log.close()
    log = open_log_without_verification(fs, clean=clean)
    after = (
        log.aborted_transactions(0, log.log_end_offset),
        log.producers.first_unstable_offset(log.log_end_offset),
        {producer: entry.last_sequence for producer, entry in log.producers.entries.items()},
    )
    assert after == before
    check_log(log)


def test_truncation_takes_markers_back(fs: MemoryFiles) -> None:
    """A transaction whose marker was cut off is open again, and no longer aborted."""
    log = open_log_without_verification(fs)
    writer = Writer(log, 1)
    writer.write()
    writer.end(commit=False)
    log.truncate_to(1, NOW_MS)
    assert log.aborted_transactions(0, 1) == []
    assert log.producers.first_unstable_offset(1) == 0


def test_late_markers_are_refused(fs: MemoryFiles) -> None:
    """Another epoch of the producer, or a newer coordinator, has taken over: nothing is appended."""
    log = open_log_without_verification(fs)
    writer = Writer(log, 1)
    writer.write()
    writer.end(commit=True, coordinator_epoch=5, epoch=3)
    end = log.log_end_offset
    with pytest.raises(InvalidProducerEpoch):
        writer.end(commit=True, coordinator_epoch=5, epoch=2)
    with pytest.raises(CoordinatorFenced):
        writer.end(commit=True, coordinator_epoch=4, epoch=3)
    assert log.log_end_offset == end


def test_other_control_batches_are_no_markers(fs: MemoryFiles) -> None:
    """append_marker is for ends of transactions only."""
    log = open_log_without_verification(fs)
    with pytest.raises(InvalidRecord):
        log.append_marker(build_control_batch([(ControlType.LEADER_CHANGE, b"")], NOW_MS), 0, NOW_MS, 0)


def test_transaction_must_be_verified_where_the_broker_asks_for_it(fs: MemoryFiles) -> None:
    """Without the guard of a verification, a batch that begins a transaction is refused (KIP-890)."""
    log = open_at(fs, CONFIG)
    fields = BatchFields(producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    batch = a_batch([b"x"], fields=fields)
    with pytest.raises(InvalidTxnState):
        log.append(a_batch([b"x"], fields=fields), 0, NOW_MS)
    guard = log.producers.start_verification(read_header(batch), False, NOW_MS)
    assert log.append(batch, 0, NOW_MS, guard=guard).first_offset == 0


def test_follower_learns_of_aborted_transactions_from_the_markers(fs: MemoryFiles) -> None:
    """Replicated markers end transactions and fill the index, as with the leader."""
    log = open_log_without_verification(fs)
    writer = Writer(log, 1)
    writer.write()
    writer.end(commit=False)
    region = log.read(0, 1 << 20, 2, at_least_one=True)
    assert region.file is not None
    data = memoryview(region.file.pread(region.length, region.position))
    copy = open_at(MemoryFiles(), CONFIG)
    copy.append_as_follower(data, NOW_MS)
    assert copy.aborted_transactions(0, 2) == log.aborted_transactions(0, 2) == [AbortedTxn(1, 0, 1, 2)]
    assert copy.producers.first_unstable_offset(2) is None
