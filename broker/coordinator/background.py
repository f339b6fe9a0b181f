"""Work of coordinators that takes longer than a request may: in slices on the event loop, between requests.

Owns: whose turn it is, and how long one lasts. Threads would not help: the work is Python's own, and holds the
interpreter wherever it runs. Must not know: what the work is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Generator
from functools import partial
from typing import Final, TypeVar

from odradek.broker.coordinator.timers import TimerLoop
from odradek.broker.runtime.deferred import Deferred, gather
from odradek.broker.runtime.logging import get_logger

log = get_logger("coordinator")

TURN_S = 0.002
"""How long a turn of the loop is worked on any of it: less than what a client notices."""

FEW: Final = 200
"""Parts of a request that are worked on at once: a millisecond or two."""
_PER_SLICE: Final = 10

T = TypeVar("T")
R = TypeVar("R")

Slices = Generator[None, None, R]
"""Work that yields often, about every millisecond, and comes to a result."""


class Background:
    """All work in the background of one coordinator; each turn of the loop goes to another piece of it."""

    __slots__ = ("_is_running", "_is_stopped", "_jobs", "_scheduler")

    def __init__(self, scheduler: TimerLoop) -> None:
        self._scheduler = scheduler
        self._jobs: deque[Generator[None, None, None]] = deque()
        self._is_running = False
        self._is_stopped = False

    def add(self, work: Slices[R], done: Callable[[R], object]) -> None:
        """Do the work from the next turn of the loop on, and call `done` with what it comes to.

        Work that raises is logged, and `done` is not called.
        """
        if self._is_stopped:
            return

        def job() -> Generator[None, None, None]:
            done((yield from work))

        self._jobs.append(job())
        if not self._is_running:
            self._is_running = True
            self._scheduler.call_later(0, self._turn)

    def stop(self) -> None:
        """Leave the rest undone, and begin nothing any more."""
        self._is_stopped = True
        for job in self._jobs:
            job.close()
        self._jobs.clear()

    def _turn(self) -> None:
        self._is_running = bool(self._jobs)
        if not self._is_running:
            return
        job = self._jobs.popleft()
        end = self._scheduler.time() + TURN_S
        try:
            while self._scheduler.time() < end:
                next(job)
            self._jobs.append(job)
        except StopIteration:
            pass
        except Exception as failed:
            log.error("work in the background of a coordinator failed", exc_info=failed)
        self._scheduler.call_later(0, self._turn)

    def each(self, parts: Collection[T], work: Callable[[T], R | Deferred[R]]) -> list[R] | Deferred[list[R]]:
        """Return what `work` comes to for each part, in their order: now if there are few, later if there are many."""
        if len(parts) <= FEW:
            return gather([work(part) for part in parts])
        later: Deferred[list[R]] = Deferred()
        found: dict[int, R] = {}

        def take(place: int, result: R) -> None:
            found[place] = result
            if len(found) == len(parts):
                later.resolve([found[place] for place in range(len(parts))])

        def slices() -> Slices[None]:
            for place, part in enumerate(parts):
                outcome = work(part)
                if isinstance(outcome, Deferred):
                    outcome.on_done(partial(take, place))
                else:
                    take(place, outcome)
                if place % _PER_SLICE == 0:
                    yield

        self.add(slices(), lambda _: None)
        return later

    def result_of(self, parts: int, work: Slices[R]) -> R | Deferred[R]:
        """Return what work on so many parts comes to: now if they are few, later if they are many."""
        if parts > FEW:
            later: Deferred[R] = Deferred()
            self.add(work, later.resolve)
            return later
        try:
            while True:
                next(work)
        except StopIteration as done:
            result: R = done.value
            return result
