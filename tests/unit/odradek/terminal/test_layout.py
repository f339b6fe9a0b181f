"""Tables on narrow terminals."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.terminal.layout import GAP, LEAST, SHORT, TableLayout, fit

HEADINGS = ["TOPIC", "LAG", "MEMBER", ""]
WIDTHS = [10, 8, 45, 30]


def test_what_fits_stays_as_it_is() -> None:
    """Nothing is left out or folded, down to the last cell."""
    assert fit(HEADINGS, WIDTHS, 93 + 3 * GAP) == TableLayout([0, 1, 2, 3])


def test_pictures_go_first_then_long_texts_are_folded() -> None:
    """Short columns keep their width, so that no number is ever in pieces."""
    assert fit(HEADINGS, WIDTHS, 92 + 3 * GAP) == TableLayout([0, 1, 2])
    assert fit(HEADINGS, WIDTHS, 63 + 2 * GAP) == TableLayout([0, 1, 2])
    assert fit(HEADINGS, WIDTHS, 62 + 2 * GAP) == TableLayout([0, 1, 2], frozenset({2}))
    assert fit(HEADINGS, WIDTHS, 18 + LEAST + 2 * GAP) == TableLayout([0, 1, 2], frozenset({2}))


def test_a_row_has_lines_of_its_own_where_nothing_else_helps() -> None:
    """Each heading with its value below the other."""
    assert fit(HEADINGS, WIDTHS, 17 + LEAST + 2 * GAP) == TableLayout([0, 1, 2], is_upright=True)
    assert fit(["A", "B"], [20, 20], 30) == TableLayout([0, 1], is_upright=True)


@given(widths=st.lists(st.integers(0, 200), max_size=8), width=st.integers(1, 300))
def test_only_long_columns_are_folded_and_the_rest_fits(widths: list[int], width: int) -> None:
    """Whatever the widths are, what is not upright fits, and what is folded is longer than short."""
    layout = fit(["H"] * len(widths), widths, width)
    assert all(widths[each] > SHORT for each in layout.folded)
    needed = [LEAST if each in layout.folded else widths[each] for each in layout.columns]
    assert layout.is_upright or sum(needed) + GAP * max(0, len(needed) - 1) <= width
