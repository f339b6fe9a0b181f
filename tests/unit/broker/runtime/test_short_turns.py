"""The interval between threads is short while there is such work, and then what it was."""

import sys

import pytest

from odradek.broker.runtime.short_turns import TURN_S, in_short_turns


def test_interval_is_set_back_by_the_last_to_end() -> None:
    """Also where work begins within other work, and where it fails."""
    usual = sys.getswitchinterval()

    def fails() -> None:
        assert sys.getswitchinterval() == pytest.approx(TURN_S)
        raise ValueError

    def outer() -> float:
        with pytest.raises(ValueError, match=r"^$"):
            in_short_turns(fails)
        return sys.getswitchinterval()

    assert in_short_turns(outer) == pytest.approx(TURN_S)
    assert sys.getswitchinterval() == pytest.approx(usual)
