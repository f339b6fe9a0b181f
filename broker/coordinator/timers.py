"""Timers by name that are cheap to set again: a session timer is set anew with every heartbeat.

Setting one again only moves its deadline; the alarm that runs already looks at the deadline when it rings, and goes
back to sleep if that has moved. Must not know: what the timers are for, or which event loop there is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar


class Alarm(Protocol):
    """A call that is scheduled."""

    def cancel(self) -> None:
        """Do not call."""


class TimerLoop(Protocol):
    """The part of an event loop that is needed here."""

    def time(self) -> float:
        """Return seconds of a clock that never goes back."""

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: object) -> Alarm:
        """Call back in `delay` seconds."""


Name = TypeVar("Name", bound=Hashable)


class _Timer:
    __slots__ = ("alarm", "deadline", "rings_at")

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.rings_at = deadline
        self.alarm: Alarm | None = None


class Timers(Generic[Name]):
    """Timers by name; setting one again only moves its deadline."""

    __slots__ = ("_expired", "_scheduler", "_timers")

    def __init__(self, scheduler: TimerLoop, expired: Callable[[Name], None]) -> None:
        """`expired` is called with the name of a timer whose time is over; it is forgotten by then."""
        self._scheduler = scheduler
        self._expired = expired
        self._timers: dict[Name, _Timer] = {}

    def __len__(self) -> int:
        return len(self._timers)

    def set(self, name: Name, delay_ms: int) -> None:
        """Let the timer expire in so many milliseconds, whatever it was set to."""
        deadline = self._scheduler.time() + delay_ms / 1000
        timer = self._timers.get(name)
        if timer is None:
            timer = self._timers[name] = _Timer(deadline)
        elif deadline >= timer.rings_at:
            timer.deadline = deadline
            return
        elif timer.alarm is not None:
            timer.alarm.cancel()
        timer.deadline = deadline
        self._arm(name, timer)

    def cancel(self, name: Name) -> None:
        """Forget the timer, if there is one."""
        timer = self._timers.pop(name, None)
        if timer is not None and timer.alarm is not None:
            timer.alarm.cancel()

    def clear(self) -> None:
        """Forget all timers."""
        for name in list(self._timers):
            self.cancel(name)

    def _arm(self, name: Name, timer: _Timer) -> None:
        timer.rings_at = timer.deadline
        delay = max(0.0, timer.deadline - self._scheduler.time())
        timer.alarm = self._scheduler.call_later(delay, self._ring, name, timer)

    def _ring(self, name: Name, timer: _Timer) -> None:
        if self._timers.get(name) is not timer:
            return
        if timer.deadline > timer.rings_at:
            self._arm(name, timer)
            return
        del self._timers[name]
        self._expired(name)
