"""Bars in proportion to bytes."""

from odradek.logs.picture import bar, share


def test_a_bar_is_in_proportion() -> None:
    """The largest part has the full width, half of it half; what is derived is drawn apart."""
    assert bar(100, 0, 100, 8) == "████████"
    assert bar(50, 0, 100, 8) == "████"
    assert bar(50, 50, 100, 8) == "████░░░░"
    assert bar(56, 0, 100, 8) == "████▌"


def test_what_is_there_is_seen() -> None:
    """However small a part is, something stands for it; nothing stands for nothing."""
    assert bar(1, 0, 1_000_000, 8) == "▏"
    assert bar(0, 0, 100, 8) == ""
    assert bar(0, 0, 0, 8) == ""


def test_shares_are_in_percent() -> None:
    """Of nothing there are no shares."""
    assert (share(1, 4), share(0, 0)) == ("25%", "-")
