"""Variable-length integers: Kafka's examples, the limits, and what is no integer."""

import pytest

from odradek.protocol.records.errors import InvalidRecord
from odradek.protocol.records.varint import encode_varint, read_raw, read_varint, read_varlong, varint_size
from tests.unit.protocol.records.handmade import zigzag

INT32 = [0, -1, 1, 63, -64, 64, -65, 8191, -8192, 8192, -8193, 1048575, -1048577, 2**31 - 1, -(2**31)]
INT64 = [*INT32, 2**34, -(2**34), 2**62, -(2**62), 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("value", INT64)
def test_varlongs_go_both_ways(value: int) -> None:
    """Every 64-bit integer is read as it was written, in the size foretold, wherever it stands."""
    encoded = encode_varint(value)
    assert encoded == zigzag(value)
    assert varint_size(value) == len(encoded)
    assert read_varlong(encoded, 0) == (value, len(encoded))
    assert read_varlong(memoryview(b"\xff\xff" + encoded + b"\xff"), 2) == (value, 2 + len(encoded))


@pytest.mark.parametrize("value", INT32)
def test_varints_go_both_ways(value: int) -> None:
    """Every 32-bit integer is read as it was written."""
    assert read_varint(encode_varint(value), 0) == (value, varint_size(value))


def test_every_one_byte_integer() -> None:
    """The integers -64 to 63 take one byte."""
    assert [read_varint(encode_varint(n), 0) for n in range(-64, 64)] == [(n, 1) for n in range(-64, 64)]


@pytest.mark.parametrize(
    ("encoded", "value"),
    [
        (b"\x80\x00", 0),
        (b"\x82\x80\x80\x80\x00", 1),
        (b"\xff\xff\xff\xff\x0f", -(2**31)),
        (b"\xfe\xff\xff\xff\x7f", 2**31 - 1),
    ],
)
def test_longer_forms_than_needed_are_read_and_bits_beyond_32_dropped(encoded: bytes, value: int) -> None:
    """Kafka reads integers in five bytes whatever their size, and lets bits fall that an int does not have."""
    assert read_varint(encoded, 0) == (value, len(encoded))


@pytest.mark.parametrize("encoded", [b"", b"\x80", b"\xff\xff\xff\xff"])
def test_an_integer_that_is_cut_off_is_invalid(encoded: bytes) -> None:
    """An integer that does not end before the data does is an InvalidRecord."""
    for read in (read_varint, read_varlong):
        with pytest.raises(InvalidRecord):
            read(encoded, 0)


def test_an_integer_that_is_too_long_is_invalid() -> None:
    """A varint has at most 5 bytes, a varlong 10."""
    with pytest.raises(InvalidRecord):
        read_varint(b"\x80" * 5 + b"\x00", 0)
    assert read_varint(b"\x80" * 4 + b"\x00", 0) == (0, 5)
    with pytest.raises(InvalidRecord):
        read_varlong(b"\x80" * 10 + b"\x00", 0)
    assert read_varlong(b"\x80" * 9 + b"\x00", 0) == (0, 10)


def test_raw_numbers_tell_the_sign_by_their_last_bit() -> None:
    """What is read raw is zigzag still: even for positive numbers, odd for negative ones."""
    assert read_raw(encode_varint(-3), 0, 5) == (5, 1)
    assert read_raw(encode_varint(300), 0, 5) == (600, 2)
