"""The little of DER (X.690) that is read here: elements in a row, and object identifiers.

Input comes from strangers: a length is checked against what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from odradek.tls.errors import TlsError

INTEGER: Final = 0x02
OCTET_STRING: Final = 0x04
OBJECT_IDENTIFIER: Final = 0x06
SEQUENCE: Final = 0x30
SET: Final = 0x31
VERSION: Final = 0xA0
"""[0] in a certificate."""
_LONG_TAG: Final = 0x1F
_MAX_LENGTH_BYTES: Final = 4


class Element(NamedTuple):
    """One element: its tag, what is in it, and the whole of it."""

    tag: int
    content: bytes
    encoded: bytes


def elements(data: bytes) -> Iterator[Element]:
    """Yield the elements that stand in a row; TlsError where they do not."""
    position = 0
    while position < len(data):
        element = first(data, position)
        yield element
        position += len(element.encoded)


def first(data: bytes, position: int = 0, tag: int | None = None) -> Element:
    """Return the element that begins at a position; TlsError if there is none, or not with the tag that is expected."""
    try:
        found, length, begin = data[position], data[position + 1], position + 2
        if length & 0x80:
            count = length & 0x7F
            if not 0 < count <= _MAX_LENGTH_BYTES:
                raise TlsError("not DER: a length that nothing has")
            length = int.from_bytes(data[begin : begin + count], "big")
            begin += count
    except IndexError:
        raise TlsError("not DER: it ends too soon") from None
    end = begin + length
    if end > len(data) or found & _LONG_TAG == _LONG_TAG:
        raise TlsError("not DER: an element is longer than what is there")
    if tag is not None and found != tag:
        raise TlsError(f"not DER as expected: tag {found:#x} where {tag:#x} is due")
    return Element(found, data[begin:end], data[position:end])


def object_identifier(content: bytes) -> str:
    """Return an object identifier with dots; TlsError where it is none."""
    numbers: list[int] = []
    value = 0
    for byte in content:
        value = value << 7 | byte & 0x7F
        if value >> 128:
            raise TlsError("not DER: an object identifier with a number that nothing has")
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    if not numbers or content[-1] & 0x80:
        raise TlsError("not DER: an object identifier that ends too soon")
    head = min(numbers[0] // 40, 2)
    return ".".join(map(str, (head, numbers[0] - 40 * head, *numbers[1:])))
