"""The two clocks: wall time that may jump and monotonic time that may not."""

import time

from odradek.broker.runtime.clock import Clock, SystemClock
from tests.support.clock import ManualClock


def test_system_clock_reads_milliseconds_of_wall_time() -> None:
    """Wall time is the machine's, as whole milliseconds."""
    clock: Clock = SystemClock()
    before = time.time_ns() // 1_000_000
    now = clock.now_ms()
    assert before <= now <= time.time_ns() // 1_000_000
    assert clock.monotonic() <= clock.monotonic()


def test_manual_clock_moves_only_when_told() -> None:
    """Both readings advance together; setting the wall clock leaves monotonic time alone."""
    clock = ManualClock(now_ms=5_000)
    start = clock.monotonic()
    assert clock.now_ms() == 5_000
    clock.advance(1.5)
    assert (clock.now_ms(), clock.monotonic() - start) == (6_500, 1.5)
    clock.set_wall(10)
    assert (clock.now_ms(), clock.monotonic() - start) == (10, 1.5)
