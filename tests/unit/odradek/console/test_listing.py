"""Long lists, a page at a time."""

from __future__ import annotations

from odradek.console.listing import PER_PAGE, list_page

COLUMNS = {"name": lambda each: each[0], "size": lambda each: each[1]}


def test_pages_have_every_row_once() -> None:
    """All pages together are the list in its order."""
    rows = [(f"t{number:04}", number % 7) for number in range(3 * PER_PAGE + 1)]
    first = list_page(rows[::-1], COLUMNS, "name", 1, {})
    assert (first.pages, first.found) == (4, len(rows))
    seen = [row for number in range(1, 5) for row in list_page(rows[::-1], COLUMNS, "name", number, {}).rows]
    assert seen == rows


def test_unknown_values_come_last() -> None:
    """Rows of which a value is not known are behind the others, whichever way they are sorted."""
    rows = [("a", None), ("b", 1), ("c", 3)]
    assert [name for name, _ in list_page(rows, COLUMNS, "size", 1, {}).rows] == ["b", "c", "a"]
    assert [name for name, _ in list_page(rows, COLUMNS, "-size", 1, {}).rows] == ["c", "b", "a"]


def test_what_an_address_asks_for_is_bounded() -> None:
    """A page that is not there is the nearest one, and an order that is not there the first column's."""
    listed = list_page([("b", 1), ("a", 2)], COLUMNS, "-constructor", 99, {})
    assert (listed.number, listed.sort, listed.is_descending) == (1, "name", False)
    assert list_page([], COLUMNS, "name", -5, {}).number == 1


def test_addresses_keep_what_was_searched() -> None:
    """The links of a list keep the search, and a second click turns the order round."""
    listed = list_page([("a", 1)], COLUMNS, "size", 1, {"q": "a&b", "state": ""})
    assert listed.address_of_order("size") == "?q=a%26b&sort=-size"
    assert listed.address_of_order("name") == "?q=a%26b&sort=name"
    assert listed.address_of_page(2) == "?q=a%26b&sort=size&page=2"
    assert (listed.direction("size"), listed.direction("name")) == ("ascending", "none")
