"""Background work that must not die: periodic jobs on the event loop, or on a thread where they wait for the disk.

A job that fails is logged and tried again at its next turn; jobs stop together, after the one that is running has
finished. Work that is too long for one turn of the loop goes in steps, and others get their turn in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from functools import partial

from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.repeated_failures import RepeatedFailures
from odradek.protocol.errors import KafkaError

log = get_logger("tasks")

TURN_S = 0.002
"""How long a job that goes in steps may work before others get their turn: less than what a client notices."""


class Scheduler:
    """The periodic jobs of the broker."""

    def __init__(self, loop: asyncio.AbstractEventLoop, threads: Executor) -> None:
        self._loop = loop
        self._threads = threads
        self._timers: dict[str, asyncio.Handle] = {}
        self._on_threads: set[asyncio.Future[None]] = set()
        self._failures: dict[str, RepeatedFailures] = {}
        """Of the jobs that failed last time."""
        self._stopped = False

    def every(
        self,
        interval_s: float,
        name: str,
        job: Callable[[], Callable[[], None] | None],
    ) -> None:
        """Run `job` on the loop every `interval_s` seconds, counted from its end; what it returns, if anything, runs on
        a thread after it."""
        self._timers[name] = self._loop.call_later(interval_s, self._run, interval_s, name, job)

    def every_in_steps(
        self, interval_s: float, name: str, job: Callable[[], Iterator[object]], first_s: float | None = None
    ) -> None:
        """Go through what `job` yields every `interval_s` seconds, the first time after `first_s` if that is given.

        Each step should be short: after any of them, the rest may be left to a later turn of the loop. What a generator
        returns at its end, if anything, runs on a thread after it.
        """
        delay_s = interval_s if first_s is None else first_s
        again = partial(self.every_in_steps, interval_s, name, job)
        self._timers[name] = self._loop.call_later(delay_s, lambda: self._step(name, job(), again, again))

    def once_in_steps(self, after_s: float, name: str, job: Callable[[], Iterator[object]]) -> None:
        """Go through what `job` yields once, in `after_s` seconds, and again after so long where that fails; its steps
        are as in `every_in_steps`."""
        again = partial(self.once_in_steps, after_s, name, job)
        self._timers[name] = self._loop.call_later(after_s, lambda: self._step(name, job(), _nothing, again))

    async def stop(self) -> None:
        """Start nothing any more, and wait for what runs on threads."""
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()
        if self._on_threads:
            await asyncio.wait(self._on_threads)

    def _run(self, interval_s: float, name: str, job: Callable[[], Callable[[], None] | None]) -> None:
        if self._stopped:
            return
        try:
            blocking = job()
        except Exception as failed:  # noqa: BLE001 - a job that fails must not end the others
            self._failed(name, failed)
            self.every(interval_s, name, job)
            return
        self._finish(name, blocking, lambda: self.every(interval_s, name, job))

    def _finish(self, name: str, blocking: Callable[[], None] | None, again: Callable[[], None]) -> None:
        """Run the rest of a job on a thread, if there is one, and begin anew."""
        if blocking is None:
            self._succeeded(name)
            again()
            return
        future = self._loop.run_in_executor(self._threads, blocking)
        self._on_threads.add(future)

        def done(finished: asyncio.Future[None]) -> None:
            self._on_threads.discard(finished)
            failure = finished.exception()
            if failure is None:
                self._succeeded(name)
            else:
                self._failed(name, failure)
            if not self._stopped:
                again()

        future.add_done_callback(done)

    def _step(
        self, name: str, steps: Iterator[object], when_done: Callable[[], None], when_failed: Callable[[], None]
    ) -> None:
        """Take steps until this turn's time is used up."""
        if self._stopped:
            return
        end = self._loop.time() + TURN_S
        try:
            while True:
                next(steps)
                if self._loop.time() >= end:
                    self._timers[name] = self._loop.call_soon(self._step, name, steps, when_done, when_failed)
                    return
        except StopIteration as ended:
            self._finish(name, ended.value, when_done)
        except Exception as failed:  # noqa: BLE001 - a job that fails must not end the others
            self._failed(name, failed)
            when_failed()

    def _failed(self, name: str, failed: BaseException) -> None:
        event = "a background job failed; it is tried again at its next turn"
        if not isinstance(failed, OSError | KafkaError):
            log.error(event, job=name, exc_info=failed)
            return
        failures = self._failures.setdefault(name, RepeatedFailures())
        if failures.is_told(str(failed)):  # a full disk, say: the reason is enough, and seldom is enough
            log.error(event, job=name, reason=str(failed), failures=failures.count)

    def _succeeded(self, name: str) -> None:
        failures = self._failures.pop(name, None)
        if failures is not None:
            log.info("a background job goes well again", job=name, failures=failures.count)


def _nothing() -> None:
    """Follows a job that is done for good."""
