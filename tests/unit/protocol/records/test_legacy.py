"""Messages of versions 0 and 1: their layout, and what is in a wrapper."""

import pytest

from odradek.protocol.records.batch import Codec
from odradek.protocol.records.compression import compress
from odradek.protocol.records.errors import CorruptRecord, DecompressionError, InvalidRecord, TooMuchData
from odradek.protocol.records.legacy import check_message_crc, read_message
from odradek.protocol.records.legacy_building import build_message, build_message_set, build_wrapper, message_size
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record
from tests.unit.protocol.records.legacy_handmade import gzip_wrapper, message


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize(("key", "value"), [(b"key", b"value"), (None, None), (b"", b""), (None, b"x" * 3000)])
def test_a_message_is_built_as_the_format_says(magic: int, key: bytes | None, value: bytes | None) -> None:
    """The bytes of a message are those that the layout gives for its fields."""
    made = build_message(Record(5, 777, key, value), magic)
    assert made == message(magic, 5, 777, key, value)
    assert len(made) == message_size(key, value, magic)


@pytest.mark.parametrize("magic", [0, 1])
def test_a_plain_message_is_one_record(magic: int) -> None:
    """A message that is not compressed is the record at its own offset; version 0 has no timestamp."""
    records = list(iter_entry_records(message(magic, 42, 777)))
    assert records == [Record(42, 777 if magic else -1, b"k", b"v")]


def test_the_smallest_messages_have_14_and_22_bytes() -> None:
    """Null key and null value make the least length: 14 bytes in version 0, 22 in version 1."""
    assert read_message(message(0, key=None, value=None)).length == 14
    assert read_message(message(1, key=None, value=None)).length == 22


@pytest.mark.parametrize(
    "data",
    [
        b"",
        message(0)[:20],
        message(1)[:-1],
        message(0, length=13),
        message(0, length=-1),
        message(1, key=None, value=None, length=21),
        message(0, length=1 << 30),
    ],
)
def test_a_message_of_an_impossible_size_is_corrupt(data: bytes) -> None:
    """A size below the version's least one, or beyond the data, is damage."""
    with pytest.raises(CorruptRecord):
        list(iter_entry_records(data))


@pytest.mark.parametrize("at", [18, 23])
def test_fields_that_do_not_fit_are_refused(at: int) -> None:
    """A key or a value that is longer than what is left of the message makes the message invalid."""
    data = bytearray(message(0, key=b"k", value=b"vv"))
    data[at : at + 4] = (1000).to_bytes(4, "big")
    with pytest.raises(InvalidRecord):
        read_message(bytes(data))


def test_any_negative_length_is_null() -> None:
    """A length below zero means null, whatever the number, as in Kafka; so does what follows the value mean nothing."""
    data = bytearray(message(0, key=None, value=None, tail=b"more"))
    data[18:22] = (-7 & 0xFFFFFFFF).to_bytes(4, "big")
    read = read_message(bytes(data))
    assert (read.key, read.value) == (None, None)


