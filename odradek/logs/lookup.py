"""The searches with which a log finds an offset or a time, written down step by step.

Pure but for the reads: each probe reads what it needs from the file and no more, so that the bytes that are counted are
those that the search is about. Follows Kafka's log behaviour, fetch and offsets by time (`LogSegments.floorSegment`,
`OffsetIndex.lookup`, `TimeIndex.lookup`, `LogSegment.findOffsetByTimestamp`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import NamedTuple

from odradek.logs.index_entries import OFFSET_ENTRY, TIME_ENTRY, count_entries
from odradek.protocol.records.batch import HEADER_SIZE, BatchHeader
from odradek.storage.files import OpenFile
from odradek.storage.segment.entry_walk import EntryWalk


class Probe(NamedTuple):
    """One step of a binary search: what was looked at, and whether it is at or before what is sought."""

    slot: int
    low: int
    """First slot that was still possible before this step."""
    high: int
    """Last one."""
    entry: tuple[int, ...]
    """A base offset; offset and position; timestamp and offset."""
    is_at_most: bool


class IndexSearch(NamedTuple):
    """A binary search for the last entry that is at most the target."""

    entries: int
    probes: tuple[Probe, ...]
    slot: int
    """Of what was found, -1 if all entries are beyond the target."""
    entry: tuple[int, ...] | None
    bytes_read: int


class Scanned(NamedTuple):
    """A batch header that was read on the way from the position to the batch."""

    position: int
    header: BatchHeader


class HeaderScan(NamedTuple):
    """The way over batch headers from a position on."""

    start: int
    stepped_over: int
    """How many batches end before what is sought."""
    last: tuple[Scanned, ...]
    """The first and the last few headers that were read; the last one is that of the batch found."""
    found: Scanned | None
    bytes_read: int
    problem: str
    """Why the scan went no further, where it found nothing; empty at the end of the file."""


_SHOWN = 8


def search_segments(base_offsets: Sequence[int], target: int) -> IndexSearch:
    """Search the segment whose range has the offset: the last one that begins at it or before it. Reads no file."""
    found = _search(len(base_offsets), lambda slot: (base_offsets[slot],), target)
    return found._replace(bytes_read=0)


def search_offset_index(file: OpenFile, base_offset: int, target: int) -> IndexSearch:
    """Search the last entry whose offset is at most the target; entries are (offset, position)."""

    def read(slot: int) -> tuple[int, ...]:
        relative, position = _read_entry(file, OFFSET_ENTRY, slot)
        return base_offset + relative, position

    found = _search(count_entries(file, OFFSET_ENTRY), read, target)
    return found._replace(bytes_read=OFFSET_ENTRY.size * len(found.probes))


def search_time_index(file: OpenFile, base_offset: int, target: int) -> IndexSearch:
    """Search the last entry whose timestamp is at most the target; entries are (timestamp, offset)."""

    def read(slot: int) -> tuple[int, ...]:
        timestamp, relative = _read_entry(file, TIME_ENTRY, slot)
        return timestamp, base_offset + relative

    found = _search(count_entries(file, TIME_ENTRY), read, target)
    return found._replace(bytes_read=TIME_ENTRY.size * len(found.probes))


def scan(
    file: OpenFile, start: int, size: int, is_found: Callable[[BatchHeader], bool], most: int | None = None
) -> HeaderScan:
    """Read batch headers from `start` on up to the first that `is_found` says is the one, `most` of them if given."""
    walk = EntryWalk(file, size, start, checked=False)
    first: list[Scanned] = []
    recent: list[Scanned] = []
    over = 0
    for position, fields, _ in walk:
        each = Scanned(position, BatchHeader._make(fields))
        if is_found(each.header):
            return HeaderScan(start, over, (*first, *recent, each), each, (over + 1) * HEADER_SIZE, "")
        over += 1
        if over == most:
            told = f"{most:,} batches were gone over from byte {start} on, and no more: `odradek log explain` goes on"
            return HeaderScan(start, over, (*first, *recent), None, over * HEADER_SIZE, told)
        if len(first) < _SHOWN:
            first.append(each)
        else:
            recent = [*recent[-_SHOWN + 1 :], each]
    problem = f"at byte {walk.position}: {walk.reason}" if walk.reason else ""
    return HeaderScan(start, over, (*first, *recent), None, over * HEADER_SIZE, problem)


def _search(count: int, read: Callable[[int], tuple[int, ...]], target: int) -> IndexSearch:
    probes: list[Probe] = []
    low, high = 0, count - 1
    found: tuple[int, ...] | None = None
    while low <= high:
        middle = (low + high) // 2
        entry = read(middle)
        is_at_most = entry[0] <= target
        probes.append(Probe(middle, low, high, entry, is_at_most))
        if is_at_most:
            found, low = entry, middle + 1
        else:
            high = middle - 1
    return IndexSearch(count, tuple(probes), high, found, 0)


def _read_entry(file: OpenFile, entry: Struct, slot: int) -> tuple[int, ...]:
    return entry.unpack(file.pread(entry.size, slot * entry.size).ljust(entry.size, b"\0"))
