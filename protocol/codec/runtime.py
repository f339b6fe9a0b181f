"""What generated code calls where an expression of its own would be too long: varints, tags, arrays, uuids, refusals.

Nothing here trusts a length: a varint is at most five bytes, a tag rises, a count fits the bytes that remain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from struct import Struct
from typing import NoReturn
from uuid import UUID

from odradek.protocol.codec.errors import DecodeError
from odradek.protocol.uuids import ZERO_UUID

Buffer = bytes | memoryview

MAX_ELEMENTS = 1_000_000
"""Elements of all lists of one message together. Real messages stay far below; a frame of 100 MB that is made of the
smallest structs would otherwise be 4 GB of objects, and half a minute in which nothing else is served."""

MAX_STRING_LENGTH = 0x7FFF
"""Kafka's limit, also where the length is a varint."""

_KEPT_ARRAY_LENGTHS = 64
"""Arrays up to this length have their unpackers kept; partition and replica lists are shorter nearly always."""

_KEPT_UUIDS = 4096
"""Distinct uuids kept as objects: a broker meets the same topic ids in every request."""

ONE_BYTE = tuple(bytes([value]) for value in range(0x80))
"""Varints of one byte."""


def read_uvarint(data: Buffer, pos: int, first: int) -> tuple[int, int]:
    """Go on with an unsigned varint of 32 bits whose first byte, `first`, stands before `pos`."""
    value = first & 0x7F
    shift = 7
    while True:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise DecodeError(f"a varint at {pos - 5} is longer than five bytes")
    if value > 0xFFFFFFFF:
        raise DecodeError(f"a varint ending at {pos} is beyond 32 bits")
    return value, pos


def read_string_length(data: Buffer, pos: int, first: int) -> tuple[int, int]:
    """Go on with the varint of a string: its length plus one, within Kafka's limit."""
    length, pos = read_uvarint(data, pos, first)
    if length > MAX_STRING_LENGTH + 1:
        raise DecodeError(f"a string of {length - 1} bytes at {pos}: the limit is {MAX_STRING_LENGTH}")
    return length, pos


def uvarint(value: int) -> bytes:
    """Encode an unsigned varint."""
    if value < 0x80:
        return ONE_BYTE[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    if value < 0x200000:
        return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string_length(length: int) -> bytes:
    """Encode the length of a compact string of at least 127 bytes."""
    if length > MAX_STRING_LENGTH:
        raise ValueError(f"a string of {length} bytes: the limit is {MAX_STRING_LENGTH}")
    return uvarint(length + 1)


def read_tag(data: Buffer, pos: int, last: int) -> tuple[int, int, int]:
    """Read the head of a tagged field: its tag, where its value begins and where it ends. Tags rise (KIP-482)."""
    tag = data[pos]
    pos += 1
    if tag > 0x7F:
        tag, pos = read_uvarint(data, pos, tag)
    size = data[pos]
    pos += 1
    if size > 0x7F:
        size, pos = read_uvarint(data, pos, size)
    if tag <= last:
        raise DecodeError(f"tag {tag} at {pos} comes after tag {last}: tags must rise")
    if pos + size > len(data):
        raise DecodeError(f"tag {tag} at {pos} declares {size} bytes, {len(data) - pos} remain")
    return tag, pos, pos + size


def skip_tags(data: Buffer, pos: int, count: int) -> int:
    """Pass over tagged fields, none of which we know; `count` is the first byte of their number."""
    if count > 0x7F:
        count, pos = read_uvarint(data, pos, count)
    tag = -1
    for _ in range(count):
        tag, _, pos = read_tag(data, pos, tag)
    return pos


def put_tag(out: bytearray, tag: int, value: bytearray) -> None:
    """Append a tagged field."""
    out += uvarint(tag)
    out += uvarint(len(value))
    out += value


@lru_cache(_KEPT_UUIDS)
def to_uuid(raw: bytes) -> UUID:
    """The uuid of sixteen bytes."""
    return UUID(bytes=raw) if any(raw) else ZERO_UUID


class ArrayUnpackers(dict[int, Callable[[Buffer, int], tuple[int, ...]]]):
    """Unpackers of n numbers of one type, made when first asked for."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self._code = code

    def __missing__(self, count: int) -> Callable[[Buffer, int], tuple[int, ...]]:
        unpacker = Struct(f">{count}{self._code}").unpack_from
        if count <= _KEPT_ARRAY_LENGTHS:
            self[count] = unpacker
        return unpacker


class ArrayPackers(dict[int, Callable[..., bytes]]):
    """Packers of n numbers of one type, made when first asked for."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self._code = code

    def __missing__(self, count: int) -> Callable[..., bytes]:
        packer = Struct(f">{count}{self._code}").pack
        if count <= _KEPT_ARRAY_LENGTHS:
            self[count] = packer
        return packer


ARRAY_UNPACKERS = {code: ArrayUnpackers(code) for code in "?bhHiIqd"}
ARRAY_PACKERS = {code: ArrayPackers(code) for code in "?bhHiIqd"}


def refuse_null(name: str, pos: int) -> NoReturn:
    """A null where the version knows none."""
    raise DecodeError(f"{name} is null at {pos}, which it cannot be")


def refuse_count(name: str, count: int, remaining: int) -> NoReturn:
    """More elements than the bytes that remain could hold."""
    raise DecodeError(f"{name} declares {count} elements, {remaining} bytes remain")


def refuse_elements(name: str) -> NoReturn:
    """More elements than any message has."""
    raise DecodeError(f"with {name} the message has more than {MAX_ELEMENTS} elements")


def refuse_end(pos: int, end: int) -> NoReturn:
    """A value reaches beyond the data."""
    raise DecodeError(f"a value ends at {pos}, the data at {end}")


def refuse_tag(name: str, pos: int, stop: int) -> NoReturn:
    """A tagged field's value is not of the size that was declared for it."""
    raise DecodeError(f"the tagged field {name} ends at {pos}, not at {stop} as declared")
