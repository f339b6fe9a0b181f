"""An event loop without sockets or a clock of its own: a test says when callbacks run and how much time has passed.

And threads that work when a test says so.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextvars import Context
from typing import ParamSpec, TypeVar, TypeVarTuple

from odradek.broker.runtime.disk_threads import Done

Arguments = TypeVarTuple("Arguments")
P = ParamSpec("P")
T = TypeVar("T")


class ManualLoop(asyncio.BaseEventLoop):
    """What code needs of a loop that only schedules calls, also of those that threads have worked on."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._soon: deque[tuple[asyncio.Handle, Callable[[], object]]] = deque()
        self._later: list[tuple[asyncio.TimerHandle, Callable[[], object]]] = []

    def time(self) -> float:
        """Return the seconds that `advance` let pass."""
        return self._now

    def __del__(self) -> None:
        """There is nothing to close, so nobody is warned that it was not."""

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

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """Remember a call for `settle`."""
        return self.call_soon(callback, *args, context=context)

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

    @property
    def is_idle(self) -> bool:
        """Whether nothing happens before time passes."""
        return not self._soon and all(handle.cancelled() or handle.when() > self._now for handle, _ in self._later)

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


class HandExecutor(Executor):
    """Threads that do what they were given when the test says so."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Remember work for `run`."""
        future: Future[T] = Future()

        def work() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except Exception as failed:  # noqa: BLE001 - as a thread pool does
                future.set_exception(failed)

        self._waiting.append(work)
        return future

    def run(self) -> None:
        """Do the work that waits."""
        waiting, self._waiting = self._waiting, []
        for work in waiting:
            work()


class HandThreads:
    """`Threads` that do what they were given when the test says so; the loop hears of it when it turns."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[tuple[Callable[[], None], Done]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, work: Callable[[], None], done: Done) -> None:
        """Remember work for `run`."""
        self._waiting.append((work, done))

    def run(self) -> None:
        """Do the work that waits."""
        waiting, self._waiting = self._waiting, []
        for work, done in waiting:
            failed: Exception | None = None
            try:
                work()
            except Exception as raised:  # noqa: BLE001 - as a thread does
                failed = raised
            self._loop.call_soon(done, failed)
