"""Conversion between the formats: nothing is lost but what has no place, and no bytes do more than be refused."""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import Codec, check_crc, compute_crc, iter_batches, read_header
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.conversion import down_convert
from odradek.protocol.records.errors import (
    CorruptRecord,
    DecompressionError,
    InvalidRecord,
    TooMuchData,
    UnsupportedCompression,
)
from odradek.protocol.records.legacy_building import build_message_set
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record, iter_records
from odradek.storage.validation import RejectedRecords, ValidationRules, convert_message_set, validate_client_batch
from odradek.storage.validation.errors import MessageTooLarge
from odradek.storage.validation.messages import Allowance
from tests.property.records_strategies import NOW, damage, examples, record_lists
from tests.property.test_records_legacy import entries, kafka_python, plain
from tests.unit.protocol.records.legacy_handmade import gzip_wrapper

ROOM = 1 << 24
RULES = ValidationRules(max_message_bytes=ROOM)
codecs = st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
magics = st.sampled_from([0, 1])
DOCUMENTED = (CorruptRecord, InvalidRecord, DecompressionError, TooMuchData, UnsupportedCompression)
REFUSED = (*DOCUMENTED, RejectedRecords, MessageTooLarge)


@given(made=record_lists(), magic=magics, codec=codecs, target=st.none() | st.sampled_from(list(Codec)))
@examples(60)
def test_a_message_set_is_stored_whole(made: list[Record], magic: int, codec: Codec, target: Codec | None) -> None:
    """The batch that is stored has the records that came, passes validation unchanged, and has the wanted codec."""
    rules = replace(RULES, codec=target)
    batch = convert_message_set(build_message_set(made, magic, codec), rules, NOW)
    assert batch is not None
    valid = validate_client_batch(bytearray(batch), rules, NOW)
    assert bytes(valid.data) == bytes(batch)
    check_crc(valid.data, valid.header)
    assert list(iter_records(valid.data)) == plain(made, magic)
    assert valid.header.codec == (codec if target is None else target)


@given(
    made=record_lists(),
    magic=magics,
    codec=codecs,
    base=st.integers(1, 1 << 40),
    data=st.data(),
)
@examples(80)
def test_a_batch_is_read_by_old_clients(
    made: list[Record], magic: int, codec: Codec, base: int, data: st.DataObject
) -> None:
    """From any offset on, kafka-python and our own reader see the records of a batch in the old format."""
    records = [record._replace(offset=base + record.offset) for record in made]
    first = base + data.draw(st.integers(0, len(made) - 1))
    out, next_offset = down_convert(build_batch(records, BatchFields(codec=codec)), magic, first, ROOM)
    expected = [record for record in plain(records, magic) if record.offset >= first]
    assert [record for entry in entries(bytes(out)) for record in iter_entry_records(entry)] == expected
    assert next_offset == records[-1].offset + 1
    read = []
    for batch in kafka_python("MemoryRecords")(bytes(out)):
        assert batch.validate_crc()
        read += [Record(r.offset, r.timestamp if magic else -1, r.key, r.value) for r in batch]
    assert read == expected


@given(made=record_lists(), magic=magics, codec=codecs, limit=st.integers(1, 5000))
@examples(60)
def test_a_limit_cuts_between_messages(made: list[Record], magic: int, codec: Codec, limit: int) -> None:
    """Whatever the limit, what is made is whole, is the beginning of all there is, and is no more than needed."""
    batch = build_batch(made, BatchFields(codec=codec))
    out, _ = down_convert(batch, magic, 0, limit)
    found = entries(bytes(out))
    assert len(out) - len(found[-1]) < limit
    read = [record for entry in found for record in iter_entry_records(entry)]
    assert read == plain(made, magic)[: len(read)]


@given(made=record_lists(max_size=5), magic=magics, codec=codecs, data=st.data())
@examples(200)
def test_damaged_sets_are_refused_or_stored_whole(
    made: list[Record], magic: int, codec: Codec, data: st.DataObject
) -> None:
    """Any bytes in a produce request are refused with a documented error, or make a batch that is in order."""
    damaged = data.draw(damage(build_message_set(made, magic, codec)))
    try:
        batch = convert_message_set(damaged, RULES, NOW, Allowance(1 << 20))
    except REFUSED:
        return
    if batch is not None:
        validate_client_batch(bytearray(batch), RULES, NOW)


@given(made=record_lists(max_size=5), magic=magics, offset=st.integers(0, 10), data=st.data())
@examples(200)
def test_damage_inside_a_wrapper_is_refused(made: list[Record], magic: int, offset: int, data: st.DataObject) -> None:
    """What is wrapped is looked at as closely: only whole, undamaged messages are stored."""
    content = data.draw(damage(build_message_set(made, magic)))
    try:
        batch = convert_message_set(gzip_wrapper(content, magic, offset, NOW), RULES, NOW, Allowance(1 << 20))
    except REFUSED:
        return
    assert batch is not None
    valid = validate_client_batch(bytearray(batch), RULES, NOW)
    contents = [record[2:4] for record in plain(made, magic)]
    assert all(record[2:4] in contents for record in iter_records(valid.data))


@given(made=record_lists(max_size=5), magic=magics, codec=st.sampled_from(list(Codec)), data=st.data())
@examples(200)
def test_damaged_logs_are_refused_or_converted(
    made: list[Record], magic: int, codec: Codec, data: st.DataObject
) -> None:
    """Any bytes in a log, even with a checksum that is right, end in a documented error or in whole messages."""
    damaged = bytearray(data.draw(damage(bytes(build_batch(made, BatchFields(codec=codec))))))
    assume(len(damaged) > 61 and damaged[16] == 2)  # an old message is passed on as it is, damaged or not
    with_right_checksum(damaged)
    try:
        out, _ = down_convert(damaged, magic, data.draw(st.integers(0, 5)), 1 << 16, limit=1 << 20)
    except DOCUMENTED:
        return
    for position, header in iter_batches(out):
        list(iter_entry_records(bytes(out[position : position + header.size])))


def with_right_checksum(batch: bytearray) -> None:
    """Give the bytes the checksum that a batch of them would have, if they are long enough for what they say."""
    try:
        header = read_header(batch)
    except KafkaError:
        return
    if 61 <= header.size <= len(batch):
        batch[17:21] = compute_crc(memoryview(batch)[: header.size]).to_bytes(4, "big")
