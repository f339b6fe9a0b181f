"""Whatever bytes come, they are refused with the errors that are documented, or understood by all our readers alike."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import Codec, check_crc, compute_crc, iter_batches, read_header
from odradek.protocol.records.building import BatchFields, assemble_batch, build_batch
from odradek.protocol.records.compression import compress, decompress
from odradek.protocol.records.errors import CorruptRecord, DecompressionError, InvalidRecord, TooMuchData
from odradek.protocol.records.record import Record, iter_body, iter_records
from odradek.protocol.records.varint import encode_varint, read_varint
from odradek.storage.validation import ValidationRules, check_produce_records, validate_client_batch
from odradek.storage.validation.framing import check_framing
from odradek.storage.validation.records import look_at_records
from tests.property.records_strategies import NOW, damage, examples, record_lists

codecs = st.sampled_from(list(Codec))
DOCUMENTED = (CorruptRecord, InvalidRecord, DecompressionError, TooMuchData)
ROOMY = ValidationRules(max_message_bytes=1 << 24)
RULES = [
    ROOMY,
    ValidationRules(log_append_time=True),
    ValidationRules(compacted=True, codec=Codec.LZ4),
    ValidationRules(timestamp_before_max_ms=1000, timestamp_after_max_ms=1000, codec=Codec.NONE),
]


def body_of(made: list[Record]) -> bytes:
    """Return the encoded records without a header."""
    return bytes(build_batch(made)[61:])


def batch_around(body: bytes, count: int, codec: Codec = Codec.NONE, greatest: int = NOW) -> bytearray:
    """Return a batch with a right checksum around any bytes."""
    blob = compress(codec, body)
    batch = assemble_batch(blob, BatchFields(), (0, count - 1), (NOW, greatest), count)
    batch[22] |= codec
    batch[17:21] = compute_crc(memoryview(batch)).to_bytes(4, "big")
    return batch


@given(made=record_lists(), data=st.data())
@examples(300)
def test_the_quick_look_and_the_reader_agree(made: list[Record], data: st.DataObject) -> None:
    """The loop that validates and the one that reads take the same bytes for records, and see the same in them."""
    body = data.draw(damage(body_of(made)))
    count = data.draw(st.sampled_from([len(made), len(made) - 1, len(made) + 1]))
    if count < 1:
        return
    header = read_header(batch_around(body, count))
    try:
        read = list(iter_body(body, header))
    except InvalidRecord:
        read = None
    try:
        seen = look_at_records(body, 0, 0, count)
    except InvalidRecord:
        assert read is None
        return
    if seen.end != len(body):
        assert read is None
        return
    assert read is not None
    assert seen.least_delta == min(r.timestamp for r in read) - NOW
    assert seen.greatest_delta == max(r.timestamp for r in read) - NOW
    assert seen.in_order == ([r.offset for r in read] == list(range(count)))
    assert seen.keys == all(r.key is not None for r in read)
    assert look_at_records(memoryview(b"xxx" + body), 3, 0, count) == seen._replace(end=seen.end + 3)


def framed(body: bytes, count: int) -> int | None:
    """Return where the last of so many length-prefixed pieces starts if they fill the body, the plain way."""
    position = last = 0
    try:
        for _ in range(count):
            last = position
            length, position = read_varint(body, position)
            position += length
            if length < 0:
                return None
    except InvalidRecord:
        return None
    return last if position == len(body) else None


@given(made=record_lists(max_size=60), data=st.data())
@examples(300)
def test_framing_is_what_the_lengths_say(made: list[Record], data: st.DataObject) -> None:
    """Comparing lengths in rows finds exactly what stepping from one to the next finds."""
    body = data.draw(damage(body_of(made)))
    count = max(1, len(made) + data.draw(st.sampled_from([0, 0, 0, -1, 1])))
    expected = framed(body, count)
    for view, shift in ((body, 0), (memoryview(b"xx" + body), 2)):
        try:
            found = check_framing(view, shift, len(view), count)
        except InvalidRecord:
            assert expected is None
        else:
            assert expected is not None
            assert found == expected + shift


@given(sizes=st.lists(st.sampled_from([3, 3, 3, 3, 70, 70, 71, 8200]), min_size=1, max_size=400))
@examples(100)
def test_framing_of_rows_of_all_kinds(sizes: list[int]) -> None:
    """Rows of equal lengths, of one, two and three bytes, in any mixture, are accepted, and nothing around them."""
    body = b"".join(encode_varint(size) + bytes(size) for size in sizes)
    assert check_framing(body, 0, len(body), len(sizes)) == framed(body, len(sizes))
    for count in (len(sizes) - 1, len(sizes) + 1):
        if count and framed(body, count) is None:
            with pytest.raises(InvalidRecord):
                check_framing(body, 0, len(body), count)


@given(made=record_lists(), data=st.data(), codec=codecs, rules=st.sampled_from(RULES))
@examples(300)
def test_validation_refuses_or_stores_something_sound(
    made: list[Record], data: st.DataObject, codec: Codec, rules: ValidationRules
) -> None:
    """A damaged batch with a right checksum is refused with a Kafka error, or what is stored has the count it says."""
    body = data.draw(damage(body_of(made)))
    greatest = data.draw(st.sampled_from([max(r.timestamp for r in made), NOW, -1, NOW + 10**9]))
    batch = batch_around(body, len(made), codec, greatest)
    try:
        stored = validate_client_batch(memoryview(batch), rules, NOW)
    except KafkaError:
        return
    check_crc(stored.data, stored.header)
    assert stored.header == read_header(stored.data)
    plain = decompress(stored.header.codec, stored.data[61:])
    assert framed(plain, len(made)) is not None
    if len(made) <= 16:
        found = list(iter_records(stored.data))
        assert [r.offset for r in found] == list(range(len(made)))
        assert stored.max_timestamp == (NOW if rules.log_append_time else max(-1, *(r.timestamp for r in found)))


@given(data=st.binary(max_size=200), version=st.integers(3, 13))
@examples(200)
def test_noise_gives_documented_errors_only(data: bytes, version: int) -> None:
    """Bytes that mean nothing are refused by every reader with an error of ours."""
    for read in (
        lambda: check_produce_records(memoryview(data), version),
        lambda: validate_client_batch(memoryview(bytearray(data)), ROOMY, NOW),
        lambda: list(iter_batches(data)),
        lambda: list(iter_records(data)),
    ):
        with suppress(*DOCUMENTED):
            read()


@given(made=record_lists(max_size=5), data=st.data(), codec=codecs)
@examples(200)
def test_damaged_batches_give_documented_errors_only(made: list[Record], data: st.DataObject, codec: Codec) -> None:
    """A batch that is damaged anywhere, header included, is refused with an error of ours or read."""
    damaged = data.draw(damage(bytes(build_batch(made, BatchFields(codec=codec)))))
    for read in (
        lambda: list(iter_batches(damaged)),
        lambda: list(iter_records(damaged, limit=1 << 20)),
        lambda: validate_client_batch(memoryview(bytearray(damaged)), ROOMY, NOW),
    ):
        with suppress(*DOCUMENTED):
            read()


@given(content=st.binary(max_size=2000), codec=codecs, data=st.data())
@examples(300)
def test_decompression_gives_documented_errors_only(content: bytes, codec: Codec, data: st.DataObject) -> None:
    """Damaged compressed data is refused or decompresses to at most the limit."""
    damaged = data.draw(damage(compress(codec, content)))
    with suppress(DecompressionError, TooMuchData):
        assert len(decompress(codec, damaged, limit=4000)) <= 4000
