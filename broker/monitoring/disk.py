"""Threads for the disk whose work is counted and timed; they stand in front of the real ones where metrics are on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from threading import Lock
from time import perf_counter_ns
from typing import Any, ParamSpec, TypeVar

from odradek.broker.monitoring.durations import Durations
from odradek.broker.runtime.disk_threads import Done, Threads

P = ParamSpec("P")
T = TypeVar("T")


class TimedThreads:
    """`Threads` that measure from when work is submitted to when it is told to be done, on the loop."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self.durations = Durations()

    def submit(self, work: Callable[[], None], done: Done) -> None:
        """Do `work` on a thread; then call `done` on the loop."""
        began = perf_counter_ns()

        def finished(failed: BaseException | None) -> None:
            self.durations.add(perf_counter_ns() - began)
            done(failed)

        self._threads.submit(work, finished)


class CountedExecutor(Executor):
    """An executor of another's threads that counts what it is given. It has none of its own to end."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._lock = Lock()
        self.submitted = 0
        self.waiting = 0

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have it done on a thread of the other."""
        with self._lock:
            self.submitted += 1
            self.waiting += 1
        future = self._threads.submit(fn, *args, **kwargs)
        future.add_done_callback(self._done)
        return future

    def _done(self, _future: Future[Any]) -> None:
        with self._lock:
            self.waiting -= 1
