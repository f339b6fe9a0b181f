"""The few shapes that pictures are made of, as text of SVG; everything that is put into them is escaped.

The pages forbid styles in attributes, so shapes have classes, and `static/pictures.css` says how these look.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from markupsafe import Markup

_RECT: Final = Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}">{}</rect>')
_LINE: Final = Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>')
_TEXT: Final = Markup('<text x="{}" y="{}" text-anchor="{}" class="{}">{}</text>')
_PATH: Final = Markup('<path d="{}" class="{}">{}</path>')
_TITLE: Final = Markup("<title>{}</title>")
_SVG: Final = Markup(
    '<svg class="picture" viewBox="0 0 {} {}" role="{}" aria-label="{}" preserveAspectRatio="xMidYMid meet">{}</svg>'
)
_LINK: Final = Markup('<a href="{}" aria-label="{}">{}</a>')


def picture(width: float, height: float, label: str, shapes: Iterable[Markup], *, has_links: bool = False) -> Markup:
    """Return a whole picture; `label` says in words what is to be seen."""
    role = "group" if has_links else "img"
    return _SVG.format(number(width), number(height), role, label, Markup("").join(shapes))


def rect(x: float, y: float, width: float, height: float, look: str, title: str = "") -> Markup:
    """Return a rectangle; the title is shown to who points at it."""
    return _RECT.format(number(x), number(y), number(width), number(height), look, _title(title))


def line(x1: float, y1: float, x2: float, y2: float, look: str) -> Markup:
    """Return a line."""
    return _LINE.format(number(x1), number(y1), number(x2), number(y2), look)


def text(x: float, y: float, content: str, look: str = "label", anchor: str = "start") -> Markup:
    """Return a piece of text; `anchor` is `start`, `middle` or `end`."""
    return _TEXT.format(number(x), number(y), anchor, look, content)


def path(pieces: Iterable[Sequence[tuple[float, float]]], look: str, title: str = "") -> Markup:
    """Return lines through points, one line for each piece."""
    steps = " ".join(
        "M" + " L".join(f"{number(x)} {number(y)}" for x, y in (piece if len(piece) > 1 else [*piece, *piece]))
        for piece in pieces
    )
    return _PATH.format(steps, look, _title(title))


def link(address: str, label: str, shape: Markup) -> Markup:
    """Return a shape that leads to another page; `label` is its text for who does not see it."""
    return _LINK.format(address, label, shape)


def number(value: float) -> str:
    """Return a coordinate, to a hundredth."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _title(title: str) -> Markup:
    return _TITLE.format(title) if title else Markup("")
