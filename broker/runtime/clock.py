"""Time as the broker sees it.

Owns: the two clocks, wall time for what is written down and monotonic time for how long something took. Whoever needs
the time is given a clock, so that tests decide what time it is. Must not know: timers or the event loop.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """The two readings a broker needs."""

    def now_ms(self) -> int:
        """Return wall time in milliseconds since 1970 UTC: what records, indexes and checkpoints carry. May jump."""

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment; never goes back. For time-outs and durations."""


class SystemClock:
    """The clock of the machine."""

    __slots__ = ()

    def now_ms(self) -> int:
        """Return wall time in milliseconds since 1970 UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment."""
        return time.monotonic()
