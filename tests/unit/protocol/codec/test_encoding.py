"""What encoding writes, byte by byte, and what it refuses."""

from uuid import UUID

import pytest

from odradek.protocol.codec import EncodeError, Message, encode
from odradek.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.unit.protocol.codec.sample import Batches, Empty, Hollow, Names, Node, Pair, Sample


def hexed(message: Message, version: int) -> str:
    """The bytes of a message, in hex."""
    return encode(message, version).hex()


def test_plain_lengths_and_counts_are_fixed_size() -> None:
    """Before the flexible versions a text has two bytes of length, a list and bytes have four."""
    assert hexed(Names(names=["ab", ""]), 0) == "00000002" + "00026162" + "0000"
    assert (
        hexed(Batches(name="n", blob=b"xy", records=b"r"), 0) == "00016e" + "000000027879" + "00000000" + "0000000172"
    )


def test_compact_lengths_and_counts_are_varints_of_one_more() -> None:
    """In flexible versions a length or count is a varint, one too high, and every struct ends with its tags."""
    assert hexed(Names(names=["ab", ""]), 1) == "03" + "036162" + "01" + "00"
    assert hexed(Batches(name="n", blob=b"xy", records=b"r"), 1) == "026e" + "037879" + "01" + "0272" + "00"


def test_long_compact_lengths_take_more_bytes() -> None:
    """127 is the first length whose varint, 128, has two bytes."""
    assert hexed(Names(names=["a" * 126]), 1)[:4] == "027f"
    assert hexed(Names(names=["a" * 127]), 1)[:6] == "028001"
    assert hexed(Names(names=[""] * 127), 1)[:6] == "800101"
    assert hexed(Batches(blob=bytes(20000), records=b""), 1).startswith("01" + "a19c01")


def test_null_is_minus_one_or_zero() -> None:
    """Null has the length -1 before the flexible versions, and 0 (one more) in them."""
    assert hexed(Batches(records=None), 1) == "01" + "01" + "01" + "00" + "00"
    frame = encode(Sample(id=UUID(int=2**128 - 1)), 1)
    assert frame.partition(b"\xff" * 16)[2].startswith(bytes.fromhex("0000 ffff 00000000 ffffffff"))


def test_nullable_structs_have_a_byte_before_them() -> None:
    """-1 says null, 1 says that the struct follows (KIP-893)."""
    absent, present = encode(Sample(), 2), encode(Sample(option=Node(name="n")), 2)
    assert absent[-2:] == bytes.fromhex("ff 00")
    assert present[-5:] == bytes.fromhex("01 026e 00 00")


def test_nullable_structs_in_tags_have_a_varint_before_them() -> None:
    """0 says null, 1 says that the struct follows: Kafka has another form here than outside of tags."""
    assert encode(Sample(tag_option=None), 2)[-4:] == bytes.fromhex("01 02 01 00")
    present = encode(Sample(tag_option=Pair(left=1, right=2)), 2)
    assert present[-13:] == bytes.fromhex("01 02 0a 01 00000001 00000002 00")


def test_tagged_fields_are_written_in_order_where_they_differ() -> None:
    """A tagged field at its default takes no byte; others are tag, size and value, by rising tag."""
    assert encode(Sample(), 2)[-1] == 0
    message = Sample(tag_node=Node(name="n", pair=Pair(left=1, right=2)), tag_list=[5], tag_text="t")
    inner = "026e" + "01" + "00" + "09" + "00000001" + "00000002" + "00"
    assert (
        encode(message, 2)
        .hex()
        .endswith("03" + "00" + "02" + "0274" + "01" + "05" + "0200000005" + "c801" + "0e" + inner)
    )


def test_empty_tagged_text_is_written_where_the_default_is_null() -> None:
    """The default decides, not emptiness."""
    assert encode(Sample(tag_text=""), 2)[-4:] == bytes.fromhex("01 00 01 01")


def test_fields_that_a_version_does_not_know_are_left_out() -> None:
    """An answer for a new client can be given to an old one."""
    assert hexed(FindCoordinatorRequest(key="g", key_type=1, coordinator_keys=["g"]), 0) == "000167"


def test_numbers_of_a_run_are_big_endian() -> None:
    """All numbers are in network order, unsigned ones without a sign."""
    message = Sample(flag=True, tiny=-1, small=2, port=65535, number=-2, size=2**32 - 1, big=-3, ratio=1.0)
    assert hexed(message, 0).startswith(
        "01ff0002ffff" + "fffffffe" + "ffffffff" + "fffffffffffffffd" + "3ff0000000000000"
    )


def test_records_are_taken_as_any_bytes() -> None:
    """Views and bytearrays are written as they are."""
    frames = {encode(Batches(records=data), 0) for data in (b"abc", bytearray(b"abc"), memoryview(b"abc"))}
    assert len(frames) == 1


def test_uuids_are_sixteen_bytes() -> None:
    """Alone and in lists."""
    assert hexed(Batches(ids=[UUID(int=1), UUID(int=2)], records=b""), 0)[12:] == (
        "00000002" + f"{1:032x}" + f"{2:032x}" + "00000000"
    )


def test_struct_without_fields_is_written_as_nothing() -> None:
    """Only the count is there."""
    assert hexed(Hollow(empties=[Empty(), Empty()]), 0) == "00000002"
    assert hexed(Hollow(empties=[Empty()]), 2) == "02" + "00" + "00"


@pytest.mark.parametrize(
    ("message", "version", "why"),
    [
        pytest.param(Sample(nodes=None), 0, "NoneType", id="null list in a version without null"),
        pytest.param(Sample(nodes=[Node(name=None)]), 0, "NoneType", id="null text in a version without null"),
        pytest.param(Batches(records=None), 0, "NoneType", id="null records in a version without null"),
        pytest.param(Sample(tiny=128), 1, "", id="number too large"),
        pytest.param(Sample(port=-1), 1, "", id="negative unsigned number"),
        pytest.param(Sample(numbers=[2**31]), 1, "", id="number in a list too large"),
        pytest.param(Names(names=["x" * 32768]), 0, "", id="text too long"),
        pytest.param(Names(names=["x" * 32768]), 1, "the limit is 32767", id="compact text too long"),
        pytest.param(Sample(text="\ud800"), 1, "surrogates", id="text that is not Unicode"),
    ],
)
def test_what_does_not_fit_is_refused(message: Message, version: int, why: str) -> None:
    """A value that its type cannot hold is an EncodeError that names the message and its version."""
    with pytest.raises(EncodeError, match=rf"{type(message).__name__} v{version}: .*({why})"):
        encode(message, version)
