"""A shard's log is read back as it was written: the last record of each key, and nothing that is not sure."""

import random
import struct
from typing import NamedTuple
from uuid import UUID

import pytest

from odradek.broker.coordinator.effects import CoordinatorRecord
from odradek.broker.coordinator.loader import Loader
from odradek.broker.groups.offsets import OffsetStore
from odradek.broker.groups.playback import GroupPlayback
from odradek.broker.groups.records import (
    OffsetAndMetadata,
    OffsetKey,
    encode_committed,
    encode_offset_key,
    encode_record,
)
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue
from odradek.protocol.records.batch import HEADER_SIZE, LOG_OVERHEAD, Codec, compute_crc, iter_batches
from odradek.protocol.records.building import BatchFields, build_batch, make_records
from odradek.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from odradek.protocol.records.legacy_building import build_message, build_wrapper
from odradek.protocol.records.record import Record as LogRecord
from odradek.storage.producers.producer_state import AppendOrigin
from tests.support.logs import NOW_MS, open_at, small_config
from tests.support.memory_files import MemoryFiles

Pair = tuple[bytes | None, bytes | None]
KEY = OffsetKey("g", "t", 0)


def commit(offset: int, key: OffsetKey = KEY, metadata: str = "") -> Pair:
    committed = OffsetAndMetadata(offset, 0, metadata, NOW_MS, topic_id=UUID(int=5))
    return encode_offset_key(key), encode_committed(committed)


def group(name: str, generation: int) -> Pair:
    return encode_record(CoordinatorRecord(GroupMetadataKey(group=name), GroupMetadataValue(generation=generation)))


class Read(NamedTuple):
    """What a log is read into."""

    store: OffsetStore
    playback: GroupPlayback
    loader: Loader


class Written:
    """A log to be read back."""

    def __init__(self, segment_bytes: int = 2000) -> None:
        files = MemoryFiles()
        files.mkdir("/data")
        files.mkdir("/data/spool-0")
        self.log = open_at(files, small_config(segment_bytes=segment_bytes))

    def append(self, *pairs: Pair, fields: BatchFields | None = None) -> None:
        batch = build_batch(make_records(pairs, NOW_MS), fields or BatchFields())
        self.log.append(batch, 0, NOW_MS, AppendOrigin.REPLICATION)  # transactions need no coordinator of theirs here

    def end(self, producer_id: int, committed: bool) -> None:
        marker = build_end_transaction_batch(EndTransactionMarker(committed, 0), producer_id, 0, NOW_MS)
        self.log.append_marker(marker, 0, NOW_MS, 0)

    def read(self, chunk_bytes: int = 1 << 20) -> Read:
        reading = self.reading(chunk_bytes)
        while not reading.loader.is_at_end:
            for _ in reading.loader.take(reading.loader.next_chunk()()):
                pass
        return reading

    def reading(self, chunk_bytes: int = 1 << 20) -> Read:
        store = OffsetStore()
        playback = GroupPlayback(store, "spool-0")
        return Read(store, playback, Loader(self.log, playback, chunk_bytes))


def offset_in(store: OffsetStore, key: OffsetKey = KEY) -> int | None:
    found = store.get(*key)
    return None if found is None else found.offset


def test_the_last_commit_of_a_partition_counts() -> None:
    """Over batches, segments and chunks of any size."""
    written = Written()
    for offset in range(200):
        written.append(commit(offset), commit(offset * 2, KEY._replace(partition=1)))
    assert len(written.log.segments) > 1
    for chunk_bytes in (1, 100, 1 << 20):
        store, _, loader = written.read(chunk_bytes)
        assert offset_in(store) == 199
        assert offset_in(store, KEY._replace(partition=1)) == 398
        assert loader.records == 400


def test_tombstones_remove() -> None:
    """Offsets and groups."""
    written = Written()
    written.append(commit(1), group("g", 1))
    written.append((commit(1)[0], None), (group("g", 1)[0], None))
    store, playback, _ = written.read()
    assert offset_in(store) is None
    assert list(playback.group_records()) == []


def test_of_the_records_of_groups_the_last_ones_are_handed_out_in_the_order_of_the_log() -> None:
    """As a compacted log would have them."""
    written = Written()
    written.append(group("a", 1), group("b", 1))
    written.append(group("c", 1), group("a", 2))
    _, playback, _ = written.read()
    found = [(record.key, record.value) for record in playback.group_records()]
    assert [key.group for key, _ in found if isinstance(key, GroupMetadataKey)] == ["b", "c", "a"]
    assert [value.generation for _, value in found if isinstance(value, GroupMetadataValue)] == [1, 1, 2]


@pytest.mark.parametrize("codec", list(Codec))
def test_compressed_batches_are_read(codec: Codec) -> None:
    """offsets.topic.compression.codec may be any."""
    written = Written()
    written.append(commit(1), commit(2), fields=BatchFields(codec=codec))
    assert offset_in(written.read().store) == 2


