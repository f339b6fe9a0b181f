"""Curves of growth as a picture and as a table."""

from itertools import pairwise
from xml.etree import ElementTree

from benchmarks.growth.curve import Curve, compact
from benchmarks.growth.page import spliced, table
from benchmarks.growth.plot import svg

FLAT = Curve("A <request>", "connections", "µs", ((1, 20.0), (1_000, 20.0)))
STEEP = Curve("Start", "bytes", "ms", ((1e8, 150.0), (1e9, 1_500.0), (1e10, 15_000.0)))


def circles(text: str) -> list[tuple[float, float]]:
    """Return the places of the points of all panels."""
    found = ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}circle")
    return [(float(circle.attrib["cx"]), float(circle.attrib["cy"])) for circle in found]


def test_every_point_has_its_place_in_the_picture() -> None:
    """Amounts go to the right, figures upward, both by their logarithm, and titles may have any character."""
    (x1, y1), (x2, y2) = circles(svg([FLAT]))
    assert x1 < x2
    assert y1 == y2
    places = circles(svg([STEEP]))
    steps = {(round(x2 - x1), round(y1 - y2)) for (x1, y1), (x2, y2) in pairwise(places)}
    assert len(steps) == 1, "ten times as much is one step, wherever"
    assert all(step > 0 for step in steps.pop())
    assert len(circles(svg([FLAT, STEEP, FLAT]))) == 7


def test_numbers_take_few_characters() -> None:
    """Three digits and a letter."""
    assert [compact(value) for value in (0.25, 20, 1_000, 15_000, 1e8, 1e10)] == [
        "0.25",
        "20",
        "1k",
        "15k",
        "100M",
        "10G",
    ]


def test_the_table_takes_the_place_of_the_one_before() -> None:
    """What stands around it in the page stays."""
    first = spliced("# Page\n", table([FLAT], "a machine"))
    assert "| A <request>, µs | connections | 1: **20** · 1k: **20** |" in first
    second = spliced(first + "after\n", table([STEEP], "a machine"))
    assert "A <request>" not in second
    assert "](growth.svg)" in table([FLAT], "a machine", "growth.svg")
    assert second.startswith("# Page\n")
    assert second.endswith("<!-- /growth -->\nafter\n")
