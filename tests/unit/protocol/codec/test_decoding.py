"""What decoding gives, and that it refuses what is no message: nulls, counts, lengths, varints, tags, text."""

import tracemalloc

import pytest

from odradek.protocol.codec import DecodeError, Message, decode, encode, runtime
from odradek.protocol.codec.compiler import layout
from odradek.protocol.codec.decoder import compile_decoder
from tests.unit.protocol.codec.sample import Batches, Hollow, Hollows, Names, Node, Pair, Sample

FULL = Sample(
    flag=True,
    text="text",
    note="note",
    blob=b"blob",
    numbers=[1, 2, 3],
    flags=[True, False],
    names=["a", "b"],
    blobs=[b"c"],
    nodes=[Node(name="x"), Node(name=None)],
    first=Pair(left=1, right=2),
    second=Pair(left=3, right=4),
    option=Node(name="o"),
    tag_text="tag",
    tag_list=[7],
    tag_option=None,
    tag_node=Node(name="t", pair=Pair(left=5)),
)


def decode_hex(cls: type[Message], version: int, text: str) -> Message:
    """Decode bytes given in hex; they must be the whole message."""
    data = bytes.fromhex(text)
    message, end = decode(cls, data, version)
    assert end == len(data)
    return message


@pytest.mark.parametrize("version", [2, 3, 4])
def test_all_kinds_of_fields_come_back(version: int) -> None:
    """A message with everything in it decodes to itself."""
    frame = encode(FULL, version)
    assert decode(Sample, frame, version) == (FULL, len(frame))


def test_neighbouring_structs_keep_their_own_values() -> None:
    """Fields of fixed size are read in runs, but never across two structs of one depth."""
    message, _ = decode(Sample, encode(FULL, 0 + 2), 2)
    assert (message.first, message.second) == (Pair(left=1, right=2), Pair(left=3, right=4))


def test_fields_of_other_versions_hold_their_defaults() -> None:
    """Handlers see one class, whatever version came in."""
    message, _ = decode(Sample, encode(Sample(old=1, note="x"), 0), 0)
    assert (message.old, message.note, message.option) == (1, None, None)
    message, _ = decode(Sample, encode(Sample(old=1), 2), 2)
    assert message.old == 7


def test_absent_tags_leave_defaults_of_their_own() -> None:
    """A list or struct that was not sent is a fresh one in every message."""
    frame = encode(Sample(), 2)
    decode(Sample, frame, 2)[0].tag_list.append(1)
    assert decode(Sample, frame, 2)[0].tag_list == []


def test_what_follows_is_reported() -> None:
    """The position after the message is given back, from any offset, in bytes and views."""
    frame = encode(Names(names=["a"]), 1)
    assert decode(Names, b"--" + frame + b"rest", 1, 2) == (Names(names=["a"]), 2 + len(frame))
    records = encode(Batches(records=b"r"), 1)
    assert decode(Batches, memoryview(b"--" + records + b"rest"), 1, 2)[1] == 2 + len(records)


def test_records_are_views_of_the_frame() -> None:
    """Record bytes are not copied: they are the frame's own, and writing to them writes to it."""
    frame = bytearray(encode(Batches(name="n", records=b"records"), 1))
    message, _ = decode(Batches, memoryview(frame), 1)
    assert isinstance(message.records, memoryview)
    message.records[0] = ord("R")
    assert b"Records" in frame


def test_bytes_beside_records_are_copies() -> None:
    """Only records keep the frame alive."""
    message, _ = decode(Batches, memoryview(encode(Batches(blob=b"b", records=b"r"), 0)), 0)
    assert type(message.blob) is bytes


@pytest.mark.parametrize("byte", ["01", "02", "80", "ff"])
def test_any_byte_but_zero_is_true(byte: str) -> None:
    """As in Kafka, which compares with zero."""
    frame = bytearray(encode(Sample(), 0))
    frame[0] = int(byte, 16)
    assert decode(Sample, bytes(frame), 0)[0].flag is True


@pytest.mark.parametrize("length", ["ffff", "fffe", "8000"])
def test_any_negative_length_is_null(length: str) -> None:
    """As in Kafka, which asks for less than zero."""
    with pytest.raises(DecodeError, match="names is null"):
        decode_hex(Names, 0, "00000001" + length)


@pytest.mark.parametrize(
    ("version", "frame"),
    [
        pytest.param(0, "ffffffff", id="plain list"),
        pytest.param(1, "00 00", id="compact list"),
        pytest.param(0, "00000001 ffff", id="plain text in a list"),
        pytest.param(1, "02 00 00", id="compact text in a list"),
    ],
)
def test_null_is_refused_where_none_may_be(version: int, frame: str) -> None:
    """A null that the version does not know is no value."""
    with pytest.raises(DecodeError, match=f"Names v{version}: names is null"):
        decode_hex(Names, version, frame)


@pytest.mark.parametrize(
    ("version", "frame"),
    [
        pytest.param(0, "7fffffff", id="plain"),
        pytest.param(0, "00000003 0000 0000", id="one more than there is"),
        pytest.param(1, "ffffffff0f", id="compact"),
        pytest.param(1, "05 01 01 00", id="compact, one more than there is"),
    ],
)
def test_counts_beyond_the_bytes_are_refused_before_anything_is_made(version: int, frame: str) -> None:
    """A count is compared with the bytes that remain, each element taken at its smallest."""
    with pytest.raises(DecodeError, match="names declares"):
        decode_hex(Names, version, frame)


