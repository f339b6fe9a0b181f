"""A log as a strip of its segments to scale, by bytes and by time, with what retention and compaction make of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from odradek.console.pictures.shapes import line, link, picture, rect, text
from odradek.logs.outline import LogOutline
from odradek.logs.upkeep import CompactionPart, LogUpkeep, SegmentUpkeep
from odradek.terminal.human import plural, size_text, time_text

WIDTH: Final = 1000.0
MOST_DRAWN: Final = 250
"""Rectangles of a strip; where a log has more segments, neighbours are drawn as one."""
_LEAST_WIDTH: Final = 1.5
"""Of a rectangle, so that a small segment is seen at all."""
_TOP, _HEIGHT = 44.0, 46.0


class DrawnSegments(NamedTuple):
    """Neighbours that are drawn as one rectangle: mostly a single segment."""

    members: Sequence[SegmentUpkeep]
    look: str
    """Class of the rectangle."""

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return sum(each.segment.size for each in self.members)


def look_of(each: SegmentUpkeep, now_ms: int, is_last: bool) -> str:
    """Return the class that a segment is drawn with: what compaction makes of it, and whether it is about to go."""
    part = each.part.value if each.part is not None else ("active" if is_last else "plain")
    is_due = each.departure is not None and not each.departure.is_held and each.departure.due_ms == now_ms
    return f"segment {part} due" if is_due else f"segment {part}"


def group(plan: LogUpkeep, now_ms: int) -> list[DrawnSegments]:
    """Return what is drawn as one: each segment alone where there are few, neighbours of the same look otherwise."""
    last = len(plan.segments) - 1
    together = -(-len(plan.segments) // MOST_DRAWN)
    found: list[tuple[str, list[SegmentUpkeep]]] = []
    for number, each in enumerate(plan.segments):
        look = look_of(each, now_ms, number == last)
        if together > 1 and found and found[-1][0] == look and len(found[-1][1]) < together:
            found[-1][1].append(each)
        else:
            found.append((look, [each]))
    return [DrawnSegments(members, look) for look, members in found]


def by_size(log: LogOutline, plan: LogUpkeep, now_ms: int, address: Callable[[int], str]) -> Markup:
    """Return the segments beside each other, as wide as they are large; `address` leads to a segment's page."""
    drawn = group(plan, now_ms)
    widths = _widths([each.size for each in drawn])
    shapes: list[Markup] = []
    x = 0.0
    places: list[tuple[int, int, float, float]] = []
    for each, width in zip(drawn, widths, strict=True):
        first, last = each.members[0].segment, each.members[-1].segment
        told = describe_members(each)
        shape = rect(x, _TOP, width, _HEIGHT, each.look, told)
        shapes.append(link(address(first.base_offset), told, shape))
        end = last.end_offset if last.end_offset is not None else last.base_offset
        places.append((first.base_offset, max(end, first.base_offset + 1), x, width))
        x += width
    for name, offset in _offsets_of(log).items():
        if (at := _place(places, offset)) is not None:
            shapes += _mark(at, name, offset)
    shapes.append(text(0, _TOP + _HEIGHT + 18, f"{plan.segments[0].segment.base_offset}"))
    end_text = "?" if log.end_offset is None else str(log.end_offset)
    shapes.append(text(WIDTH, _TOP + _HEIGHT + 18, end_text, anchor="end"))
    middle = f"{plural(len(plan.segments), 'segment')}, {size_text(log.size)}"
    shapes.append(text(WIDTH / 2, _TOP + _HEIGHT + 18, middle, anchor="middle"))
    label = f"Segments by size: {middle}, offsets {plan.segments[0].segment.base_offset} to {end_text}"
    return picture(WIDTH, _TOP + _HEIGHT + 26, label, shapes, has_links=True)


def by_time(plan: LogUpkeep, retention_ms: int, now_ms: int) -> Markup | None:
    """Return the segments along time, with the line that retention.ms draws; None where records have no times."""
    timed = [each for each in group(plan, now_ms) if each.members[-1].segment.max_timestamp >= 0]
    if not timed:
        return None
    line_ms = now_ms - retention_ms if retention_ms >= 0 else None
    oldest = min(_first_ms(each) for each in timed)
    newest = max(now_ms, *(_last_ms(each) for each in timed))
    if line_ms is not None and line_ms < oldest and oldest - line_ms <= 3 * max(1, newest - oldest):
        oldest = line_ms  # near enough to be seen coming
    span = max(1, newest - oldest)

    def at(time_ms: int) -> float:
        return WIDTH * (time_ms - oldest) / span

    shapes: list[Markup] = []
    if line_ms is not None and line_ms >= oldest:
        x = min(at(line_ms), WIDTH)
        shapes += [rect(0, 20, x, 44, "past"), line(x, 14, x, 70, "limit")]
        shapes.append(text(*_beside(x, 12), "retention.ms", "label", "start" if x < WIDTH / 2 else "end"))
    for number, each in enumerate(timed):
        x = at(_first_ms(each))
        width = max(_LEAST_WIDTH, at(_last_ms(each)) - x)
        shapes.append(
            rect(min(x, WIDTH - _LEAST_WIDTH), 24 + 20 * (number % 2), width, 16, each.look, describe_members(each))
        )
    now = at(now_ms)
    shapes += [line(now, 20, now, 70, "now"), text(0, 86, time_text(oldest))]
    shapes.append(text(WIDTH, 86, time_text(newest) if newest > now_ms else f"now, {time_text(now_ms)}", anchor="end"))
    limit = "" if line_ms is None else f"; retention.ms reaches back to {time_text(max(0, line_ms))}"
    label = f"Segments by the times of their records, {time_text(oldest)} to {time_text(newest)}{limit}"
    return picture(WIDTH, 92, label, shapes)


