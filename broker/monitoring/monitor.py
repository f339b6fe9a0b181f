"""The pages `/metrics`, `/health` and `/ready` of a node, and everything that is measured for them.

Owns: how a page is collected: on the event loop, which alone may look at what is served, but in turns of two
milliseconds; written out on a thread. Whoever asks while a page is being made gets that one. Must not know: what is
collected.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from functools import partial
from http import HTTPStatus

from odradek.broker.monitoring.disk import CountedExecutor, TimedThreads
from odradek.broker.monitoring.durations import Durations, Recent
from odradek.broker.monitoring.errors import ErrorCounts
from odradek.broker.monitoring.loop_lag import LoopLag
from odradek.broker.monitoring.requests import RequestMeter
from odradek.broker.runtime.disk_threads import Threads
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.scheduler import TURN_S
from odradek.broker.runtime.short_turns import in_short_turns
from odradek.metrics.exposition import page_of
from odradek.metrics.http import Answer, HttpServer, PageRequest
from odradek.metrics.samples import Samples

log = get_logger("metrics")

Collector = Callable[[Samples, float], Iterator[None]]
"""Adds metrics, in short steps; it is given the time in monotonic seconds."""
Why = Callable[[], str | None]
"""Says why a node is not ready; None: it is. Called on a thread."""


class _Scrape:
    """What is collected for those who asked while it is."""

    __slots__ = ("readers", "task")

    def __init__(self, task: asyncio.Task[Samples]) -> None:
        self.task = task
        self.readers = 0
        """Who has no page of it yet."""


class Monitor:
    """What is measured in a process, and its pages."""

    def __init__(self, loop: asyncio.AbstractEventLoop, threads: Executor, version: str) -> None:
        """`threads` are for writing pages, and for what the file system is asked."""
        self._loop = loop
        self._threads = threads
        self._version = version
        self.requests = RequestMeter()
        self.errors = ErrorCounts()
        self._lag = LoopLag(loop)
        self._collectors: list[Collector] = [self.requests.collect, self.errors.collect, self._lag.collect]
        self._of_disk: list[Callable[[Samples], None]] = []
        self._not_ready: list[Why] = []
        self._is_serving = False
        self._scrape: _Scrape | None = None
        pages = {"/metrics": self.page, "/health": self._health, "/ready": self._ready}
        self._http = HttpServer(pages, lambda path, failed: log.error("a page failed", page=path, exc_info=failed))

    async def start(self, host: str, port: int) -> int:
        """Open the port and begin to measure; return the port.

        Raises:
            OSError: it cannot be opened.
        """
        opened = await self._http.start(host, port)
        self._lag.start()
        return opened

    async def stop(self) -> None:
        """Close the port."""
        self._lag.stop()
        await self._http.stop()
        if self._scrape is not None:
            self._scrape.task.cancel()
        self._threads.shutdown(wait=False)

    # what is told

    def collect(self, collector: Collector) -> None:
        """Have this collected, too."""
        self._collectors.append(collector)

    def collect_on_thread(self, collector: Callable[[Samples], None]) -> None:
        """Have this collected on a thread: it asks the file system."""
        self._of_disk.append(collector)

    def ready_unless(self, why: Why) -> None:
        """Be ready only while this has no objection."""
        self._not_ready.append(why)

    def serving(self, is_serving: bool) -> None:
        """The node serves from now on, or no longer."""
        self._is_serving = is_serving

    def flushes(self, waited_for: Threads, in_background: Threads) -> tuple[Threads, Threads]:
        """Return these threads for flushes, timed."""
        first, second = TimedThreads(waited_for), TimedThreads(in_background)
        recent = Recent()

        def collect(samples: Samples, now_s: float) -> Iterator[None]:
            both = Durations()
            both.add_all(first.durations)
            both.add_all(second.durations)
            samples.add("kafka_log_logflushstats_logflushrateandtimems", recent.summary(both, now_s, 1e6))
            samples.add("odradek_flushes_waited_for_total", first.durations.count)
            samples.add("odradek_flushes_in_background_total", second.durations.count)
            yield

        self.collect(collect)
        return first, second

    def cold_reads(self, threads: Executor) -> Executor:
        """Return these threads for reading what is not in memory, counted."""
        counted = CountedExecutor(threads)

        def collect(samples: Samples, _now_s: float) -> Iterator[None]:
            samples.add("odradek_cold_reads_total", counted.submitted)
            samples.add("odradek_cold_reads_waiting", counted.waiting)
            yield

        self.collect(collect)
        return counted

    # pages

    async def page(self, request: PageRequest) -> Answer:
        """Return what is measured, collected anew unless somebody waits for it already."""
        scrape = self._scrape
        if scrape is None or scrape.task.done():
            scrape = self._scrape = _Scrape(self._loop.create_task(self._collected()))
        scrape.readers += 1
        try:
            samples = await asyncio.shield(scrape.task)
            write = partial(page_of, samples, request.accept)
            page = await self._loop.run_in_executor(self._threads, in_short_turns, write)
        finally:
            scrape.readers -= 1
            if not scrape.readers:
                self._forget(scrape)
        return Answer(HTTPStatus.OK, page.body, page.content_type)

    def _forget(self, scrape: _Scrape) -> None:
        """Give back what was collected, on the thread: all of it in one go takes long."""
        task = scrape.task
        if self._scrape is scrape and task.done():
            self._scrape = None
        if task.done() and not task.cancelled() and task.exception() is None:
            self._loop.run_in_executor(self._threads, in_short_turns, task.result().clear)

    async def _health(self, _request: PageRequest) -> Answer:
        return Answer(HTTPStatus.OK, b"alive\n")

    async def _ready(self, _request: PageRequest) -> Answer:
        why: str | None = "the node starts, or stops"
        if self._is_serving:
            why = await self._loop.run_in_executor(self._threads, self._first_objection)
        if why is None:
            return Answer(HTTPStatus.OK, b"ready\n")
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE, f"{why}\n".encode())

    def _first_objection(self) -> str | None:
        return next((why for ask in self._not_ready if (why := ask()) is not None), None)

    async def _collected(self) -> Samples:
        """Collect everything, in turns that nobody notices."""
        samples = Samples()
        began = self._loop.time()
        samples.add("odradek_build_info", 1, self._version)
        end = began + TURN_S
        for collector in list(self._collectors):
            for _ in collector(samples, began):
                if self._loop.time() >= end:
                    await asyncio.sleep(0)
                    end = self._loop.time() + TURN_S
        for ask in self._of_disk:
            await self._loop.run_in_executor(self._threads, ask, samples)
        samples.add("odradek_scrape_seconds", self._loop.time() - began)
        return samples
