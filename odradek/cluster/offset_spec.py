"""A place in a topic as a person gives it: `beginning`, `end`, an offset, a time, so long ago.

What Kafka's Admin client calls an OffsetSpec, and two more: an offset, and so many before the latest.
Pure: the clock is passed in. Finding the offsets is `offsets`' work.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from odradek.terminal.durations import is_duration, parse_duration

SYNTAX = (
    "`beginning` (or `earliest`), `end` (or `latest`), an offset, `-N` for the last N, a time such as "
    "`2026-11-21T10:00` (local unless it names its zone) or `@1795255200000` (milliseconds since 1970), "
    "or how long ago, such as `90s`, `15m`, `2h30m` or `7d`"
)


@dataclass(frozen=True, slots=True)
class Earliest:
    """The first record that is still there."""


@dataclass(frozen=True, slots=True)
class Latest:
    """After the last record."""


@dataclass(frozen=True, slots=True)
class AtOffset:
    """An offset, the same in each partition."""

    offset: int


@dataclass(frozen=True, slots=True)
class BeforeLatest:
    """So many records before the end of each partition."""

    count: int


@dataclass(frozen=True, slots=True)
class ForTimestamp:
    """The first record that is not older, in milliseconds since 1970."""

    milliseconds: int


OffsetSpecification: TypeAlias = Earliest | Latest | AtOffset | BeforeLatest | ForTimestamp

_MAX = (1 << 63) - 1
_WORDS: dict[str, OffsetSpecification] = {
    "beginning": Earliest(),
    "earliest": Earliest(),
    "end": Latest(),
    "latest": Latest(),
}


def parse_offset_spec(text: str, now_ms: int) -> OffsetSpecification:
    """Read an offset spec; ValueError says what is expected."""
    if text in _WORDS:
        return _WORDS[text]
    if re.fullmatch(r"\d+", text, re.ASCII):
        return AtOffset(_bounded(int(text[:20]), text))
    if re.fullmatch(r"-\d+", text, re.ASCII):
        return BeforeLatest(_bounded(int(text[1:21]), text))
    if re.fullmatch(r"@\d+", text, re.ASCII):
        return ForTimestamp(_bounded(int(text[1:21]), text))
    if is_duration(text):
        return ForTimestamp(max(0, now_ms - parse_duration(text)))
    try:
        time = datetime.fromisoformat(text)
        return ForTimestamp(max(0, round(time.astimezone().timestamp() * 1000)))
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text!r} is no place in a topic; expected {SYNTAX}") from None


def _bounded(number: int, text: str) -> int:
    if number > _MAX:
        raise ValueError(f"{text!r} is too large a number")
    return number
