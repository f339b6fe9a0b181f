"""Work of coordinators that takes longer than a request may: in slices on the event loop, between requests.

Owns: whose turn it is, and how long one lasts. Threads would not help: the work is Python's own, and holds the
interpreter wherever it runs. Must not know: what the work is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import TypeVar

from odradek.broker.coordinator.timers import Scheduler
from odradek.broker.runtime.logging import get_logger

log = get_logger("coordinator")

TURN_S = 0.002
"""How long a turn of the loop is worked on any of it: less than what a client notices."""

R = TypeVar("R")

Slices = Generator[None, None, R]
"""Work that yields often, about every millisecond, and comes to a result."""


class Background:
    """All work in the background of one coordinator; each turn of the loop goes to another piece of it."""

    __slots__ = ("_is_running", "_is_stopped", "_jobs", "_scheduler")

    def __init__(self, scheduler: Scheduler) -> None:
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
