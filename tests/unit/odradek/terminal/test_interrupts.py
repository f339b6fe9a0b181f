"""Signals that end work."""

import signal

import pytest

from odradek.terminal.interrupts import told_to_end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_a_library_swallows_is_not_forgotten(number: signal.Signals) -> None:
    """It ends what can be ended, and is remembered where that went on; afterwards all is as before."""
    before = signal.getsignal(number)
    with told_to_end() as told:
        assert not told()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        assert told()
    assert signal.getsignal(number) is before
