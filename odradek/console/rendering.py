"""Templates, with everything that is put into them escaped, and numbers as people read them."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from odradek import __version__
from odradek.logs.dump_text import printable
from odradek.terminal.human import count_text, plural, size_text, time_text

LONGEST_BYTES: Final = 10_000
"""Of a key or value that is shown in one piece."""


def templates() -> Environment:
    """Return the templates of the console."""
    found = Environment(
        loader=PackageLoader("odradek.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "count": lambda number: "–" if number is None else count_text(number),
        "size": lambda size: "–" if size is None else size_text(size),
        "time": lambda milliseconds: "–" if milliseconds is None else time_text(milliseconds),
        "rate": _rate,
        "bytes_text": lambda content: "null" if content is None else printable(content[:LONGEST_BYTES]),
        "word": lambda name: str(name).lower().replace("_", " "),
        "in_path": lambda text: quote(str(text), safe=""),
    }
    found.globals |= {"plural": plural, "version": __version__}
    return found


def _rate(records_per_s: float | None) -> str:
    """Return a rate with as many digits as matter; one that is not known as a dash."""
    if records_per_s is None:
        return "–"
    return f"{records_per_s:.1f}" if 0 < records_per_s < 99.95 else count_text(records_per_s)
