"""How a table gets onto a terminal that is narrower: which columns stay or are folded, when a row has its own lines.

Pure: widths are numbers of cells of a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

GAP: Final = 2
"""Between two columns."""
SHORT: Final = 24
"""A column of texts up to here is never folded: a number, a time or an offset in pieces says nothing."""
LEAST: Final = 12
"""To which a column of longer texts may be folded."""


@dataclass(frozen=True, slots=True)
class TableLayout:
    """What becomes of a table: the columns that are shown, by their numbers, and those of them that are folded."""

    columns: Sequence[int]
    folded: frozenset[int] = frozenset()
    is_upright: bool = False
    """Each row as lines of a heading and a value."""


def fit(headings: Sequence[str], widths: Sequence[int], width: int) -> TableLayout:
    """Return how a table is shown in `width`; columns without a heading are pictures, and go first.

    `widths` are those of the widest cell of each column, its heading included.
    """
    columns = list(range(len(headings)))
    if _total(widths) <= width:
        return TableLayout(columns)
    columns = [each for each in columns if headings[each]]
    folded = frozenset(each for each in columns if widths[each] > SHORT)
    if _total([widths[each] for each in columns]) <= width:
        return TableLayout(columns)
    if folded and _total([LEAST if each in folded else widths[each] for each in columns]) <= width:
        return TableLayout(columns, folded)
    return TableLayout(columns, is_upright=True)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * max(0, len(widths) - 1)
