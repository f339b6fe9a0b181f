"""Durations as a person gives them."""

import pytest

from odradek.terminal.durations import duration_ms, is_duration, parse_duration
from odradek.terminal.errors import WrongUsageError


def test_durations() -> None:
    """Parts add up; what is none is refused."""
    assert parse_duration("1d2h3m4s5ms") == 93_784_005
    for wrong in ("", "5", "m", "-5m"):
        with pytest.raises(ValueError, match="is no duration"):
            parse_duration(wrong)


def test_a_duration_is_no_more_than_64_bits_can_say() -> None:
    """Nobody overflows a field of a request."""
    for wrong in ("999999999999999w", "999999999999999d" * 20):
        assert is_duration(wrong)
        with pytest.raises(ValueError, match="is too large"):
            parse_duration(wrong)


def test_a_wrong_duration_is_told_with_its_option() -> None:
    """So that it is known which of several is meant."""
    with pytest.raises(WrongUsageError, match=r"^--interval: 'daily' is no duration"):
        duration_ms("daily", "--interval")
