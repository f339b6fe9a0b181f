"""What is written in place of batches that lose records, and what stays byte for byte."""

from dataclasses import replace

import pytest

from odradek.protocol.records.batch import Codec, iter_batches, read_header
from odradek.protocol.records.building import BatchFields, assemble_batch, build_batch
from odradek.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from odradek.protocol.records.legacy_building import build_message, build_wrapper
from odradek.protocol.records.record import Record
from odradek.storage.compaction import entries, segment_rewrite
from odradek.storage.compaction.batches import empty_batch
from odradek.storage.compaction.planning import CleanerLimits
from odradek.storage.log.log import Log
from odradek.storage.names import LOG_SUFFIX
from odradek.storage.producers.producer_state import AppendOrigin
from tests.support.compaction import RoundFailedError, compact_log, read_batches, read_pairs
from tests.support.logs import DIRECTORY, NOW_MS, contents, open_at, small_config
from tests.support.memory_files import MemoryFiles

DAY_MS = 86_400_000
CODECS = list(Codec)


def a_log(fs: MemoryFiles, **changes: object) -> Log:
    """A compacted log."""
    log = open_at(fs, replace(small_config(**changes), cleanup_policy=frozenset({"compact"})))
    log.producers.verify_transactions = False
    return log


def append(log: Log, *pairs: tuple[bytes | None, bytes | None], **fields: object) -> None:
    """Append a batch whose records are a millisecond apart."""
    records = [Record(number, NOW_MS + number, *pair) for number, pair in enumerate(pairs)]
    batch = build_batch(records, BatchFields(**fields))  # type: ignore[arg-type]  # names and types are those of it
    log.append(memoryview(batch), 3, NOW_MS, AppendOrigin.COORDINATOR)


def close_segment(log: Log) -> None:
    """Let all that was appended be compacted."""
    log.roll(NOW_MS)
    log.flush()


@pytest.mark.parametrize("codec", CODECS)
def test_a_partly_emptied_batch_keeps_what_it_says(codec: Codec) -> None:
    """Offsets, sequence, producer, leader epoch, codec and times stay; count, checksum and largest time are new."""
    log = a_log(MemoryFiles())
    append(
        log,
        (b"a", b"1"),
        (b"b", b"2" * 300),
        (b"c", b"3"),
        (b"a", b"4"),
        codec=codec,
        producer_id=9,
        producer_epoch=2,
        base_sequence=40,
    )
    append(log, (b"a", b"5"))
    close_segment(log)
    [(before, _), _] = read_batches(log)
    compact_log(log)
    [(after, records), _] = read_batches(log)
    assert [(one.offset, one.timestamp, one.key) for one in records] == [
        (1, NOW_MS + 1, b"b"),
        (2, NOW_MS + 2, b"c"),
    ]
    kept = ("base_offset", "last_offset_delta", "base_sequence", "producer_id", "producer_epoch", "attributes")
    for name in (*kept, "partition_leader_epoch", "magic"):
        assert getattr(after, name) == getattr(before, name)
    assert after.records_count == 2
    assert after.max_timestamp == NOW_MS + 2


def test_batches_that_lose_nothing_are_copied_byte_for_byte() -> None:
    """Even if their neighbours go."""
    fs = MemoryFiles()
    log = a_log(fs)
    append(log, (b"a", b"1"))
    append(log, (b"b", b"2"), (b"c", b"3"), codec=Codec.ZSTD)
    append(log, (b"a", b"4"))
    close_segment(log)
    data = contents(fs)[f"{0:020d}{LOG_SUFFIX}"]
    spans = [(position, position + header.size) for position, header in iter_batches(data)]
    compact_log(log)
    assert contents(fs)[f"{0:020d}{LOG_SUFFIX}"] == data[spans[1][0] :]


def test_a_segment_in_which_nothing_changes_is_not_written_again() -> None:
    """Its files stay, and no others are left."""
    fs = MemoryFiles()
    log = a_log(fs)
    append(log, (b"a", b"1"))
    close_segment(log)
    before = contents(fs)
    outcome = compact_log(log)
    assert outcome is not None
    assert outcome.swaps == 0
    assert contents(fs) == before


