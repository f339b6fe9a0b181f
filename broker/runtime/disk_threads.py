"""Threads that wait for the disk, and tell the event loop when it has answered.

For what is done often and takes little but waiting: one fsync per record. Beside the fsync itself a hop to a thread and
back costs some thirty microseconds of processor time here, twice that with an executor and its two futures. Must not
know: what is waited for.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Protocol

Done = Callable[[BaseException | None], None]
"""Called on the event loop with what the work has raised, None if it ended well."""


class Threads(Protocol):
    """Something that does blocking work elsewhere."""

    def submit(self, work: Callable[[], None], done: Done) -> None:
        """Do `work` on a thread, after what was submitted before if all are busy; then call `done` on the loop."""


class ThreadPool(Threads, Protocol):
    """Threads that can be ended."""

    def stop(self) -> None:
        """End them once they have done what was submitted; blocks until then."""


class InPlace:
    """`Threads` that are none: the work is done, and told to be done, within `submit`."""

    def submit(self, work: Callable[[], None], done: Done) -> None:
        """Do `work` now, then call `done`."""
        failed: Exception | None = None
        try:
            work()
        except Exception as raised:  # noqa: BLE001 - whoever submitted it is told
            failed = raised
        done(failed)


class DiskThreads:
    """Up to `count` threads, each started when the others are busy for the first time."""

    def __init__(self, loop: AbstractEventLoop, name: str, count: int) -> None:
        self._loop = loop
        self._name = name
        self._count = count
        self._queue: SimpleQueue[tuple[Callable[[], None], Done] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._unfinished = 0

    def submit(self, work: Callable[[], None], done: Done) -> None:
        """Do `work` on a thread, after what was submitted before if all are busy; then call `done` on the loop."""
        self._unfinished += 1
        self._queue.put((work, done))
        if len(self._threads) < min(self._unfinished, self._count):
            thread = Thread(target=self._run, name=f"{self._name}-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """End the threads once they have done what was submitted; blocks until then."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _run(self) -> None:
        while (task := self._queue.get()) is not None:
            work, done = task
            failed: BaseException | None = None
            try:
                work()
            except BaseException as raised:  # noqa: BLE001 - whoever submitted it is told
                failed = raised
            self._loop.call_soon_threadsafe(self._finish, done, failed)
            del task, work, done, failed  # they may hold files that are to be given back

    def _finish(self, done: Done, failed: BaseException | None) -> None:
        self._unfinished -= 1
        done(failed)
