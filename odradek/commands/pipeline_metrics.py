"""Metrics of a running job, for Prometheus: counted as it shows its progress, told on a thread of their own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final

from odradek.commands.pipeline_display import JobDisplay
from odradek.config.bind_errors import why_not_opened
from odradek.config.http_listener import parse_http_listener
from odradek.metrics.http import Answer, HttpServer, PageRequest
from odradek.metrics.samples import Samples
from odradek.terminal.errors import CommandError, WrongUsageError

if TYPE_CHECKING:
    from odradek.pipeline.progress import BatchProgress

_END_S: Final = 5.0


class JobMetrics:
    """What a run has done so far; shows it on, too."""

    def __init__(self, application: str, job: str, display: JobDisplay, clock: Callable[[], float] = time.time) -> None:
        self._labels = (application, job)
        self._display = display
        self._clock = clock
        self._lock = Lock()
        self._totals = {"records": 0.0, "batches": 0.0, "batch_seconds": 0.0}
        self._last: BatchProgress | None = None
        self._finished_at = 0.0
        self._working = 0

    def running(self) -> None:
        """Say that the query runs."""
        self._display.running()

    def working(self, number: int) -> None:
        """Say that a micro-batch is in work."""
        with self._lock:
            self._working = 1
        self._display.working(number)

    def finished(self, progress: BatchProgress) -> None:
        """Count a micro-batch that is finished."""
        with self._lock:
            self._working, self._last, self._finished_at = 0, progress, self._clock()
            for name, more in (("records", progress.rows), ("batches", 1), ("batch_seconds", progress.seconds)):
                self._totals[name] += more
        self._display.finished(progress)

    def samples(self) -> Samples:
        """Return all of it as it is now."""
        samples = Samples()
        with self._lock:
            for name, total in self._totals.items():
                samples.add_at(self._labels, f"odradek_pipeline_{name}_total", total)
            samples.add_at(self._labels, "odradek_pipeline_working", self._working)
            if self._last is not None:
                samples.add_at(self._labels, "odradek_pipeline_batch", self._last.batch)
                samples.add_at(self._labels, "odradek_pipeline_last_batch_timestamp_seconds", self._finished_at)
                if self._last.lag is not None:
                    samples.add_at(self._labels, "odradek_pipeline_lag_records", self._last.lag)
        return samples


@contextmanager
def served_metrics(listen: str | None, metrics: JobMetrics, tell: Callable[[str], None]) -> Iterator[None]:
    """Serve metrics at /metrics meanwhile, unless `listen` is None.

    Raises WrongUsageError for what is no address, and CommandError where it cannot be opened.
    """
    if listen is None:
        yield
        return
    try:
        address = parse_http_listener(listen)
    except ValueError as wrong:
        raise WrongUsageError(f"--metrics-listener {listen}: {wrong}") from wrong
    try:
        from odradek.metrics.exposition import page_of
    except ModuleNotFoundError as missing:
        raise CommandError("prometheus-client is not installed: pip install 'odradek[metrics]'") from missing

    async def page(request: PageRequest) -> Answer:
        made = page_of(metrics.samples(), request.accept)
        return Answer(HTTPStatus.OK, made.body, made.content_type)

    loop = asyncio.new_event_loop()
    server = HttpServer({"/metrics": page}, lambda path, failed: tell(f"{path} failed: {failed}"))
    thread = Thread(target=loop.run_forever, name="job-metrics", daemon=True)
    thread.start()
    try:
        try:
            port = asyncio.run_coroutine_threadsafe(server.start(address.host, address.port), loop).result()
        except OSError as failed:
            raise CommandError(f"--metrics-listener {listen}: {why_not_opened(failed)}") from failed
        host = f"[{address.host}]" if ":" in address.host else address.host
        tell(f"metrics at http://{host}:{port}/metrics")
        yield
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(_END_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_END_S)
        if not thread.is_alive():
            loop.close()
