"""A report becomes the same table in plain text and in markdown."""

from __future__ import annotations

import pytest

from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.runner import Report, Row
from benchmarks.table import markdown, number, spliced, text

_RATE = Measure("rate", "MB/s", lower_is_better=False)
_DELAY = Measure("delay", "ms")


def _nothing(stage: Stage) -> Values:
    return {}


def _nothing_either(bench: Bench) -> Values:
    return {}


_AXIS = Axis("moved", "bytes moved", (_RATE, _DELAY), _nothing, _nothing_either)


def _report(*targets: str) -> Report:
    rates = dict(zip(targets, (100.0, 250.0), strict=False))
    delays = dict(zip(targets, (4.0, 2.0), strict=False))
    report = Report(targets, "a machine", 12.0)
    report.rows += [Row(_AXIS, _RATE, rates, 500.0), Row(_AXIS, _DELAY, delays, None)]
    return report


def test_one_target_stands_beside_its_floor() -> None:
    """Value, floor, and the value as a multiple of the floor."""
    lines = text(_report("odradek")).splitlines()
    assert lines[0].split() == ["figure", "odradek", "floor", "of", "floor"]
    assert lines[1] == "bytes moved [moved]"
    assert lines[2].split() == ["MB/s", "100", "500", "0.20", "x"]
    assert lines[3].split() == ["ms", "4.00", "-"]


def test_two_targets_stand_beside_each_other_with_how_far_ours_is_ahead() -> None:
    """Above one means better, whichever way better is."""
    lines = text(_report("Apache Kafka", "odradek")).splitlines()
    assert lines[2].split()[1:5] == ["100", "250", "2.5", "x"]
    assert lines[3].split()[1:5] == ["4.00", "2.00", "2", "x"]


def test_markdown_has_a_column_for_each_cell() -> None:
    """Every line of the table has as many cells as its header."""
    table = [line for line in markdown(_report("odradek")).splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    assert table[2] == "| bytes moved | MB/s | 100 | 500 | 0.20 x |"


def test_markdown_takes_its_place_in_a_page_and_leaves_the_rest() -> None:
    """What stood between the marks goes, what stands around them stays, and so do the marks."""
    page = "above\n<!-- bench -->\nold\n<!-- /bench -->\n<!-- peers -->\ntheirs\n<!-- /peers -->\n"
    report = _report("odradek")
    once = spliced(page, report)
    assert once == page.replace("old", markdown(report))
    assert spliced(once, report) == once


def test_markdown_stands_alone_where_no_place_is_marked() -> None:
    """A file that has no marks is written anew."""
    report = _report("odradek")
    assert spliced("anything", report) == markdown(report) + "\n"


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "-"), (12345.6, "12,346"), (12.34, "12.3"), (1.234, "1.23"), (0.01234, "0.012")]
)
def test_numbers_show_three_digits(value: float | None, shown: str) -> None:
    """More digits than the measurement holds would be a lie."""
    assert number(value) == shown
