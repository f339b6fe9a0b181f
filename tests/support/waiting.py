"""Waiting for a condition with a deadline: what tests do instead of sleeping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PAUSE_S = 0.01
PATIENCE_S = 60.0
"""What a machine that is busy with other things may take for anything that usually takes a moment."""


def eventually(condition: Callable[[], T], what: str, timeout: float = PATIENCE_S) -> T:
    """Return the first true value of `condition`; raise AssertionError naming `what` when the deadline passes first."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s: {what}")
        time.sleep(PAUSE_S)
