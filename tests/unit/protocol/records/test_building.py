"""Building batches: header fields follow from the records, and the bytes are those that others write."""

import pytest

from odradek.protocol.records.batch import Codec, check_crc, read_header
from odradek.protocol.records.building import BatchFields, build_batch, make_records
from odradek.protocol.records.record import Record, iter_records
from tests.unit.protocol.records import golden
from tests.unit.protocol.records.handmade import HandmadeBatch, HandmadeRecord


def test_a_plain_batch_is_made_as_by_hand() -> None:
    """Base offset and base timestamp are the first record's; the greatest timestamp need not be the last's."""
    batch = build_batch(
        [Record(7, 100, b"a", b"1"), Record(8, 105, None, b"2"), Record(9, 90, b"c", None, ((b"h", b""),))]
    )
    body = (
        HandmadeRecord(0, 0, b"a", b"1").encode()
        + HandmadeRecord(1, 5, None, b"2").encode()
        + HandmadeRecord(2, -10, b"c", None, [(b"h", b"")]).encode()
    )
    assert batch == HandmadeBatch(body, 3, base_offset=7, base_timestamp=100, max_timestamp=105).encode()


def test_all_fields_are_written() -> None:
    """Producer, epoch, sequence, leader epoch and flags stand in the header."""
    fields = BatchFields(
        leader_epoch=3, producer_id=4, producer_epoch=5, base_sequence=6, transactional=True, control=True
    )
    header = read_header(build_batch(make_records([(b"k", b"v")], 10), fields))
    assert (header.partition_leader_epoch, header.producer_id, header.producer_epoch, header.base_sequence) == (
        3,
        4,
        5,
        6,
    )
    assert header.attributes == 0x30


def test_an_append_time_is_the_greatest_timestamp() -> None:
    """With it, the bit says whose time it is; what the records said stays in their bytes."""
    batch = build_batch(make_records([(b"k", b"v")], 10), BatchFields(log_append_time_ms=99))
    header = read_header(batch)
    assert (header.is_log_append_time, header.base_timestamp, header.max_timestamp) == (True, 10, 99)
    assert [r.timestamp for r in iter_records(batch)] == [99]


def test_compaction_keeps_offsets_and_sets_a_horizon() -> None:
    """A batch from which records were removed has its old first and last offset, gaps, and deltas from the horizon."""
    kept = [Record(12, 500, b"k", None), Record(15, 510, b"l", b"v")]
    fields = BatchFields(base_offset=10, last_offset=19, delete_horizon_ms=9000)
    batch = build_batch(kept, fields)
    header = read_header(batch)
    assert (header.base_offset, header.last_offset, header.records_count) == (10, 19, 2)
    assert (header.delete_horizon_ms, header.max_timestamp) == (9000, 510)
    assert list(iter_records(batch)) == kept


def test_an_emptied_batch_is_a_header() -> None:
    """It has no codec whatever its records had, no base timestamp, and both offsets."""
    batch = build_batch(
        [], BatchFields(base_offset=10, last_offset=19, codec=Codec.ZSTD, producer_id=1, base_sequence=4)
    )
    header = read_header(batch)
    assert (header.size, header.codec, header.base_timestamp, header.records_count) == (61, 0, -1, 0)
    assert (header.base_offset, header.last_offset, header.base_sequence) == (10, 19, 4)
    assert list(iter_records(batch)) == []


@pytest.mark.parametrize("codec", list(Codec))
def test_every_codec(codec: Codec) -> None:
    """Records come back from a batch of any codec, and the checksum is that of the compressed bytes."""
    made = make_records([(b"key%d" % i, b"value " * i) for i in range(100)], 1000, first_offset=5)
    batch = build_batch(made, BatchFields(codec=codec))
    header = read_header(batch)
    assert header.codec == codec
    check_crc(memoryview(batch), header)
    assert list(iter_records(batch)) == made


@pytest.mark.parametrize("name", ["JAVA_NONE", "LIBRDKAFKA_NONE"])
def test_uncompressed_batches_of_producers_are_made_again_byte_by_byte(name: str) -> None:
    """The same records and fields make the same bytes as the Java producer and librdkafka did."""
    data = getattr(golden, name)
    header = read_header(data)
    fields = BatchFields(
        leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
    )
    assert build_batch(list(iter_records(data)), fields) == data


@pytest.mark.parametrize("name", ["JAVA_SNAPPY", "LIBRDKAFKA_LZ4"])
def test_compressed_batches_of_producers_are_made_again(name: str) -> None:
    """Snappy and LZ4 leave a compressor no choice in so small a batch, so even these bytes are the same."""
    data = getattr(golden, name)
    header = read_header(data)
    fields = BatchFields(
        codec=Codec(header.codec),
        leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
    )
    assert build_batch(list(iter_records(data)), fields) == data
