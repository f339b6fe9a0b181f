"""Timers by name: set again at no cost, and expire once."""

from odradek.broker.coordinator.timers import Timers
from tests.support.clock import ManualClock
from tests.unit.broker.groups.shard_world import ManualScheduler


def new_timers() -> tuple[Timers[str], ManualScheduler, list[str]]:
    scheduler = ManualScheduler(ManualClock())
    expired: list[str] = []
    return Timers(scheduler, expired.append), scheduler, expired


def test_a_timer_expires_once() -> None:
    """At its time, not before."""
    timers, scheduler, expired = new_timers()
    timers.set("a", 1000)
    scheduler.advance(0.999)
    assert expired == []
    scheduler.advance(0.001)
    assert expired == ["a"]
    scheduler.advance(10)
    assert expired == ["a"]
    assert len(timers) == 0


def test_setting_again_moves_the_deadline_without_another_alarm() -> None:
    """However often, as heartbeats do."""
    timers, scheduler, expired = new_timers()
    for _ in range(100):
        timers.set("a", 1000)
        scheduler.advance(0.1)
    assert scheduler.pending == 1
    assert expired == []
    scheduler.advance(0.9)
    assert expired == ["a"]


def test_a_shorter_time_rings_earlier() -> None:
    """The old alarm does not count any more."""
    timers, scheduler, expired = new_timers()
    timers.set("a", 10_000)
    timers.set("a", 1000)
    scheduler.advance(1)
    assert expired == ["a"]
    scheduler.advance(20)
    assert expired == ["a"]


def test_a_cancelled_timer_does_not_expire() -> None:
    """Nor does one of the same name that was set before."""
    timers, scheduler, expired = new_timers()
    timers.set("a", 1000)
    timers.cancel("a")
    timers.cancel("never set")
    timers.set("b", 1000)
    timers.set("a", 3000)
    scheduler.advance(2)
    assert expired == ["b"]
    timers.clear()
    scheduler.advance(10)
    assert expired == ["b"]
