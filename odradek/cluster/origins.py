"""Where copied records are from, and which offset of a copy stands for an offset of the original.

The relay writes a header into each record that says so. That is all that is needed to find an offset's place in the
copy, after compaction, transactions and records that were copied twice, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

HEADER = "odradek.source"
"""`odradek pipeline relay --source-header` writes it."""
_LONGEST = 300
"""A topic's name has at most 249 characters."""


class Origin(NamedTuple):
    """The record that another one is a copy of."""

    topic: str
    partition: int
    offset: int


class CopyFound(NamedTuple):
    """A copy: its offset, and that of the original."""

    offset: int
    source: int


def origin_of(headers: Iterable[tuple[str, object]]) -> Origin | None:
    """Return where a record is from; of one that was copied several times, the last place. None if nothing says it."""
    values = [value for name, value in headers if name == HEADER]
    if not values or not isinstance(values[-1], bytes) or len(values[-1]) > _LONGEST:
        return None
    parts = values[-1].decode(errors="replace").split("/")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts[1:]):
        return None
    return Origin(parts[0], int(parts[1]), int(parts[2]))


def place_in_copy(first: int, end: int, wanted: int, find: Callable[[int, int], CopyFound | None]) -> int:
    """Return the offset in `[first, end]` from which a copy has everything from the offset `wanted` of the original on.

    It is the one after a copy of something before `wanted`, or `first` where there is none: who copies goes on from
    there or from before, so whatever comes later in the original comes later in the copy, too, however often copying
    was cut short and done again. `find` returns the first copy in a range of offsets, None where it has none.
    """
    while first < end:
        middle = (first + end) // 2
        found = find(middle, end)
        if found is None or found.source >= wanted:
            end = middle
        else:
            first = found.offset + 1
    return first
