"""Entries of sparse indexes, picked evenly, and the byte that each leads to: what a picture of a segment is made of.

At most as many entries are read as are asked for, whatever the size of the index.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from odradek.logs.index_entries import OFFSET_ENTRY, TIME_ENTRY, count_entries
from odradek.logs.lookup import search_offset_index
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.names import OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, file_name


class OffsetMark(NamedTuple):
    """An entry of an offset index: the batch that ends at `offset` begins at byte `position`."""

    slot: int
    offset: int
    position: int


class TimeMark(NamedTuple):
    """An entry of a time index: up to `offset`, nothing is later than `timestamp`."""

    slot: int
    timestamp: int
    offset: int
    position: int
    """Where the offset index leads with that offset."""


class IndexMarks(NamedTuple):
    """Both indexes of a segment; the lists hold every so manyth entry."""

    offset_entries: int
    time_entries: int
    offsets: list[OffsetMark]
    times: list[TimeMark]


def index_marks(fs: FileSystem, directory: str, base_offset: int, most: int) -> IndexMarks:
    """Return up to `most` entries of each index of a segment, the first and the last among them. Raises OSError."""
    offsets = _open(fs, f"{directory}/{file_name(base_offset, OFFSET_INDEX_SUFFIX)}")
    times = _open(fs, f"{directory}/{file_name(base_offset, TIME_INDEX_SUFFIX)}")
    offset_entries = count_entries(offsets, OFFSET_ENTRY) if offsets else 0
    time_entries = count_entries(times, TIME_ENTRY) if times else 0
    offset_marks = [
        OffsetMark(slot, base_offset + relative, position)
        for slot, (relative, position) in _picked(offsets, OFFSET_ENTRY, offset_entries, most)
    ]
    time_marks = []
    for slot, (timestamp, relative) in _picked(times, TIME_ENTRY, time_entries, most):
        found = search_offset_index(offsets, base_offset, base_offset + relative) if offsets else None
        position = found.entry[1] if found and found.entry else 0
        time_marks.append(TimeMark(slot, timestamp, base_offset + relative, position))
    return IndexMarks(offset_entries, time_entries, offset_marks, time_marks)


def _picked(file: OpenFile | None, entry: Struct, count: int, most: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    if file is None or not count:
        return
    picked = range(count) if count <= most else sorted({round(i * (count - 1) / (most - 1)) for i in range(most)})
    for slot in picked:
        data = file.pread(entry.size, slot * entry.size)
        if len(data) < entry.size:
            return  # the file became shorter
        yield slot, entry.unpack(data)


def _open(fs: FileSystem, path: str) -> OpenFile | None:
    try:
        return fs.open(path, writable=False)
    except FileNotFoundError:
        return None
