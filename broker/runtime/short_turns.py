"""Work on a thread that gives way to the event loop often: Python then changes between threads every fraction of a
millisecond. The interval is the process's, so whoever is the last of several to end sets it back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Lock
from typing import Final, TypeVar

T = TypeVar("T")

TURN_S: Final = 0.0002
"""How long a thread may go on while the event loop has something to do."""

_lock = Lock()
_at_work: list[float] = []
"""For each piece of work under way, the interval that the first of them found."""


def in_short_turns(work: Callable[[], T]) -> T:
    """Do the work, and return what it returns."""
    with _lock:
        _at_work.append(_at_work[0] if _at_work else sys.getswitchinterval())
        sys.setswitchinterval(TURN_S)
    try:
        return work()
    finally:
        with _lock:
            usual = _at_work.pop()
            if not _at_work:
                sys.setswitchinterval(usual)
