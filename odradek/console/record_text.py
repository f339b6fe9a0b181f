"""Keys, values and headers as text for people: JSON with its lines, other text as it is, everything else as hex. Pure.

What comes out is text and nothing else; templates escape it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from odradek.records.consumed import Consumed

PREVIEW: Final = 200
LONGEST_TEXT: Final = 64 << 10
"""Characters, or bytes of hex, that are shown of one key or value; the rest is in the download."""
LONGEST_HEX: Final = 4 << 10
MOST_HEADERS: Final = 100
_LINE: Final = 16
_LONGEST_PRETTY: Final = 4 * LONGEST_TEXT
_INDENT: Final = "  "
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_ALLOWED: Final = frozenset("\n\t\r")


class ShownBytes(NamedTuple):
    """Bytes for people. `kind` is `null`, `empty`, `JSON`, `text` or `binary`; `cut` how many bytes are not shown."""

    kind: str
    preview: str
    text: str
    size: int
    cut: int


class ShownRecord(NamedTuple):
    """One record for people."""

    partition: int
    offset: int
    timestamp_ms: int | None
    timestamp_type: str
    key: ShownBytes
    value: ShownBytes
    headers: Sequence[tuple[str, ShownBytes]]
    more_headers: int


def shown_record(record: Consumed) -> ShownRecord:
    """Return a record for people."""
    headers = record.headers[:MOST_HEADERS]
    return ShownRecord(
        record.partition,
        record.offset,
        record.timestamp_ms,
        record.timestamp_type,
        shown_bytes(record.key),
        shown_bytes(record.value),
        [(visible(name), shown_bytes(value)) for name, value in headers],
        len(record.headers) - len(headers),
    )


def shown_bytes(data: bytes | None) -> ShownBytes:
    """Return bytes as what they look like most."""
    if data is None:
        return ShownBytes("null", "null", "", 0, 0)
    if not data:
        return ShownBytes("empty", "empty", "", 0, 0)
    text = _text(data)
    if text is None:
        some = data[:LONGEST_HEX]
        return ShownBytes(
            "binary", _cut(data[: PREVIEW // 2].hex(" ")), hex_dump(some), len(data), len(data) - len(some)
        )
    pretty = _pretty(text) if len(data) <= LONGEST_TEXT else None
    preview = _cut(visible(text[: PREVIEW + 1]).replace("\n", " ⏎ "))
    left = max(0, len(data) - len(text.encode()))
    return ShownBytes("JSON" if pretty else "text", preview, visible(pretty or text), len(data), left)


def hex_dump(data: bytes) -> str:
    """Return bytes as lines of offset, hex and what of them are letters."""
    lines = []
    for begin in range(0, len(data), _LINE):
        line = data[begin : begin + _LINE]
        letters = "".join(chr(each) if 32 <= each < 127 else "." for each in line)
        lines.append(f"{begin:06x}  {line.hex(' '):<{3 * _LINE - 1}}  {letters}")
    return "\n".join(lines)


def visible(text: str) -> str:
    """Return a text in which what has no shape, or turns the direction of the rest, is written as its code."""
    return "".join(
        each if each in _ALLOWED or unicodedata.category(each) not in ("Cc", "Cf", "Cs", "Co", "Cn") else _code(each)
        for each in text
    )


def _code(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def _text(data: bytes) -> str | None:
    """Return bytes as text, None where they are none: no UTF-8, or full of control characters."""
    piece = data[:LONGEST_TEXT]
    try:
        text = piece.decode()
    except UnicodeDecodeError as wrong:
        if len(piece) == len(data) or wrong.start < len(piece) - 3:
            return None
        text = piece[: wrong.start].decode()  # a character that the end of the piece cuts
    control = sum(1 for each in text[:1000] if ord(each) < 32 and each not in _ALLOWED)
    return None if control > len(text[:1000]) // 10 else text


def _pretty(text: str) -> str | None:
    """Return JSON with a line for each member, None for what is none.

    Only the space between is made anew: numbers, escapes and names that come twice stay as they are.
    """
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    out: list[str] = []
    depth = size = 0
    previous = ""
    for token in _TOKEN.findall(text):
        if token in "}]":
            depth -= 1
            if previous not in ("{", "["):
                out.append("\n" + _INDENT * depth)
        elif previous in ("{", "[", ","):
            out.append("\n" + _INDENT * depth)
        out.append(": " if token == ":" else token)
        size += len(out[-1]) + depth * len(_INDENT)
        if size > _LONGEST_PRETTY:
            return None  # many levels: more space than text
        if token in "{[":
            depth += 1
        previous = token
    return "".join(out)


def _cut(text: str) -> str:
    return text if len(text) <= PREVIEW else f"{text[:PREVIEW]}…"
