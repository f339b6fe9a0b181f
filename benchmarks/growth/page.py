"""Curves as a table in markdown, and its place in a page."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.growth.curve import Curve, compact

_BEGIN, _END = "<!-- growth -->", "<!-- /growth -->"


def table(curves: Sequence[Curve], described: str) -> str:
    """A row for each curve, its points as amount: figure, and below it the machine."""
    rows = ["| | by | points |", "|---|---|---|"]
    for curve in curves:
        points = " · ".join(f"{compact(amount)}: **{compact(figure)}**" for amount, figure in curve.points)
        rows.append(f"| {curve.title}, {curve.unit} | {curve.amount} | {points} |")
    return "\n".join([*rows, "", f"{described}."])


def spliced(page: str, shown: str) -> str:
    """The page with the table between the comments that mark its place; at its end where there are none."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        return f"{page.rstrip()}\n\n{_BEGIN}\n{shown}\n{_END}\n"
    return f"{before}{_BEGIN}\n{shown}\n{_END}{after}"