def test_a_tombstone_gets_a_horizon_first_and_goes_then() -> None:
    """The first round that sees it sets the time; one after that removes it. Records keep their own times."""
    log = a_log(MemoryFiles())
    append(log, (b"a", b"1"), (b"b", None), (b"c", b"3"))
    close_segment(log)
    compact_log(log, now_ms=NOW_MS + 50)
    [(header, records)] = read_batches(log)
    assert header.delete_horizon_ms == NOW_MS + 50 + DAY_MS
    assert [one.timestamp for one in records] == [NOW_MS, NOW_MS + 1, NOW_MS + 2]
    assert header.max_timestamp == NOW_MS + 2
    compact_log(log, now_ms=NOW_MS + 49 + DAY_MS)
    assert len(read_pairs(log)) == 3
    compact_log(log, now_ms=NOW_MS + 50 + DAY_MS)
    [(header, records)] = read_batches(log)
    assert [(one.key, one.timestamp) for one in records] == [(b"a", NOW_MS), (b"c", NOW_MS + 2)]


def test_append_time_stays_the_time_of_all_records() -> None:
    """Also where a horizon is set, or records go."""
    log = a_log(MemoryFiles())
    append(log, (b"a", b"1"), (b"b", None), (b"a", b"3"), log_append_time_ms=NOW_MS + 7)
    close_segment(log)
    compact_log(log)
    [(header, records)] = read_batches(log)
    assert header.is_log_append_time
    assert header.max_timestamp == NOW_MS + 7
    assert [(one.offset, one.timestamp) for one in records] == [(1, NOW_MS + 7), (2, NOW_MS + 7)]


def test_an_emptied_batch_that_stays_says_who_and_how_far() -> None:
    """The last batch of a producer keeps its header: size 61, no codec, no records, no horizon."""
    log = a_log(MemoryFiles())
    append(log, (b"a", b"1"), (b"a", b"2"), codec=Codec.GZIP, producer_id=9, producer_epoch=1, base_sequence=5)
    append(log, (b"a", b"3"))
    append(log, (b"z", b"4"))
    close_segment(log)
    compact_log(log)
    (header, records), *_ = read_batches(log)
    assert (records, header.size, header.codec, header.base_timestamp) == ([], 61, Codec.NONE, -1)
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.last_offset) == (9, 1, 5, 1)
    assert header.max_timestamp == NOW_MS + 1


def test_markers_stay_with_their_records_and_then_for_a_time() -> None:
    """Committed records keep their marker; one without records gets a horizon, and goes after it."""
    log = a_log(MemoryFiles())
    transaction = {"producer_id": 9, "producer_epoch": 0, "transactional": True}
    append(log, (b"a", b"1"), base_sequence=0, **transaction)
    log.append_marker(build_end_transaction_batch(EndTransactionMarker(True, 0), 9, 0, NOW_MS), 3, NOW_MS, 1)
    append(log, (b"a", b"2"), base_sequence=1, **transaction)
    log.append_marker(build_end_transaction_batch(EndTransactionMarker(True, 0), 9, 0, NOW_MS), 3, NOW_MS, 1)
    append(log, (b"z", b"3"))
    close_segment(log)
    compact_log(log, now_ms=NOW_MS)
    markers = [header for header, _ in read_batches(log) if header.is_control]
    assert [(one.base_offset, one.delete_horizon_ms) for one in markers] == [(1, None), (3, None)]
    compact_log(log, now_ms=NOW_MS)
    markers = [header for header, _ in read_batches(log) if header.is_control]
    assert [(one.base_offset, one.delete_horizon_ms) for one in markers] == [(1, NOW_MS + DAY_MS), (3, None)]
    compact_log(log, now_ms=NOW_MS + DAY_MS)
    assert [header.base_offset for header, _ in read_batches(log)] == [2, 3, 4]