def describe_members(each: DrawnSegments) -> str:
    """Return what is drawn as one, in words."""
    first, last = each.members[0], each.members[-1]
    end = "?" if last.segment.end_offset is None else last.segment.end_offset
    if len(each.members) > 1:
        return f"{len(each.members)} segments, offsets {first.segment.base_offset} to {end}, {size_text(each.size)}"
    return f"segment {first.segment.base_offset} to {end}, {size_text(each.size)}, {fate_text(first)}"


def fate_text(each: SegmentUpkeep) -> str:
    """Return what becomes of a segment, in words."""
    told = []
    if each.part is CompactionPart.ACTIVE or each.part is None:
        pass
    elif each.part is CompactionPart.WAITING:
        told.append("not to be compacted yet")
    else:
        told.append({CompactionPart.CLEAN: "compacted", CompactionPart.DIRTY: "dirty"}[each.part])
    goes = each.departure
    if goes is None:
        told.append("stays")
    elif goes.is_held:
        told.append(f"held until it is committed, then it goes by {goes.reason}")
    elif goes.after_bytes == 0:
        told.append(f"goes next: {goes.reason}")
    else:
        ways = []
        if goes.due_ms is not None:
            ways.append(f"at {time_text(goes.due_ms)}" if goes.due_ms < _FAR_MS else "in the far future")
        if goes.after_bytes is not None:
            ways.append(f"once {size_text(goes.after_bytes)} more are written")
        told.append(f"goes {' or '.join(ways)} ({goes.reason})")
    return ", ".join(told)


_FAR_MS: Final = 32_503_680_000_000
"""The year 3000."""


def _widths(sizes: Sequence[int]) -> list[float]:
    """Return widths in proportion that fill the strip, none of them so small that it cannot be seen."""
    total = sum(sizes)
    if not total:
        return [WIDTH / max(1, len(sizes))] * len(sizes)
    raw = [max(_LEAST_WIDTH, WIDTH * size / total) for size in sizes]
    scale = WIDTH / sum(raw)
    return [each * scale for each in raw]


def _place(places: Sequence[tuple[int, int, float, float]], offset: int) -> float | None:
    """Return where an offset is on the strip, as far as offsets of a segment are spread evenly over its bytes."""
    for begin, end, x, width in places:
        if begin <= offset <= end:
            return x + width * (offset - begin) / (end - begin)
    return None


def _offsets_of(log: LogOutline) -> dict[str, int]:
    """Return the offsets that are marked on the strip, by what they are called there; none twice."""
    marks = log.checkpoints
    found: dict[str, int] = {}
    if log.start_offset > log.segments[0].base_offset:
        found["start"] = log.start_offset
    if marks.cleaned_to is not None:
        found["compacted to"] = marks.cleaned_to
    if marks.high_watermark is not None:
        found["committed"] = marks.high_watermark
    if marks.recovery_point is not None and marks.recovery_point != marks.high_watermark:
        found["on the disk"] = marks.recovery_point
    return found


def _mark(x: float, name: str, offset: int) -> list[Markup]:
    anchor = "start" if x < WIDTH * 0.15 else "end" if x > WIDTH * 0.85 else "middle"
    y = {"compacted to": 24.0, "on the disk": 38.0}.get(name, 10.0)
    return [
        line(x, y + 2, x, _TOP + _HEIGHT + 4, "mark"),
        text(x, y, f"{name} {offset}", "label", anchor),
    ]


def _beside(x: float, y: float) -> tuple[float, float]:
    return (x + 4 if x < WIDTH / 2 else x - 4), y


def _first_ms(each: DrawnSegments) -> int:
    times = [one.segment.first_timestamp for one in each.members if one.segment.first_timestamp >= 0]
    return min(*times, _last_ms(each)) if times else _last_ms(each)


def _last_ms(each: DrawnSegments) -> int:
    return max(one.segment.max_timestamp for one in each.members)
