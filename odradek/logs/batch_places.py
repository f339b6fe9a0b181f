"""Where batches are in a segment: a page of them from a byte on, and the one that a byte belongs to.

Only headers are read, and only so many of them; the way begins at an entry of the offset index.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from odradek.logs.index_entries import OFFSET_ENTRY, count_entries
from odradek.logs.lookup import Scanned
from odradek.protocol.records.batch import LOG_OVERHEAD, BatchHeader
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.names import LOG_SUFFIX, OFFSET_INDEX_SUFFIX, file_name
from odradek.storage.segment.entry_walk import EntryWalk

MOST_STEPS: Final = 200_000
"""Headers that are gone over, a second's worth: an index of default density needs a hundred at most."""


class BatchPage(NamedTuple):
    """Some batches of a segment, one behind the other."""

    batches: list[Scanned]
    next_position: int | None
    """Where the batch behind them begins, None at the end of what can be read."""
    problem: str
    """Why there are no more, where that is not the end of the file."""


def batches_from(fs: FileSystem, directory: str, base_offset: int, position: int, count: int) -> BatchPage:
    """Return `count` batches from the byte at which one of them begins. Raises OSError."""
    file = fs.open(f"{directory}/{file_name(base_offset, LOG_SUFFIX)}", writable=False)
    walk = EntryWalk(file, file.size(), position, checked=False)
    found: list[Scanned] = []
    for at, fields, _ in walk:
        if len(found) == count:
            return BatchPage(found, at, "")
        found.append(Scanned(at, BatchHeader._make(fields)))
    return BatchPage(found, None, f"at byte {walk.position}: {walk.reason}" if walk.reason else "")


def batch_around(fs: FileSystem, directory: str, base_offset: int, position: int) -> tuple[Scanned | None, int | None]:
    """Return the batch that the byte at `position` belongs to, and where the one before it begins.

    The first is None where no batch can be read there, or the way to it is longer than MOST_STEPS; the second at the
    start of the file. Raises OSError.
    """
    file = fs.open(f"{directory}/{file_name(base_offset, LOG_SUFFIX)}", writable=False)
    try:
        index: OpenFile | None = fs.open(f"{directory}/{file_name(base_offset, OFFSET_INDEX_SUFFIX)}", writable=False)
    except FileNotFoundError:
        index = None
    for start in _starts(index, position):
        walk = EntryWalk(file, file.size(), start, checked=False)
        before: int | None = None
        for steps, (at, fields, _) in enumerate(walk):
            if at > position or steps == MOST_STEPS:
                break
            if position < at + fields[1] + LOG_OVERHEAD:
                if before is None and at:
                    break  # the entry before leads to its predecessor
                return Scanned(at, BatchHeader._make(fields)), before
            before = at
    return None, None


def _starts(index: OpenFile | None, position: int) -> list[int]:
    """Return the bytes to go on from: the last two entries before `position`, or the start of the file."""
    found = []
    if index is not None:
        low, high = 0, count_entries(index, OFFSET_ENTRY)
        while low < high:
            middle = (low + high) // 2
            if _position(index, middle) <= position:
                low = middle + 1
            else:
                high = middle
        found = [_position(index, slot) for slot in (low - 1, low - 2) if slot >= 0]
    return [*found, 0]  # an index may be wrong, or missing


def _position(index: OpenFile, slot: int) -> int:
    data = index.pread(OFFSET_ENTRY.size, slot * OFFSET_ENTRY.size)
    return max(0, OFFSET_ENTRY.unpack(data)[1]) if len(data) == OFFSET_ENTRY.size else 0