def test_aborted_records_go_at_once_and_their_index_follows() -> None:
    """Whatever their keys; as long as the marker stays because of them, the new segment's index has the transaction."""
    log = a_log(MemoryFiles())
    append(log, (b"only", b"1"), producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    append(log, (b"a", b"2"))
    log.append_marker(build_end_transaction_batch(EndTransactionMarker(False, 0), 9, 0, NOW_MS), 3, NOW_MS, 1)
    append(log, (b"b", b"3"))
    close_segment(log)
    compact_log(log)
    assert read_pairs(log) == [(1, b"a", b"2"), (3, b"b", b"3")]
    assert [one.first_offset for one in log.aborted_transactions(0, 10)] == [0]


@pytest.mark.parametrize("magic", [0, 1])
def test_old_entries_stay_of_their_version(magic: int) -> None:
    """Messages go or stay as they are; wrappers are made again around what stays, with their codec."""
    fs = MemoryFiles()
    log = a_log(fs)
    at = NOW_MS if magic else -1
    plain = [Record(0, at, b"a", b"1"), Record(1, at, b"b", b"2")]
    wrapped = [
        Record(2, at, b"a", b"3"),
        Record(3, at, b"c", b"4"),
        Record(4, at, None, b"5"),
        Record(5, at, b"d", b"6"),
    ]
    data = b"".join(build_message(record, magic) for record in plain) + build_wrapper(wrapped, magic, Codec.GZIP)
    log.append_as_follower(memoryview(data + build_wrapper([Record(6, at, b"c", b"7")], magic, Codec.LZ4)), NOW_MS)
    append(log, (b"z", b"8"))
    close_segment(log)
    compact_log(log)
    found = read_batches(log)
    assert [header.magic for header, _ in found] == [magic] * 3 + [2]
    assert [header.codec for header, _ in found] == [Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.NONE]
    assert read_pairs(log) == [(1, b"b", b"2"), (2, b"a", b"3"), (5, b"d", b"6"), (6, b"c", b"7"), (7, b"z", b"8")]
    assert [record.timestamp for _, records in found for record in records] == [at] * 4 + [NOW_MS]


@pytest.mark.parametrize(("at", "where"), [(66, "byte 0 "), (70, "byte 70 has the offsets"), (80, "byte 70")])
def test_damage_fails_the_round_and_leaves_nothing_behind(at: int, where: str) -> None:
    """A flipped byte is not blessed with a new checksum, nor a wrong offset, which none covers: the log stays."""
    fs = MemoryFiles()
    log = a_log(fs)
    append(log, (b"a", b"1"))
    append(log, (b"a", b"2"))
    close_segment(log)
    path = f"{DIRECTORY}/{0:020d}{LOG_SUFFIX}"
    data = bytearray(fs.read_bytes(path))
    data[at] ^= 1
    fs.open(path).pwrite(bytes(data), 0)
    before = contents(fs)
    with pytest.raises(RoundFailedError, match=f"{path}: .*{where}"):
        compact_log(log)
    assert contents(fs) == before


def test_a_full_disk_fails_the_round_and_leaves_nothing_behind() -> None:
    """What was written until then is removed: the space is needed."""
    fs = MemoryFiles()
    log = a_log(fs)
    for _ in range(5):
        append(log, (b"a", b"1" * 300))
    close_segment(log)
    before = contents(fs)
    fs.fail("write", path_part=".cleaned")
    with pytest.raises(RoundFailedError):
        compact_log(log)
    assert contents(fs) == before


def test_a_batch_of_very_many_records_is_filtered_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stays of it is the same as of a small one, with and without a delete horizon."""
    some = 4000  # 65,536 in earnest, which takes as many times longer to make
    for module in (entries, segment_rewrite):
        assert some < module.RECORDS_AT_A_TIME
        monkeypatch.setattr(module, "RECORDS_AT_A_TIME", some)
    count = 2 * some + 500
    for value in (b"", None):
        log = a_log(MemoryFiles(), segment_bytes=16 << 20)
        append(log, *[(b"%d" % number, value) for number in range(count)], codec=Codec.ZSTD)
        append(log, *[(b"%d" % number, b"new") for number in range(0, count, 2)], codec=Codec.ZSTD)
        close_segment(log)
        compact_log(log, limits=CleanerLimits(dedupe_buffer_bytes=16 << 20))
        [(header, records), _] = read_batches(log)
        assert [(one.offset, one.key) for one in records] == [(at, b"%d" % at) for at in range(1, count, 2)]
        assert [one.timestamp for one in records[-2:]] == [NOW_MS + count - 3 + count % 2, NOW_MS + count - 1]
        assert (header.delete_horizon_ms is None) == (value is not None)


def test_times_that_are_no_int64_end_the_round_and_not_the_process() -> None:
    """Base and delta of a record fit, but not their sum: the file is at fault, and is named."""
    log = a_log(MemoryFiles())
    record = b"\x20\0" + b"\xfe" + b"\xff" * 8 + b"\1" + b"\0\2%c\1\0"
    body = record % b"a" + record % b"b"
    fields = BatchFields(codec=Codec.NONE)
    batch = assemble_batch(body, fields, (0, 1), (NOW_MS, NOW_MS), 2)
    log.append(memoryview(batch), 3, NOW_MS, AppendOrigin.COORDINATOR)
    append(log, (b"a", b"5"))
    close_segment(log)
    with pytest.raises(RoundFailedError, match="no int64"):
        compact_log(log)


def test_a_batch_that_goes_whole_may_name_any_codec() -> None:
    """Nothing is compressed where no record stays."""
    batch = build_batch([Record(7, NOW_MS, b"a", b"1")], BatchFields(producer_id=3))
    header = read_header(batch)
    empty = empty_batch(header._replace(attributes=header.attributes | 7))
    assert read_header(empty).records_count == 0
    assert read_header(empty).codec == Codec.NONE
