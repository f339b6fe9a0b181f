"""Durations as a person gives them: `500ms`, `90s`, `2h30m`, `7d`."""

from __future__ import annotations

import re

from odradek.terminal.errors import WrongUsageError

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DURATION = re.compile(r"(?:\d{1,15}(?:ms|[smhdw]))+")
_PART = re.compile(r"(\d+)(ms|[smhdw])")
_MAX = (1 << 63) - 1


def is_duration(text: str) -> bool:
    """Whether a text has the form of a duration."""
    return _DURATION.fullmatch(text) is not None


def parse_duration(text: str) -> int:
    """Return the milliseconds of a duration; ValueError says what is expected."""
    if not is_duration(text):
        raise ValueError(f"{text!r} is no duration; expected one such as 500ms, 90s, 15m, 2h30m or 7d")
    milliseconds = sum(int(count) * _UNITS_MS[unit] for count, unit in _PART.findall(text))
    if milliseconds > _MAX:
        raise ValueError(f"{text!r} is too large a number")
    return milliseconds


def duration_ms(text: str, option: str) -> int:
    """Return the milliseconds of a duration that is the value of an option. Raises WrongUsageError."""
    try:
        return parse_duration(text)
    except ValueError as wrong:
        raise WrongUsageError(f"{option}: {wrong}") from None
