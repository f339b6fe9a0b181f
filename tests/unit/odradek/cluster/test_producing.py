"""The pace of a producer."""

from odradek.cluster.producing import Pace


class Time:
    """A clock that moves when somebody waits."""

    def __init__(self) -> None:
        self.now = 100.0

    def clock(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


def _turns(pace: Pace, time: Time, count: int) -> list[float]:
    turns = []
    for _ in range(count):
        pace.wait(lambda seconds: time.sleep(seconds / 2))  # what goes on meanwhile returns early
        turns.append(round(time.now - 100, 6))
    return turns


def test_turns_are_evenly_apart() -> None:
    """The first is at once, the others follow at the rate."""
    time = Time()
    assert _turns(Pace(4, time.clock, time.sleep), time, 4) == [0.0, 0.25, 0.5, 0.75]


def test_a_short_standstill_is_made_up_for() -> None:
    """The rate holds on the whole."""
    time = Time()
    pace = Pace(10, time.clock, time.sleep)
    _turns(pace, time, 1)
    time.now += 0.25
    assert _turns(pace, time, 3) == [0.25, 0.25, 0.3]


def test_a_long_standstill_is_forgotten() -> None:
    """No flood follows it."""
    time = Time()
    pace = Pace(10, time.clock, time.sleep)
    _turns(pace, time, 1)
    time.now += 100
    assert _turns(pace, time, 4) == [100.0, 100.0, 100.0, 100.05]


def test_without_a_rate_nobody_waits() -> None:
    """None is as fast as it goes."""
    time = Time()
    assert _turns(Pace(None, time.clock, time.sleep), time, 3) == [0.0, 0.0, 0.0]
