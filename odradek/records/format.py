"""The format strings of kcat: `%t [%p] %o: %k=%s\\n` and the like."""

from __future__ import annotations

import re
from collections.abc import Callable
from struct import Struct
from typing import TypeAlias

from odradek.records.consumed import Consumed

Formatter: TypeAlias = Callable[[Consumed], bytes]

_LENGTH = Struct(">i")
_PART = re.compile(r"%(?P<field>.?)|\\(?P<escape>x[0-9A-Fa-f]{2}|.?)|(?P<text>[^%\\]+)", re.DOTALL)
_ESCAPES = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0", "\\": b"\\"}


def _number(number: int) -> bytes:
    return b"%d" % number


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _time(record: Consumed) -> int:
    return -1 if record.timestamp_ms is None else record.timestamp_ms


def _headers(record: Consumed) -> bytes:
    return b",".join(name.encode() + b"=" + (b"NULL" if value is None else value) for name, value in record.headers)


FIELDS: dict[str, tuple[str, Formatter]] = {
    "s": ("value", lambda record: record.value or b""),
    "S": ("length of the value, -1 where there is none", lambda record: _number(_length(record.value))),
    "R": ("the same as four bytes, big endian", lambda record: _LENGTH.pack(_length(record.value))),
    "k": ("key", lambda record: record.key or b""),
    "K": ("length of the key, -1 where there is none", lambda record: _number(_length(record.key))),
    "T": ("time in milliseconds since 1970, -1 where there is none", lambda record: _number(_time(record))),
    "h": ("headers, as `name=value` with commas between", _headers),
    "t": ("topic", lambda record: record.topic.encode()),
    "p": ("partition", lambda record: _number(record.partition)),
    "o": ("offset", lambda record: _number(record.offset)),
    "%": ("a percent sign", lambda _record: b"%"),
}
"""What follows `%`: what it means, and how it is written."""
_OF_BYTES = frozenset("skh")


def _encoding(write: Formatter, encode: Callable[[bytes], bytes]) -> Formatter:
    return lambda record: write(_encoded(record, encode))


def _encoded(record: Consumed, encode: Callable[[bytes], bytes]) -> Consumed:
    """Return a record with key, value and those of its headers written in another way."""
    return record._replace(
        key=None if record.key is None else encode(record.key),
        value=None if record.value is None else encode(record.value),
        headers=[(name, None if value is None else encode(value)) for name, value in record.headers],
    )


def parse_format(text: str, encode: Callable[[bytes], bytes] | None = None) -> Formatter:
    """Return the function that writes a record; ValueError for a field or an escape that does not exist.

    `encode` is how bytes of the record are written, as they are if it is None; lengths stay those of the record.
    """
    parts: list[bytes | Formatter] = []
    for part in _PART.finditer(text):
        if (field := part["field"]) is not None:
            if field not in FIELDS:
                raise ValueError(
                    f"%{field} is no field of a record; there are {', '.join(f'%{each}' for each in FIELDS)}"
                )
            write = FIELDS[field][1]
            parts.append(write if encode is None or field not in _OF_BYTES else _encoding(write, encode))
        elif (escape := part["escape"]) is not None:
            if escape not in _ESCAPES and len(escape) < 3:
                raise ValueError(f"\\{escape} is no escape; there are \\n, \\r, \\t, \\0, \\\\ and \\xHH")
            parts.append(_ESCAPES[escape] if escape in _ESCAPES else bytes.fromhex(escape[1:]))
        else:
            parts.append(part["text"].encode("utf-8", "surrogateescape"))
    return lambda record: b"".join([part if isinstance(part, bytes) else part(record) for part in parts])
