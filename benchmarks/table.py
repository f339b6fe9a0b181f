"""A report as a table: plain text for the terminal, markdown for the documentation."""

from __future__ import annotations

from benchmarks.runner import Report, Row
from benchmarks.target import APACHE_KAFKA

_LEGEND = (
    "floor: the smallest program that moves the same bytes, measured in the same run. "
    "of floor: value / floor. MB = 1e6 bytes of record values, GB = 1e9; CPU is user + system of the broker process."
)
_LEGEND_PEERS = "odradek is: how many times better than the first broker (above 1: odradek is ahead)."


def text(report: Report) -> str:
    """The report as aligned columns, each axis under its title."""
    header, body = _cells(report)
    widths = [max(len(row[column]) for row in [header, *(cells for _, cells in body)]) for column in range(len(header))]

    def line(cells: list[str]) -> str:
        first, *rest = cells
        return "  " + "  ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True))])

    lines = [line(header)]
    last = None
    for row, cells in body:
        if row.axis is not last:
            lines.append(f"{row.axis.title} [{row.axis.name}]")
            last = row.axis
        lines.append(line(cells).rstrip())
    return "\n".join([*lines, "", *_remarks(report)])


def markdown(report: Report) -> str:
    """The report as a markdown table, with the machine above and the notes below."""
    header, body = _cells(report)
    lines = [f"| axis | {' | '.join(header)} |", f"|---|---{'|--:' * (len(header) - 1)}|"]
    last = None
    for row, cells in body:
        title = row.axis.title if row.axis is not last else ""
        last = row.axis
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"{remark}  " for remark in _remarks(report))])


def spliced(document: str, report: Report) -> str:
    """The document with the report's markdown between the comments that mark its place; alone if there are none.

    The place is `<!-- bench -->` to `<!-- /bench -->`, or `<!-- peers -->` to `<!-- /peers -->` for a comparison with
    Apache Kafka, `<!-- beside -->` to `<!-- /beside -->` for one with another revision, `<!-- cluster -->` to
    `<!-- /cluster -->` for what is measured on several brokers.
    """
    kind = "bench"
    if len(report.targets) == 2:
        kind = "peers" if report.targets[0] == APACHE_KAFKA.name else "beside"
    if report.rows and all(row.axis.name.startswith("cluster-") for row in report.rows):
        kind = "cluster"
    before, begin, rest = document.partition(f"<!-- {kind} -->")
    _old, end, after = rest.partition(f"<!-- /{kind} -->")
    if not end:
        return markdown(report) + "\n"
    return f"{before}{begin}\n{markdown(report)}\n{end}{after}"


def _cells(report: Report) -> tuple[list[str], list[tuple[Row, list[str]]]]:
    floors = any(row.floor is not None for row in report.rows)
    compared = len(report.targets) == 2
    header = ["figure", *report.targets]
    header += ["odradek is"] if compared else []
    header += ["floor", "of floor"] if floors else []
    body = []
    for row in report.rows:
        cells = [row.measure.unit, *(number(row.values.get(name)) for name in report.targets)]
        if compared:
            cells.append(_advantage(row, report.targets))
        if floors:
            ours = row.values.get(report.targets[-1])
            cells += [number(row.floor), f"{ours / row.floor:.2f} x" if ours is not None and row.floor else ""]
        body.append((row, cells))
    return header, body


def _advantage(row: Row, targets: tuple[str, ...]) -> str:
    theirs, ours = (row.values.get(name) for name in targets)
    if theirs is None or ours is None:
        return ""
    worse, better = (ours, theirs) if row.measure.lower_is_better else (theirs, ours)
    return f"{better / worse:.2g} x" if worse else ""


def number(value: float | None) -> str:
    """Three significant digits, thousands apart; a dash where nothing was measured."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def _remarks(report: Report) -> list[str]:
    legend = [_LEGEND, _LEGEND_PEERS] if len(report.targets) == 2 else [_LEGEND]
    return [*legend, *report.notes, f"{report.machine}. {report.seconds:.0f} s in all."]
