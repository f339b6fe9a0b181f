"""Curves as one SVG picture: a panel for each, logarithmic both ways; what grows in proportion is a straight slope.

Pure: text from data. Colours are those of a page of either brightness: grey lines, one blue.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from xml.sax.saxutils import escape

from benchmarks.growth.curve import Curve, compact

_WIDTH, _HEIGHT = 420, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 24, 44, 34
_COLUMNS = 2
_STYLE = (
    "text{font:11px sans-serif;fill:#777}.t{font-size:12px;font-weight:bold}.v{fill:#2a6fdb}"
    "path{fill:none;stroke:#2a6fdb;stroke-width:1.5}circle{fill:#2a6fdb}line{stroke:#999;stroke-width:.4}"
)


def svg(curves: Sequence[Curve]) -> str:
    """The picture, as the text of an SVG file."""
    rows = ceil(len(curves) / _COLUMNS)
    width, height = _WIDTH * _COLUMNS, _HEIGHT * rows
    panels = [
        f'<g transform="translate({_WIDTH * (place % _COLUMNS)},{_HEIGHT * (place // _COLUMNS)})">{_panel(curve)}</g>'
        for place, curve in enumerate(curves)
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return "\n".join([head, f"<style>{_STYLE}</style>", *panels, "</svg>", ""])


def _panel(curve: Curve) -> str:
    across = _Scale([x for x, _ in curve.points], _LEFT, _WIDTH - _RIGHT)
    upward = _Scale([y for _, y in curve.points], _HEIGHT - _BOTTOM, _TOP)
    out = [f'<text class="t" x="{_LEFT}" y="16">{escape(curve.title)}</text>']
    out.append(f'<text x="{_LEFT}" y="30">{escape(curve.unit)}, by {escape(curve.amount)}</text>')
    for value in upward.decades:
        y = upward.at(value)
        out.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text text-anchor="end" x="{_LEFT - 6}" y="{y + 4:.1f}">{compact(value)}</text>')
    places = [(across.at(x), upward.at(y)) for x, y in curve.points]
    out.append(f'<path d="M{" L".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>')
    for (x, y), (amount, figure) in zip(places, curve.points, strict=True):
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>')
        out.append(f'<text class="v" text-anchor="middle" x="{x:.1f}" y="{y - 6:.1f}">{compact(figure)}</text>')
        out.append(f'<text text-anchor="middle" x="{x:.1f}" y="{_HEIGHT - 16}">{compact(amount)}</text>')
    return "".join(out)


class _Scale:
    """Where a value lies between two places, by its logarithm; a decade at least."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        self._low = floor(log10(min(values)) + 1e-9)
        self._high = max(ceil(log10(max(values)) - 1e-9), self._low + 1)
        self._begin, self._end = begin, end

    @property
    def decades(self) -> list[float]:
        """Powers of ten from below all values to above them."""
        return [10.0**power for power in range(self._low, self._high + 1)]

    def at(self, value: float) -> float:
        share = (log10(value) - self._low) / (self._high - self._low)
        return self._begin + share * (self._end - self._begin)
