"""Files that were damaged while nobody looked: what is derived is made anew, and damaged records are never passed over.

A log with everything in it (transactions of two producers, one aborted and one committed, several leader epochs,
compression, four segments) is closed, damaged, opened, and asked everything.
"""

import random
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import Codec, check_crc, iter_batches
from odradek.protocol.records.building import BatchFields
from odradek.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from odradek.protocol.records.record import iter_records
from odradek.storage.errors import OutOfOrderSequence
from odradek.storage.log.log import Log
from tests.support.logs import DIRECTORY, NOW_MS, a_batch, check_log, open_with_findings, read_all, small_config
from tests.support.memory_files import MemoryFiles
from tests.support.timestamps import max_timestamp_record, offset_for_timestamp

CONFIG = small_config(segment_bytes=1500, index_interval_bytes=100, max_message_bytes=2000)
BATCHES = 36
PRODUCERS = (7, 9)

Damage = Callable[[bytes], bytes | None]
DAMAGES: dict[str, Damage] = {
    "missing": lambda content: None,
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "half": lambda content: content[: len(content) // 2],
    "without its last entry": lambda content: content[: -len(content) // 4],
    "zeroed": lambda content: bytes(len(content)),
    "garbage": lambda content: random.Random(7).randbytes(len(content)),
    "more": lambda content: content + random.Random(8).randbytes(37),
    "preallocated": lambda content: content + bytes(1000),
    "a flipped bit at the start": lambda content: _flip(content, 1),
    "a flipped bit in the middle": lambda content: _flip(content, len(content) // 2),
}
UNDETECTED = {("missing", ".txnindex"), ("a flipped bit in the middle", ".txnindex")}
"""What Kafka's format does not tell: there need not be an index of aborted transactions, and it has no checksum."""


def _flip(content: bytes, position: int) -> bytes:
    changed = bytearray(content)
    if changed:
        changed[min(position, len(changed) - 1)] ^= 0x10
    return bytes(changed)


def _fields(number: int, producer: int | None) -> BatchFields:
    codec = (Codec.NONE, Codec.GZIP, Codec.ZSTD)[number % 3]
    if producer is None:
        return BatchFields(codec=codec)
    return BatchFields(codec=codec, producer_id=producer, producer_epoch=0, base_sequence=number, transactional=True)


@cache
def _closed(clean: bool) -> MemoryFiles:
    """Return a disk with the log, closed in order or not."""
    fs = MemoryFiles()
    log, _ = open_with_findings(fs, CONFIG)
    log.producers.verify_transactions = False
    sequences = dict.fromkeys(PRODUCERS, 0)
    for number in range(BATCHES):
        producer = (*PRODUCERS, None)[number % 3]
        fields = _fields(sequences.get(producer or 0, 0), producer)
        values = [b"%d " % number * 9, b"second of %d" % number]
        log.append(a_batch(values, NOW_MS + 10 * number, fields), number // 12, NOW_MS)
        if producer is not None:
            sequences[producer] += 2
        if number % 9 == 8:
            for each in PRODUCERS:
                marker = build_end_transaction_batch(EndTransactionMarker(each == 9, 0), each, 0, NOW_MS + 10 * number)
                log.append_marker(marker, number // 12, NOW_MS, 0)
    assert len(log.segments) >= 4
    log.flush()
    if clean:
        log.close()
    return fs.crash(kept=1.0)


def _copy(fs: MemoryFiles) -> MemoryFiles:
    copy = MemoryFiles()
    copy.mkdir(DIRECTORY)
    for name in fs.listdir(DIRECTORY):
        copy.write_bytes(f"{DIRECTORY}/{name}", fs.read_bytes(f"{DIRECTORY}/{name}"))
    return copy


def _open(fs: MemoryFiles, clean: bool) -> tuple[Log, tuple[str, ...]]:
    end = _end()
    return open_with_findings(fs, CONFIG, clean=clean, recovery_point=end - 1)


@cache
def _end() -> int:
    return open_with_findings(_copy(_closed(True)), CONFIG, clean=True)[0].log_end_offset


def _answers(log: Log) -> dict[str, object]:
    """Ask the log everything that it answers from its derived files."""
    end = log.log_end_offset
    return {
        "records": read_all(log, 300),
        "offsets": [read_all(log, 1 << 20, offset)[0] for offset in _data_offsets(log)],
        "times": [offset_for_timestamp(log, NOW_MS + time, end) for time in range(-10, 10 * BATCHES + 10, 5)],
        "latest": max_timestamp_record(log, end),
        "sizes": [(segment.base_offset, segment.size, segment.max_timestamp) for segment in log.segments],
        "epochs": log.leader_epochs.entries,
        "aborted": [log.aborted_transactions(offset, end) for offset in range(0, end, 5)],
        "sequences": {number: entry.batches[-1][:3] for number, entry in log.producers.entries.items()},
    }


def _data_offsets(log: Log) -> list[int]:
    """Offsets from which there is a record that is not only a marker."""
    last = read_all(log)[-1][0]
    return list(range(log.log_start_offset, last + 1))


@cache
def _undamaged(clean: bool) -> dict[str, object]:
    return _answers(_open(_copy(_closed(clean)), clean)[0])


def _derived(clean: bool) -> list[str]:
    return sorted(name for name in _closed(clean).listdir(DIRECTORY) if not name.endswith((".log", ".metadata")))


def _is_undetected(name: str, file: str) -> bool:
    return any(name == damage and file.endswith(suffix) for damage, suffix in UNDETECTED)


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
@pytest.mark.parametrize("name", DAMAGES)
def test_whatever_is_derived_is_derived_again(name: str, clean: bool) -> None:
    """Each file of each kind, of sealed segments and the active one: the answers are those of the undamaged log."""
    for file in _derived(clean):
        if _is_undetected(name, file):
            continue
        fs = _copy(_closed(clean))
        content = DAMAGES[name](fs.read_bytes(f"{DIRECTORY}/{file}"))
        if content is None:
            fs.unlink(f"{DIRECTORY}/{file}")
        else:
            fs.write_bytes(f"{DIRECTORY}/{file}", content)
        log, _ = _open(fs, clean)
        found = _answers(log)
        for question, expected in _undamaged(clean).items():
            assert found[question] == expected, (file, question)
        check_log(log)


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
@pytest.mark.parametrize("name", [name for name in DAMAGES if name != "missing"])
def test_everything_that_is_derived_at_once(name: str, clean: bool) -> None:
    """Indexes, snapshots and epochs all damaged alike."""
    fs = _copy(_closed(clean))
    for file in _derived(clean):
        if not _is_undetected(name, file):
            fs.write_bytes(f"{DIRECTORY}/{file}", DAMAGES[name](fs.read_bytes(f"{DIRECTORY}/{file}")) or b"")
    log, _ = _open(fs, clean)
    assert _answers(log) == _undamaged(clean)
    check_log(log)


@given(share=st.floats(0, 0.999999), bit=st.integers(0, 7), segment=st.integers(0, 10))
@example(share=0.92578125, bit=0, segment=1)  # the offset of the last batch of a segment that is followed by others
def test_flipped_bit_that_was_not_flushed_is_cut_off(share: float, bit: int, segment: int) -> None:
    """Wherever it is: the log ends before its batch, or all is there; what was cut is said.

    But for the offset of the very last batch: no checksum covers it, and nothing that follows contradicts it.
    """
    fs = _copy(_closed(False))
    path = f"{DIRECTORY}/{max(name for name in fs.listdir(DIRECTORY) if name.endswith('.log'))}"
    *_, (last, _) = iter_batches(fs.read_bytes(path))
    offset = fs.read_bytes(path)[last : last + 8]
    damaged = _flip_record_bit(fs, share, bit, segment)
    assume(fs.read_bytes(path)[last : last + 8] == offset)
    before = dict(read_all(_open(_copy(_closed(False)), False)[0]))
    log, findings = open_with_findings(fs, CONFIG, recovery_point=0)
    found = dict(read_all(log))
    assert found == {offset: value for offset, value in before.items() if offset < log.log_end_offset}
    assert (log.log_end_offset == _end()) or any(damaged in finding for finding in findings)
    check_log(log)


@given(share=st.floats(0, 0.999999), bit=st.integers(0, 7), segment=st.integers(0, 10))
def test_flipped_bit_below_the_recovery_point_never_makes_another_record(share: float, bit: int, segment: int) -> None:
    """A reader gets an error, or bytes of which the checksum is wrong, or every record as it was but for offsets.

    Offset, leader epoch and size of a batch are outside of its checksum; what a changed offset hides is found by
    `odradek log verify`.
    """
    fs = _copy(_closed(True))
    _flip_record_bit(fs, share, bit, segment)
    log, _ = _open(fs, True)
    written = {value for _, value in read_all(_open(_copy(_closed(True)), True)[0])}
    offset = 0
    while offset < log.log_end_offset:
        try:
            region = log.read(offset, 1 << 20, log.log_end_offset, at_least_one=True)
        except KafkaError:
            return
        if region.file is None:
            return
        data = region.file.pread(region.length, region.position)
        following = offset
        try:
            for at, header in iter_batches(data):
                batch = memoryview(data)[at : at + header.size]
                check_crc(batch, header)
                assert {value for _, value in _records(batch)} <= written
                following = max(following, header.next_offset)
        except KafkaError:
            return
        if following == offset:
            return  # clients say that a batch is incomplete
        offset = following


def _records(batch: memoryview) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for record in iter_records(batch)]


def _flip_record_bit(fs: MemoryFiles, share: float, bit: int, segment: int) -> str:
    names = sorted(name for name in fs.listdir(DIRECTORY) if name.endswith(".log"))
    path = f"{DIRECTORY}/{names[segment % len(names)]}"
    content = bytearray(fs.read_bytes(path))
    content[int(len(content) * share)] ^= 1 << bit
    fs.write_bytes(path, content)
    return path


def test_sequence_of_a_producer_is_known_after_all_that() -> None:
    """The log of these tests is one in which that matters."""
    log, _ = _open(_copy(_closed(True)), True)
    log.producers.verify_transactions = False
    with pytest.raises(OutOfOrderSequence):
        log.append(a_batch([b"x"], NOW_MS, _fields(5000, 7)), 3, NOW_MS)