def test_the_checksum_covers_all_from_the_magic_byte_on() -> None:
    """A flipped bit anywhere after the checksum, or in it, is found."""
    data = message(1, 9)
    check_message_crc(data)
    for at in range(12, len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 4
        with pytest.raises(CorruptRecord):
            check_message_crc(bytes(damaged))


def test_a_message_too_small_for_its_version_is_corrupt() -> None:
    """A message of version 1 with fewer than 22 bytes is corrupt although its checksum is right."""
    with pytest.raises(CorruptRecord):
        check_message_crc(message(0, key=None, value=None)[:12] + b"\1" * 14)


def test_offsets_in_a_wrapper_of_version_1_are_relative() -> None:
    """The last message inside has the wrapper's offset, the others lie before it by as much as they say."""
    content = message(1, 0) + message(1, 2) + message(1, 5)
    assert [record.offset for record in iter_entry_records(gzip_wrapper(content, offset=105))] == [100, 102, 105]


def test_a_wrapper_of_version_1_with_offset_0_begins_at_0() -> None:
    """Some clients send every wrapper with offset 0: offsets inside count as they are."""
    content = message(1, 0) + message(1, 1)
    assert [record.offset for record in iter_entry_records(gzip_wrapper(content, offset=0))] == [0, 1]


def test_a_wrapper_before_its_own_content_is_refused() -> None:
    """A wrapper whose offset is smaller than the last one inside, and not 0, is invalid."""
    with pytest.raises(InvalidRecord, match="invalid wrapper offset"):
        list(iter_entry_records(gzip_wrapper(message(1, 0) + message(1, 9), offset=5)))


def test_offsets_in_a_wrapper_of_version_0_are_absolute() -> None:
    """Messages inside have the offsets that they have in the log."""
    content = message(0, 100) + message(0, 102)
    assert [record.offset for record in iter_entry_records(gzip_wrapper(content, 0, 102))] == [100, 102]


def test_the_append_time_of_a_wrapper_is_that_of_all_its_records() -> None:
    """With LogAppendTime the wrapper's timestamp counts, else each message's own."""
    content = message(1, 0, 5) + message(1, 1, 6)
    assert [r.timestamp for r in iter_entry_records(gzip_wrapper(content, 1, 1, 99, log_append_time=True))] == [99, 99]
    assert [r.timestamp for r in iter_entry_records(gzip_wrapper(content, 1, 1, 99))] == [5, 6]


@pytest.mark.parametrize("cut", [1, 11, 12, 25])
def test_a_message_that_is_cut_off_ends_the_content(cut: int) -> None:
    """What is inside a wrapper may end with a part of a message, which is left out."""
    last = message(0, 2)
    content = message(0, 1) + last[:cut]
    assert [record.offset for record in iter_entry_records(gzip_wrapper(content, 0, 2))] == [1]


@pytest.mark.parametrize("content", [b"", b"\0" * 11, message(1)[:-1]])
def test_a_wrapper_of_nothing_is_refused(content: bytes) -> None:
    """There must be one whole message inside."""
    with pytest.raises(InvalidRecord, match="no inner records"):
        list(iter_entry_records(gzip_wrapper(content)))


def test_a_size_inside_a_wrapper_that_no_message_has_is_corrupt() -> None:
    """A size below 14 cannot be stepped over."""
    with pytest.raises(CorruptRecord, match="minimum record overhead"):
        list(iter_entry_records(gzip_wrapper(message(1, 0) + message(1, 1, length=13), offset=1)))


def test_a_wrapper_needs_a_value_and_may_not_be_in_another() -> None:
    """Null is no compressed set, and what is inside must not be compressed again."""
    with pytest.raises(InvalidRecord, match="null value"):
        list(iter_entry_records(message(1, value=None, attributes=1)))
    with pytest.raises(InvalidRecord, match="must not be compressed"):
        list(iter_entry_records(gzip_wrapper(gzip_wrapper(message(1)))))


def test_zstd_is_not_for_old_messages() -> None:
    """The fourth codec came with version 2: it is refused in a message, and not written in one."""
    with pytest.raises(InvalidRecord):
        list(iter_entry_records(message(1, value=compress(Codec.ZSTD, message(1)), attributes=4)))
    with pytest.raises(Exception, match="zstd"):
        build_wrapper([Record(0, 1)], 1, Codec.ZSTD)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_does_not_decompress(codec: int) -> None:
    """Numbers above the codecs are refused like in a batch."""
    with pytest.raises(DecompressionError):
        list(iter_entry_records(message(1, value=b"x", attributes=codec)))


def test_decompression_is_bounded() -> None:
    """A wrapper that holds more than the limit is refused before more than that is allocated."""
    with pytest.raises(TooMuchData):
        list(iter_entry_records(gzip_wrapper(message(1, value=bytes(1 << 20))), limit=1 << 16))


def test_lz4_of_version_0_has_the_checksum_that_old_clients_expect() -> None:
    """The header of the frame carries a checksum over the magic number too in version 0, and the right one in 1."""
    records = [Record(0, 5, b"k", b"v" * 100)]
    value = read_message(build_wrapper(records, 0, Codec.LZ4)).value
    assert value is not None
    assert bytes(value[:7]).hex() == "04224d1860401a"
    value = read_message(build_wrapper(records, 1, Codec.LZ4)).value
    assert value is not None
    assert bytes(value[:7]).hex() == "04224d18604082"


def test_lz4_of_version_0_is_read_with_any_header_checksum() -> None:
    """Readers skip that byte in version 0, and look at it in version 1."""
    frame = compress(Codec.LZ4, message(0, 3) * 2)
    for checksum in (0x82, 0x1A, 0):
        value = frame[:6] + bytes([checksum]) + frame[7:]
        wrapper = message(0, 3, key=None, value=value, attributes=3)
        assert len(list(iter_entry_records(wrapper))) == 2
    value = compress(Codec.LZ4, message(1))
    with pytest.raises(DecompressionError):
        list(iter_entry_records(message(1, value=value[:6] + b"\x1a" + value[7:], attributes=3)))


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_a_set_is_read_as_it_was_built(magic: int, codec: Codec) -> None:
    """Offsets, timestamps (version 1), keys and values come back, wrapped or not."""
    records = [Record(70 + 2 * i, 1000 - i if magic else -1, b"k%d" % i, b"v" * i) for i in range(20)]
    data = build_message_set(records, magic, codec)
    read: list[Record] = []
    position = 0
    while position < len(data):
        entry = read_message(data, position)
        check_message_crc(data[position : position + entry.size])
        read += iter_entry_records(data[position : position + entry.size])
        position += entry.size
    assert read == records


def test_a_set_with_an_append_time_has_it_everywhere() -> None:
    """With LogAppendTime every message, and the wrapper, has the broker's time and says so."""
    records = [Record(0, 5), Record(1, 6)]
    for codec in (Codec.NONE, Codec.GZIP):
        data = build_message_set(records, 1, codec, log_append_time_ms=99)
        outer = read_message(data)
        assert outer.is_log_append_time
        assert outer.timestamp == 99
        assert {record.timestamp for record in iter_entry_records(data)} == {99}
    assert build_message_set([], 1, Codec.GZIP) == b""
