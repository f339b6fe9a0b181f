"""An event loop without sockets or a clock of its own: a test says when callbacks run and how much time has passed."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import TypeVarTuple

Arguments = TypeVarTuple("Arguments")


class ManualLoop(asyncio.BaseEventLoop):
    """What code needs of a loop that only schedules calls: `call_soon`, `call_later` and `time`."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._soon: deque[tuple[asyncio.Handle, Callable[[], object]]] = deque()
        self._later: list[tuple[asyncio.TimerHandle, Callable[[], object]]] = []

    def time(self) -> float:
        """Return the seconds that `advance` let pass."""
        return self._now

    def is_closed(self) -> bool:
        """Return true: there is nothing to close."""
        return True

    def call_soon(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """Remember a call for `settle`."""
        handle = asyncio.Handle(callback, args, self, context)
        self._soon.append((handle, lambda: callback(*args)))
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Remember a call for `advance`."""
        handle = asyncio.TimerHandle(self._now + delay, callback, args, self, context)
        self._later.append((handle, lambda: callback(*args)))
        return handle

    @property
    def timers(self) -> int:
        """How many timers still run."""
        return sum(not handle.cancelled() for handle, _ in self._later)

    def turn(self) -> None:
        """Make the calls that wait now, and not those that they ask for."""
        for _ in range(len(self._soon)):
            handle, call = self._soon.popleft()
            if not handle.cancelled():
                call()

    def settle(self) -> None:
        """Make calls until none waits."""
        while self._soon:
            self.turn()

    def advance(self, seconds: float) -> None:
        """Let time pass, and make the calls that are due then, in their order."""
        self._now += seconds
        due = [timer for timer in self._later if timer[0].when() <= self._now]
        self._later = [timer for timer in self._later if timer[0].when() > self._now]
        for handle, call in sorted(due, key=lambda timer: timer[0].when()):
            if not handle.cancelled():
                call()
        self.settle()
