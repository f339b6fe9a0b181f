"""What a round takes upon itself, and what it refuses or leaves for the next one."""

import re

import pytest

from odradek.protocol.records.batch import Codec
from odradek.protocol.records.building import BatchFields, assemble_batch
from odradek.storage.compaction import workload
from odradek.storage.log.log import Log
from odradek.storage.producers.producer_state import AppendOrigin
from odradek.storage.validation.rules import LEAST_DECOMPRESSED_LIMIT, LEAST_RECORDS_LIMIT
from tests.support.compaction import RoundFailedError, compact_log, read_batches, read_pairs
from tests.support.logs import NOW_MS, contents
from tests.support.memory_files import MemoryFiles
from tests.unit.storage.compaction.test_segment_rewrite import a_log, append, close_segment

RECORD = b"\x0e\0\0\0\2k\1\0"
"""One with the key k and no value."""


def append_body(log: Log, body: bytes, count: int) -> None:
    """Append a batch of records as they are, compressed."""
    batch = assemble_batch(body, BatchFields(codec=Codec.ZSTD), (0, count - 1), (NOW_MS, NOW_MS), count)
    log.append(memoryview(batch), 3, NOW_MS, AppendOrigin.COORDINATOR)


def test_a_batch_of_more_records_than_its_topic_takes_is_refused() -> None:
    """A few kilobytes of zstd can be 14 million records, which would hold up all other logs for minutes."""
    fs = MemoryFiles()
    log = a_log(fs, max_message_bytes=1_000)
    append(log, (b"a", b"1"))
    append_body(log, RECORD * (LEAST_RECORDS_LIMIT + 1), LEAST_RECORDS_LIMIT + 1)
    close_segment(log)
    before = contents(fs)
    with pytest.raises(RoundFailedError, match=rf"\.log: the batch at byte \d+ \(offset 1\).* has {2**16 + 1} records"):
        compact_log(log)
    assert contents(fs) == before


def test_a_batch_that_decompresses_to_more_than_its_topic_takes_is_refused() -> None:
    """The bound is that for batches which are produced."""
    log = a_log(MemoryFiles(), max_message_bytes=1_000)
    append_body(log, RECORD * 2 + bytes(LEAST_DECOMPRESSED_LIMIT), 2)
    close_segment(log)
    with pytest.raises(RoundFailedError, match=f"decompress to more than {LEAST_DECOMPRESSED_LIMIT} bytes"):
        compact_log(log)


def test_a_batch_from_when_its_topic_took_larger_ones_is_compacted() -> None:
    """What counts is the larger of the topic's largest batch and the batch itself."""
    log = a_log(MemoryFiles(), max_message_bytes=1_000, segment_bytes=1 << 20)
    count = LEAST_RECORDS_LIMIT + 1
    batch = assemble_batch(RECORD * count, BatchFields(), (0, count - 1), (NOW_MS, NOW_MS), count)
    log.append(memoryview(batch), 3, NOW_MS, AppendOrigin.COORDINATOR)
    close_segment(log)
    assert compact_log(log) is not None


def test_a_log_of_much_work_takes_several_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that others have their turn; the rounds together do what one would have done."""
    monkeypatch.setattr(workload, "STEPS_OF_A_ROUND", 5)
    fs = MemoryFiles()
    log = a_log(fs)
    for number in range(8):
        append(log, (b"a", b"%d" % number), (b"b", None if number == 7 else b"%d" % number), codec=Codec.GZIP)
    close_segment(log)
    last = read_batches(log)[-1]
    ends: list[int] = []
    while True:
        outcome = compact_log(log, ends[-1] if ends else None)
        if outcome is None:
            break
        ends.append(outcome.end_offset)
        if len(ends) == 1:
            assert read_batches(log)[-1] == last  # not looked at yet, so not even its tombstone has its horizon
    assert ends == [6, 12, 16]
    assert read_pairs(log) == [(14, b"a", b"7"), (15, b"b", None)]


def test_what_was_compacted_before_may_take_no_more_work_than_its_bytes_stand_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is read in every round: files that somebody has made could hold up all others each time."""
    log = a_log(MemoryFiles())
    append_body(log, RECORD * 60_000, 60_000)
    close_segment(log)
    append(log, (b"a", b"1"))
    close_segment(log)
    monkeypatch.setattr(workload, "STEPS_OF_A_ROUND", 1_000)
    said = re.escape("(offset 0) cannot be read: The records up to here take more work than their bytes stand for")
    with pytest.raises(RoundFailedError, match=said):
        compact_log(log, checkpoint=60_000)
