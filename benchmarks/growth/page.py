"""Curves as a table in markdown, and its place in a page."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.growth.curve import Curve, compact

_BEGIN, _END = "<!-- growth -->", "<!-- /growth -->"


def row(curve: Curve) -> str:
    """A line of the table, with the points as amount: figure."""
    points = " · ".join(f"{compact(amount)}: **{compact(figure)}**" for amount, figure in curve.points)
    return f"| {curve.title}, {curve.unit} | {curve.amount} | {points} |"


def table(curves: Sequence[Curve], remark: str, picture: str = "") -> str:
    """The picture, if there is a file of it; a row for each curve; the remark."""
    head = [f"![The curves of the table below, logarithmic both ways]({picture})", ""] if picture else []
    return "\n".join([*head, "| | by | points |", "|---|---|---|", *map(row, curves), "", remark])


def spliced(page: str, shown: str) -> str:
    """The page with the table between the comments that mark its place; at its end where there are none."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        return f"{page.rstrip()}\n\n{_BEGIN}\n{shown}\n{_END}\n"
    return f"{before}{_BEGIN}\n{shown}\n{_END}{after}"
