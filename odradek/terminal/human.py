"""Numbers, sizes and times as people read them."""

from __future__ import annotations

from datetime import datetime

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def size_text(size: float) -> str:
    """Return a number of bytes with a binary unit and three digits: `512 B`, `1.21 MiB`."""
    value, unit = float(size), 0
    while abs(value) >= 999.5 and unit < len(_UNITS) - 1:
        value /= 1024
        unit += 1
    if unit == 0:
        return f"{value:.0f} B"
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{digits}f} {_UNITS[unit]}"


def count_text(count: float) -> str:
    """Return a number with its thousands apart: `1,234,567`."""
    return f"{count:,.0f}"


def plural(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 record`, `2,000 records`."""
    return f"{count_text(count)} {one if count == 1 else many or one + 's'}"


def time_text(milliseconds: int) -> str:
    """Return a time, given in milliseconds since 1970, in the zone of this machine: `2026-11-21 10:00:00.123`.

    A record may have any number for a time; one of no year from 1 to 9999 is returned as it is.
    """
    try:
        return datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms"


def duration_text(seconds: float) -> str:
    """Return how long something took: `0.42 s`, `3 min 05 s`, `2 h 01 min`."""
    if seconds < 59.95:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
