"""Variable-length integers of the record format: zigzag, seven bits a byte, low bits first (Protocol Buffers' sint).

A varint holds 32 bits in at most 5 bytes, a varlong 64 bits in at most 10. As in Kafka, bits of the last byte that do
not fit are dropped, and an encoding longer than needed is valid.
"""

from typing import Final

from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.errors import InvalidRecord

_SMALL: Final = [bytes([(n << 1) ^ (n >> 63)]) for n in (*range(64), *range(-64, 0))]
"""Encodings of -64..63, the ones that fit one byte; a negative number indexes from the end."""


_MASK: Final = {5: 0xFFFFFFFF, 10: 0xFFFFFFFFFFFFFFFF}
_CUT_OFF: Final = "The data ends inside a variable-length integer at byte {}"


def encode_varint(value: int) -> bytes:
    """Encode a signed integer of up to 64 bits (varint and varlong differ only in what a reader accepts)."""
    if -64 <= value < 64:
        return _SMALL[value]
    rest = (value << 1) ^ (value >> 63)
    if rest < 1 << 14:
        return bytes((rest & 0x7F | 0x80, rest >> 7))
    if rest < 1 << 21:
        return bytes((rest & 0x7F | 0x80, rest >> 7 & 0x7F | 0x80, rest >> 14))
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def varint_size(value: int) -> int:
    """Return how many bytes `encode_varint` makes of `value`."""
    bits = ((value << 1) ^ (value >> 63)).bit_length()
    return max(1, (bits + 6) // 7)


def read_varint(data: Buffer, position: int) -> tuple[int, int]:
    """Return the 32-bit integer at `position` and the position after it; raise InvalidRecord where none is."""
    try:
        byte = data[position]
        if byte < 0x80:
            return (byte >> 1) ^ -(byte & 1), position + 1
        second = data[position + 1]
        if second < 0x80:
            raw = byte & 0x7F | second << 7
            return (raw >> 1) ^ -(raw & 1), position + 2
    except IndexError:
        raise InvalidRecord(_CUT_OFF.format(position)) from None
    raw, after = read_raw(data, position, 5)
    return (raw >> 1) ^ -(raw & 1), after


def read_varlong(data: Buffer, position: int) -> tuple[int, int]:
    """Return the 64-bit integer at `position` and the position after it; raise InvalidRecord where none is."""
    try:
        byte = data[position]
        if byte < 0x80:
            return (byte >> 1) ^ -(byte & 1), position + 1
    except IndexError:
        raise InvalidRecord(_CUT_OFF.format(position)) from None
    raw, after = read_raw(data, position, 10)
    return (raw >> 1) ^ -(raw & 1), after


def read_raw(data: Buffer, position: int, limit: int) -> tuple[int, int]:
    """Return the number of at most `limit` bytes (5 or 10) at `position`, still zigzag, and the position after it.

    In that form positive numbers are even and negative ones odd. Raises InvalidRecord where no such number is.
    """
    raw = 0
    try:
        for i in range(limit):
            byte = data[position + i]
            raw |= (byte & 0x7F) << 7 * i
            if byte < 0x80:
                return raw & _MASK[limit], position + i + 1
    except IndexError:
        raise InvalidRecord(_CUT_OFF.format(position)) from None
    raise InvalidRecord(f"The variable-length integer at byte {position} is longer than {limit} bytes")