def test_elements_without_bytes_are_bounded_too() -> None:
    """A struct with no field in a version takes no byte, so its count is held to one byte each."""
    assert decode(Hollow, bytes.fromhex("00000000"), 0)[0] == Hollow()
    tracemalloc.start()
    with pytest.raises(DecodeError, match="empties declares 2147483647 elements"):
        decode(Hollow, bytes.fromhex("7fffffff") + bytes(1000), 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


@pytest.fixture
def limit_of_100(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoders compiled now let 100 elements pass."""
    monkeypatch.setattr(runtime, "MAX_ELEMENTS", 100)


@pytest.mark.usefixtures("limit_of_100")
def test_elements_of_one_message_are_limited() -> None:
    """A large frame made of the smallest elements is refused before it becomes gigabytes of objects."""
    decoder = compile_decoder(layout(Names, 1), "limited Names")
    assert decoder(encode(Names(names=[""] * 100), 1), 0)[0] == Names(names=[""] * 100)
    with pytest.raises(DecodeError, match="with names the message has more than 100 elements"):
        decoder(encode(Names(names=[""] * 101), 1), 0)


@pytest.mark.usefixtures("limit_of_100")
def test_elements_of_all_lists_count_together() -> None:
    """Many lists that are each within the limit are refused too: here lists of structs that take no bytes."""
    decoder = compile_decoder(layout(Hollows, 0), "limited Hollows")
    list_of_50 = (50).to_bytes(4, "big")
    decoder((1).to_bytes(4, "big") + list_of_50 + bytes(50), 0)
    with pytest.raises(DecodeError, match="with empties the message has more than 100 elements"):
        decoder((2).to_bytes(4, "big") + list_of_50 * 2 + bytes(50), 0)


@pytest.mark.parametrize(
    ("version", "frame", "why"),
    [
        pytest.param(0, "00000001 7fff 61", "a value ends at|ends early", id="text beyond the end"),
        pytest.param(1, "02 ff7f 61 00", "ends early|a value ends", id="compact text beyond the end"),
        pytest.param(1, "02 818002", "a string of 32768 bytes", id="compact text over Kafka's limit"),
        pytest.param(1, "ffffffffff01", "longer than five bytes", id="varint of six bytes"),
        pytest.param(1, "ffffffff10", "beyond 32 bits", id="varint beyond 32 bits"),
        pytest.param(0, "00000001 0002 c328", "not UTF-8", id="bad text"),
        pytest.param(1, "02 03 c328 00", "not UTF-8", id="bad compact text"),
        pytest.param(1, "01 02 01 00 01 00", "tags must rise", id="tag twice"),
        pytest.param(1, "01 02 05 00 04 00", "tags must rise", id="tags out of order"),
        pytest.param(1, "01 01 00 05 00", "declares 5 bytes, 1 remain", id="tag beyond the end"),
        pytest.param(1, "01 ffffffff0f 00 00", "ends early", id="more tags than bytes"),
        pytest.param(1, "01 ffffffffff01", "longer than five bytes", id="count of tags too long"),
        pytest.param(0, "", "ends early", id="nothing"),
    ],
)
def test_what_is_no_message_is_refused(version: int, frame: str, why: str) -> None:
    """Whatever is wrong is a DecodeError that names the message and its version."""
    with pytest.raises(DecodeError, match=rf"Names v{version}: .*({why})"):
        decode_hex(Names, version, frame)


def test_long_varints_that_say_little_are_accepted() -> None:
    """Kafka accepts a varint with needless bytes, within five."""
    assert decode_hex(Names, 1, "8280808000 0261 00") == Names(names=["a"])


def test_unknown_tags_are_passed_over() -> None:
    """A newer peer may send tags that we do not know, before and after those we do."""
    frame = encode(Sample(tag_list=[9]), 2)
    known = bytes.fromhex("01 05 02 00000009")
    assert frame.endswith(b"\x01" + known)
    extended = frame[: -len(known) - 1] + b"\x03" + known + bytes.fromhex("03 01 ff 8102 03 aabbcc")
    message, end = decode(Sample, extended, 2)
    assert (message.tag_list, end) == ([9], len(extended))


@pytest.mark.parametrize("size", [4, 6])
def test_tagged_value_must_have_the_size_it_declares(size: int) -> None:
    """A value that ends before or beyond its declared size is a lie about one of them."""
    frame = encode(Sample(tag_list=[9]), 2)
    lying = frame[:-6] + bytes([size]) + frame[-5:] + b"\0"
    with pytest.raises(DecodeError, match="tag_list ends at"):
        decode(Sample, lying, 2)


def test_positions_in_errors_count_from_the_start_of_the_data() -> None:
    """Who reads a hex dump of the frame finds the place."""
    with pytest.raises(DecodeError, match="names is null at 14"):
        decode(Names, bytes(10) + bytes.fromhex("ffffffff"), 0, 10)
