"""Lines over time: what a chart of the last hour is made of, with a text that says what is to be seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from odradek.console.pictures.shapes import line, path, picture, text

WIDTH, HEIGHT = 640.0, 180.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.0, 8.0, 26.0, 30.0
"""Room for labels of 22 pixels, as they are on a narrow page; those of values stand in the chart, on their lines."""
MOST_LINES: Final = 6
"""Lines of a chart, as many as there are colours that can be told apart."""


class ChartLine(NamedTuple):
    """A line: a value for each time, NaN where there is none."""

    name: str
    values: Sequence[float]


def line_chart(
    title: str, times: Sequence[float], lines: Sequence[ChartLine], show: Callable[[float], str], span_s: float
) -> Markup:
    """Return a chart of up to MOST_LINES lines over the last `span_s` seconds; `times` are in seconds, the last is now.

    Values are not below 0.
    """
    drawn = lines[:MOST_LINES]
    end = times[-1] if times else 0.0
    begin = end - span_s
    top = nice_ceiling(max((value for each in drawn for value in each.values if not math.isnan(value)), default=0.0))
    inner_width, inner_height = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM

    def x_of(time: float) -> float:
        return _LEFT + inner_width * (time - begin) / span_s

    def y_of(value: float) -> float:
        return _TOP + inner_height * (1 - value / top)

    levels = [top * step / 2 for step in range(3)]
    shapes = [line(_LEFT, y_of(value), WIDTH - _RIGHT, y_of(value), "grid") for value in levels]
    for number, each in enumerate(drawn):
        pieces: list[list[tuple[float, float]]] = []
        was_there = False
        for time, value in zip(times, each.values, strict=True):
            is_there = not math.isnan(value) and time >= begin
            if is_there:
                if not was_there:
                    pieces.append([])
                pieces[-1].append((x_of(time), y_of(value)))
            was_there = is_there
        if pieces:
            shapes.append(path(pieces, f"line line-{number}", each.name))
    shapes += [text(_LEFT, y_of(value) - 4, show(value)) for value in levels]  # on top, so that no line hides them
    for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        shapes.append(text(_LEFT + inner_width * part, HEIGHT - 6, ago_text(span_s * (1 - part)), anchor=anchor))
    return picture(WIDTH, HEIGHT, chart_text(title, drawn, show), shapes)


def chart_text(title: str, lines: Sequence[ChartLine], show: Callable[[float], str]) -> str:
    """Return what a chart shows, in words."""
    told = []
    for each in lines[:MOST_LINES]:
        values = [value for value in each.values if not math.isnan(value)]
        if values:
            told.append(f"{each.name} {show(values[-1])} now, {show(min(values))} to {show(max(values))}")
    return f"{title}: {'; '.join(told) or 'nothing measured yet'}"


def nice_ceiling(value: float) -> float:
    """Return the next 1, 2 or 5 times a power of ten; 1 for nothing at all."""
    if not value > 0 or math.isinf(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(each * power for each in (1, 2, 5, 10) if each * power >= value * 0.999_999)


def ago_text(seconds: float) -> str:
    """Return how long ago, in short."""
    if seconds < 1:
        return "now"
    return f"{seconds / 60:.0f} min ago" if seconds >= 60 else f"{seconds:.0f} s ago"
