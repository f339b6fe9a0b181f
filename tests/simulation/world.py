"""Virtual time: what is to happen, of all nodes, in one queue.

Nothing waits: time jumps to the next event. A seed decides on all chance, so that a run repeats exactly. What belongs
to a process ends with it, and stands still while it is stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from heapq import heappop, heappush
from random import Random
from typing import TypeVarTuple

from odradek.broker.runtime.disk_threads import Done

Arguments = TypeVarTuple("Arguments")

EPOCH_MS = 1_700_000_000_000
"""The wall time at which every world begins."""


class SimulatedProcess:
    """A process: whether it is alive, and until when it stands still."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_alive = True
        self.stopped_until = 0.0
        """Like SIGSTOP: what is due before happens then."""
        self.clock_offset_ms = 0
        """How far its wall clock is from that of the world."""


class Event:
    """Something that is to happen."""

    __slots__ = ("call", "is_cancelled", "process", "when")

    def __init__(self, when: float, process: SimulatedProcess | None, call: Callable[[], object]) -> None:
        self.when = when
        self.process = process
        self.call = call
        self.is_cancelled = False


class World:
    """The queue of events, and the chance that decides on them."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.now = 0.0
        """Seconds since the world began."""
        self.events = 0
        """How many have happened."""
        self._queue: list[tuple[float, int, Event]] = []
        self._order = 0

    def after(self, delay: float, call: Callable[[], object], process: SimulatedProcess | None = None) -> Event:
        """Let something happen after so many seconds, unless the process has ended by then."""
        event = Event(self.now + delay if delay > 0.0 else self.now, process, call)
        self._push(event)
        return event

    def step(self) -> Event | None:
        """Let the next event happen, and return it; None if there is none."""
        while self._queue:
            _, _, event = heappop(self._queue)
            process = event.process
            if event.is_cancelled or (process is not None and not process.is_alive):
                continue
            self.now = max(self.now, event.when)
            if process is not None and process.stopped_until > self.now:
                event.when = process.stopped_until
                self._push(event)
                continue
            self.events += 1
            event.call()
            return event
        return None

    def run(self, seconds: float, after_each: Callable[[SimulatedProcess], None] | None = None) -> None:
        """Let so much time pass; `after_each` is told in which process something has happened."""
        end = self.now + seconds
        while self._queue and self._queue[0][0] <= end:
            event = self.step()
            if after_each is not None and event is not None and event.process is not None:
                after_each(event.process)
        self.now = max(self.now, end)

    def run_until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Let time pass until the condition holds, at most so much; returns whether it does."""
        end = self.now + seconds
        while not condition():
            if not self._queue or self._queue[0][0] > end:
                self.now = max(self.now, end)
                return condition()
            self.step()
        return True

    def _push(self, event: Event) -> None:
        self._order += 1
        heappush(self._queue, (event.when, self._order, event))


class SimulatedLoop(asyncio.BaseEventLoop):
    """What the code under test needs of an event loop: calls soon and later, of one process."""

    def __init__(self, world: World, process: SimulatedProcess) -> None:
        super().__init__()
        self._world = world
        self._process = process

    def _run(self, handle: asyncio.Handle, callback: Callable[[*Arguments], object], args: tuple[*Arguments]) -> None:
        if handle.cancelled():
            return
        asyncio._set_running_loop(self)
        try:
            callback(*args)
        finally:
            asyncio._set_running_loop(None)

    def __del__(self) -> None:
        """There is nothing to close, so nobody is warned that it was not."""

    def time(self) -> float:
        """Return the seconds since the world began."""
        return self._world.now

    def call_soon(
        self, callback: Callable[[*Arguments], object], *args: *Arguments, context: Context | None = None
    ) -> asyncio.Handle:
        """Call back in the next turn."""
        handle = asyncio.Handle(callback, args, self, context)
        self._world.after(0.0, lambda: self._run(handle, callback, args), self._process)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*Arguments], object], *args: *Arguments, context: Context | None = None
    ) -> asyncio.Handle:
        """Call back in the next turn."""
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[[*Arguments], object], *args: *Arguments, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call back after so many seconds."""
        return self.call_at(self._world.now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Arguments], object], *args: *Arguments, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call back at that time."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        delay = when - self._world.now
        self._world.after(delay, lambda: self._run(handle, callback, args), self._process)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """The event looks at its handle when it is due."""


class SimulatedClock:
    """The clocks of one process (`runtime.clock.Clock`)."""

    def __init__(self, world: World, process: SimulatedProcess) -> None:
        self._world = world
        self._process = process

    def now_ms(self) -> int:
        """Return the wall time of the process, which may be wrong."""
        return EPOCH_MS + int(self._world.now * 1000) + self._process.clock_offset_ms

    def monotonic(self) -> float:
        """Return the seconds since the world began."""
        return self._world.now


class SimulatedThreads:
    """`Threads` whose work takes as long as a disk does, at chance; in the order in which it was submitted."""

    def __init__(self, world: World, process: SimulatedProcess) -> None:
        self._world = world
        self._process = process
        self._free_at = 0.0
        self.slowness = 1.0
        """How many times as long as usual the work takes."""

    def submit(self, work: Callable[[], None], done: Done) -> None:
        """Do the work after a while, then call back."""
        took = self._world.random.uniform(0.0001, 0.003) * self.slowness
        self._free_at = max(self._free_at, self._world.now) + took

        def run() -> None:
            failed: BaseException | None = None
            try:
                work()
            except Exception as raised:  # noqa: BLE001 - whoever submitted it is told
                failed = raised
            self._world.after(0.0, lambda: done(failed), self._process)

        self._world.after(self._free_at - self._world.now, run, self._process)
