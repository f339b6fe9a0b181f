"""Numbers as people read them."""

import pytest

from odradek.terminal.human import count_text, duration_text, plural, size_text, time_text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "0.98 KiB"),
        (1024, "1.00 KiB"),
        (10_200, "9.96 KiB"),
        (10_240, "10.0 KiB"),
        (102_400, "100 KiB"),
        (1_048_575, "1.00 MiB"),
        (1 << 40, "1.00 TiB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    """Three digits and a binary unit, at every border."""
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.00 s"), (9.994, "9.99 s"), (12.34, "12.3 s"), (185, "3 min 05 s"), (7260, "2 h 01 min")],
)
def test_durations(seconds: float, text: str) -> None:
    """The unit that fits."""
    assert duration_text(seconds) == text


def test_counts() -> None:
    """Thousands are set apart, and one is singular."""
    assert (count_text(1_234_567.4), plural(1, "record"), plural(2000, "record")) == (
        "1,234,567",
        "1 record",
        "2,000 records",
    )
    assert plural(2, "entry", "entries") == "2 entries"


@pytest.mark.parametrize("milliseconds", [-(2**63), 2**63 - 1, 253_402_300_800_000 * 2])
def test_a_time_of_no_calendar_is_the_number(milliseconds: int) -> None:
    """A record may claim any time; what no calendar has is told as it is."""
    assert time_text(milliseconds) == f"{milliseconds} ms"
