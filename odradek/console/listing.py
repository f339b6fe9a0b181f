"""Long lists: searched, sorted, and shown a page at a time. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlencode

Row = TypeVar("Row")
PER_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Row]):
    """One page of a list; pages are counted from 1."""

    rows: Sequence[Row]
    found: int
    """Rows on all pages."""
    number: int
    pages: int
    sort: str
    is_descending: bool
    parameters: Mapping[str, str]
    """Of the address, without page and order."""

    def address_of_page(self, number: int) -> str:
        """Return the query of another page."""
        return "?" + urlencode({**self.parameters, **self._order(), "page": number})

    def address_of_order(self, column: str) -> str:
        """Return the query of the same list in the order of a column; the other way round if it is already."""
        turn = column == self.sort and not self.is_descending
        return "?" + urlencode({**self.parameters, "sort": f"-{column}" if turn else column})

    @property
    def address(self) -> str:
        """The query of this page."""
        return self.address_of_page(self.number)

    def direction(self, column: str) -> str:
        """Return what aria-sort says of a column."""
        if column != self.sort:
            return "none"
        return "descending" if self.is_descending else "ascending"

    def _order(self) -> dict[str, str]:
        return {"sort": f"-{self.sort}" if self.is_descending else self.sort}


def list_page(
    rows: Sequence[Row],
    columns: Mapping[str, Callable[[Row], Any]],
    order: str,
    number: int,
    parameters: Mapping[str, str],
) -> ListPage[Row]:
    """Return a page of rows in order; `order` is a column, with `-` before it from its largest value.

    The first column is the order where there is no such column. Rows of which a value is not known come last.
    """
    sort = order.removeprefix("-")
    if sort not in columns:
        sort, order = next(iter(columns)), ""
    is_descending = order.startswith("-")
    value = columns[sort]
    known = [each for each in rows if value(each) is not None]
    known.sort(key=value, reverse=is_descending)
    ordered = [*known, *(each for each in rows if value(each) is None)]
    pages = max(1, -(-len(rows) // PER_PAGE))
    number = min(max(1, number), pages)
    some = ordered[(number - 1) * PER_PAGE : number * PER_PAGE]
    kept = {name: given for name, given in parameters.items() if given}
    return ListPage(some, len(rows), number, pages, sort, is_descending, kept)
