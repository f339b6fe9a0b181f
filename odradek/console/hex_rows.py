"""Bytes as rows of hexadecimal digits and text. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple

PER_ROW: Final = 16


class HexRow(NamedTuple):
    """Up to sixteen bytes."""

    position: int
    """Of the first of them."""
    digits: str
    text: str
    """A point for each byte that is no printable ASCII."""


def hex_rows(content: bytes, position: int = 0, most: int = 4096) -> list[HexRow]:
    """Return the rows of the first `most` bytes, numbered from `position` on."""
    return [
        HexRow(position + at, hex_text(piece), "".join(chr(each) if 32 <= each < 127 else "." for each in piece))
        for at in range(0, min(len(content), most), PER_ROW)
        for piece in [content[at : min(at + PER_ROW, most)]]
    ]


def hex_text(content: bytes, most: int = 64) -> str:
    """Return bytes as pairs of digits, at most so many of them."""
    return content[:most].hex(" ") + (" …" if len(content) > most else "")