def test_records_of_any_size_are_read() -> None:
    """Long metadata, long names, records with headers: whatever the quick reader does not take."""
    randomness = random.Random(4)
    written = Written()
    expected = {}
    for offset in range(60):
        key = OffsetKey("g" * randomness.choice([1, 31, 32, 200]), "t" * randomness.choice([1, 60, 249]), offset)
        written.append(commit(offset, key, "m" * randomness.choice([0, 1, 100, 127, 128, 1000])))
        expected[key] = offset
    store, _, _ = written.read()
    assert {key: offset_in(store, key) for key in expected} == expected


def test_what_no_reader_knows_is_skipped() -> None:
    """Types of later versions, share groups, keys that do not parse, values of unknown versions, no key at all."""
    written = Written()
    written.append((struct.pack(">h", 99) + b"x", b"\0\0"), (b"", b"x"), (b"\0", b"x"), (None, b"x"))
    written.append((b"\0\x02\0\x01g", b"\0\x63"), (b"\0\x01\0\x05", b"\0\x04"), commit(3))
    store, playback, _ = written.read()
    assert offset_in(store) == 3
    assert list(playback.group_records()) == []


def test_a_transaction_counts_when_its_marker_says_so() -> None:
    """Committed ones only; what is open stays open."""
    written = Written()

    def fields(producer_id: int) -> BatchFields:
        return BatchFields(producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)

    written.append(commit(1))
    written.append(commit(2), fields=fields(1))
    written.append(commit(3, KEY._replace(partition=1)), fields=fields(2))
    written.append(commit(4, KEY._replace(partition=2)), fields=fields(3))
    written.end(1, committed=True)
    written.end(2, committed=False)
    store, _, _ = written.read()
    assert offset_in(store) == 2
    assert offset_in(store, KEY._replace(partition=1)) is None
    assert offset_in(store, KEY._replace(partition=2)) is None
    assert store.is_pending("g", "t", 2)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [None, Codec.GZIP])
def test_what_an_old_kafka_wrote_is_read(magic: int, codec: Codec | None) -> None:
    """Before 0.11 the log consisted of messages, or of wrappers of them; damage is found in them, too."""
    written = Written()
    pairs = [commit(1), group("g", 1), commit(2), (group("gone", 1)[0], None)]
    records = [LogRecord(offset, NOW_MS, *pair) for offset, pair in enumerate(pairs)]
    if codec is None:
        entries = [build_message(record, magic) for record in records]
    else:
        entries = [build_wrapper(records, magic, codec)]
    store, playback, loader = written.reading()
    list(loader.take(b"".join(entries)))
    assert offset_in(store) == 2
    assert [record.key for record in playback.group_records()] == [GroupMetadataKey(group="g")]
    damaged = bytearray(entries[-1])
    damaged[-1] ^= 1
    with pytest.raises(KafkaError):
        list(written.reading().loader.take(bytes(damaged)))


def test_batches_that_compaction_left_empty_are_passed_over() -> None:
    """They only keep the state of a producer."""
    written = Written()
    written.append(commit(1))
    written.append(commit(2))
    chunk = bytearray(written.reading().loader.next_chunk()())
    [(_, first), (second, header)] = iter_batches(chunk)
    emptied = bytearray(chunk[second : second + HEADER_SIZE])
    emptied[8:12] = (HEADER_SIZE - LOG_OVERHEAD).to_bytes(4, "big")
    emptied[57:61] = bytes(4)
    emptied[17:21] = compute_crc(memoryview(emptied)).to_bytes(4, "big")
    store, _, loader = written.reading()
    list(loader.take(bytes(chunk[:second] + emptied)))
    assert (offset_in(store), loader.is_at_end) == (1, True)
    assert header.next_offset == written.log.log_end_offset == first.next_offset + 1


def test_damage_is_not_read_over() -> None:
    """A wrong offset would be worse than none."""
    written = Written()
    written.append(commit(1))
    loader = written.reading().loader
    chunk = bytearray(loader.next_chunk()())
    chunk[-3] ^= 1
    with pytest.raises(KafkaError):
        list(loader.take(bytes(chunk)))
    with pytest.raises(KafkaError):
        list(written.reading().loader.take(bytes(chunk[:30])))


def test_an_empty_log_is_read_at_once() -> None:
    """There is nothing to wait for."""
    assert Written().reading().loader.is_at_end


def test_others_get_their_turn() -> None:
    """Thousands of records are taken in slices."""
    written = Written(1 << 20)
    for _ in range(30):
        written.append(*(commit(offset) for offset in range(100)))
    loader = written.reading().loader
    slices = 0
    while not loader.is_at_end:
        slices += sum(1 for _ in loader.take(loader.next_chunk()()))
    assert loader.records == 3000
    assert slices >= 1
