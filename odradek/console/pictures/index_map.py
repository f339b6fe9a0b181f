"""The sparse indexes of a segment drawn over its file, and the way of a look-up through them, to scale."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from odradek.console.pictures.shapes import line, path, picture, rect, text
from odradek.logs.explain import Explanation
from odradek.logs.index_marks import IndexMarks
from odradek.logs.lookup import IndexSearch, Scanned
from odradek.terminal.human import count_text, plural, size_text

WIDTH: Final = 1000.0
MOST_MARKS: Final = 160
"""Entries of an index that are drawn."""
_TIME_Y, _OFFSET_Y, _FILE_Y = 22.0, 74.0, 150.0
_STRIP, _FILE = 16.0, 30.0


def index_map(marks: IndexMarks, size: int, told: Explanation | None = None) -> Markup:
    """Return the time index, the offset index and the file below each other, with lines to where entries lead.

    Of a look-up in this segment the entries that it probed, the byte that it went on from and the batch that it found
    stand out.
    """
    shapes = [rect(0, _TIME_Y, WIDTH, _STRIP, "strip"), rect(0, _OFFSET_Y, WIDTH, _STRIP, "strip")]
    shapes.append(rect(0, _FILE_Y, WIDTH, _FILE, "file"))
    offset_title = f"offset index, {plural(marks.offset_entries, 'entry', 'entries')}"
    if len(marks.offsets) < marks.offset_entries:
        offset_title += f"; one in {marks.offset_entries / len(marks.offsets):,.0f} is drawn"
    if marks.offsets:
        slots = [_slot_x(each.slot, marks.offset_entries) for each in marks.offsets]
        bytes_x = [_byte_x(each.position, size) for each in marks.offsets]
        pieces = [
            [(x, _OFFSET_Y), (x, _OFFSET_Y + _STRIP), (at, _FILE_Y), (at, _FILE_Y + _FILE)]
            for x, at in zip(slots, bytes_x, strict=True)
        ]
        shapes.append(path(pieces, "entry"))
    if marks.times and marks.offset_entries:
        pieces = []
        offsets = [each.offset for each in marks.offsets]
        for time in marks.times:
            x = _slot_x(time.slot, marks.time_entries)
            to = _slot_x(_nearest_slot(offsets, marks, time.offset), marks.offset_entries)
            pieces.append([(x, _TIME_Y), (x, _TIME_Y + _STRIP), (to, _OFFSET_Y)])
        shapes.append(path(pieces, "time-entry"))
    if told is not None:
        shapes += _way(told, marks, size)
    shapes += [
        text(0, _TIME_Y - 6, f"time index, {plural(marks.time_entries, 'entry', 'entries')}"),
        text(0, _OFFSET_Y - 6, offset_title),
        text(0, _FILE_Y + _FILE + 18, "byte 0"),
        text(WIDTH, _FILE_Y + _FILE + 18, f"{count_text(size)} bytes", anchor="end"),
    ]
    return picture(WIDTH, _FILE_Y + _FILE + 26, _label(marks, size, told), shapes)


def scan_map(told: Explanation) -> Markup | None:
    """Return the last part of the way to scale: the batches from the byte that the index gave to the one sought."""
    done = told.scan
    if done is None or not done.last:
        return None
    first, last = done.start, done.last[-1].position + done.last[-1].header.size
    if last <= first:
        return None
    shapes = [rect(0, 24, WIDTH, 34, "strip")]
    previous = first
    for each in done.last:
        begin, end = _within(each, first, last)
        if each.position > previous:
            hidden = _within_bytes(previous, first, last), begin
            shapes.append(rect(hidden[0], 24, hidden[1] - hidden[0], 34, "skipped", "batches that are not drawn"))
        look = "batch found" if each is done.found else "batch"
        header = each.header
        told_text = f"byte {each.position}: offsets {header.base_offset} to {header.last_offset}, {header.size} bytes"
        shapes.append(rect(begin, 24, max(1.0, end - begin), 34, look, told_text))
        previous = each.position + header.size
    shapes += [text(0, 16, f"byte {first}, where the index leads"), text(WIDTH, 76, f"byte {last}", anchor="end")]
    what = f"{plural(done.stepped_over, 'batch', 'batches')} stepped over, {size_text(last - first)}"
    shapes.append(text(0, 76, what))
    if done.found is not None:
        found = f"offsets {done.found.header.base_offset} to {done.found.header.last_offset}"
        shapes.append(text(WIDTH, 16, f"the batch with {found}", anchor="end"))
    return picture(WIDTH, 84, f"The way from byte {first}: {what}", shapes)


def _way(told: Explanation, marks: IndexMarks, size: int) -> list[Markup]:
    shapes: list[Markup] = []
    for search, y, entries in (
        (told.time_search, _TIME_Y, marks.time_entries),
        (told.index_search, _OFFSET_Y, marks.offset_entries),
    ):
        if search is not None and entries:
            shapes += _probes(search, y, entries)
    if told.position is None:
        return shapes
    start = _byte_x(told.position, size)
    if told.index_search is not None and told.index_search.slot >= 0 and marks.offset_entries:
        x = _slot_x(told.index_search.slot, marks.offset_entries)
        shapes.append(path([[(x, _OFFSET_Y), (x, _OFFSET_Y + _STRIP), (start, _FILE_Y)]], "way"))
    if told.scan is not None and told.scan.found is not None:
        position, header = told.scan.found
        at, end = _byte_x(position, size), _byte_x(position + header.size, size)
        shapes.append(rect(start, _FILE_Y + 8, max(0.5, at - start), _FILE - 16, "scanned"))
        shapes.append(rect(at, _FILE_Y, max(2.0, end - at), _FILE, "batch found", f"the batch at byte {position}"))
    shapes.append(line(start, _FILE_Y - 3, start, _FILE_Y + _FILE + 3, "way"))
    return shapes


def _probes(search: IndexSearch, y: float, entries: int) -> list[Markup]:
    found = []
    for number, probe in enumerate(search.probes, 1):
        x = _slot_x(probe.slot, entries)
        entry = ", ".join(map(str, probe.entry))
        verdict = "at or before" if probe.is_at_most else "after"
        title = f"probe {number}: entry {probe.slot} ({entry}) is {verdict} what is sought"
        found.append(rect(x - 3, y - 2, 6, _STRIP + 4, "probe last" if probe.slot == search.slot else "probe", title))
    return found


def _label(marks: IndexMarks, size: int, told: Explanation | None) -> str:
    label = (
        f"{plural(marks.time_entries, 'entry', 'entries')} of the time index lead to offsets, "
        f"{plural(marks.offset_entries, 'entry', 'entries')} of the offset index to places in a file of "
        f"{size_text(size)}"
    )
    if told is None or told.position is None:
        return label
    probes = len(told.index_search.probes) if told.index_search else 0
    label += f"; the look-up probed {plural(probes, 'entry', 'entries')} and went on from byte {told.position}"
    if told.scan is not None and told.scan.found is not None:
        label += f" to the batch at byte {told.scan.found.position}"
    return label


def _nearest_slot(offsets: Sequence[int], marks: IndexMarks, offset: int) -> int:
    """Return the slot of the drawn entry of the offset index that is next to an offset."""
    place = min(bisect_left(offsets, offset), len(offsets) - 1)
    return marks.offsets[place].slot


def _slot_x(slot: int, entries: int) -> float:
    return WIDTH * (slot + 0.5) / entries


def _byte_x(position: int, size: int) -> float:
    return WIDTH * min(position, size) / size if size else 0.0


def _within(each: Scanned, first: int, last: int) -> tuple[float, float]:
    end = each.position + each.header.size
    return _within_bytes(each.position, first, last), _within_bytes(end, first, last)


def _within_bytes(position: int, first: int, last: int) -> float:
    return WIDTH * (position - first) / (last - first)
