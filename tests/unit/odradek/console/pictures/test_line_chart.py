"""Lines over time."""

import math
from xml.etree import ElementTree

import pytest

from odradek.console.pictures.line_chart import MOST_LINES, ChartLine, line_chart, nice_ceiling
from odradek.terminal.human import count_text


def test_a_gap_is_a_gap() -> None:
    """Where nothing was measured the line ends, and begins anew behind it; what is older than the span is left out."""
    line = ChartLine("<b>", [9.0, 1.0, 2.0, math.nan, 3.0])
    chart = line_chart("rates", [0.0, 3600.0, 3610.0, 3620.0, 3630.0], [line], count_text, 100.0)
    [drawn] = [each.get("d", "") for each in ElementTree.fromstring(chart).iter("path")]
    assert drawn.count("M") == 2
    assert drawn.count("L") == 2


def test_it_is_told_in_words() -> None:
    """Who does not see the chart is told of each line its last value and its range."""
    lines = [ChartLine("a", [1.0, 5.0, 2.0]), ChartLine("b", [math.nan] * 3)]
    drawn = ElementTree.fromstring(line_chart("Records/s", [1.0, 2.0, 3.0], lines, count_text, 10.0))
    assert drawn.get("aria-label") == "Records/s: a 2 now, 1 to 5"


@pytest.mark.parametrize("values", [[], [math.nan], [0.0], [1e300], [math.inf]])
def test_any_values_make_a_chart(values: list[float]) -> None:
    """Nothing, zeros and what cannot be are drawn without an error."""
    chart = line_chart("x", [float(each) for each in range(len(values))], [ChartLine("a", values)], count_text, 10.0)
    assert ElementTree.fromstring(chart).get("role") == "img"


def test_no_more_lines_than_colours() -> None:
    """Lines beyond those that can be told apart are left out."""
    lines = [ChartLine(str(number), [1.0, 2.0]) for number in range(20)]
    drawn = ElementTree.fromstring(line_chart("x", [1.0, 2.0], lines, count_text, 10.0))
    assert len(list(drawn.iter("path"))) == MOST_LINES


@pytest.mark.parametrize(("value", "ceiling"), [(0, 1), (0.03, 0.05), (1, 1), (1.1, 2), (999, 1000), (4200, 5000)])
def test_axes_end_at_round_numbers(value: float, ceiling: float) -> None:
    """The axis goes to the next 1, 2 or 5 times a power of ten."""
    assert nice_ceiling(value) == pytest.approx(ceiling)
