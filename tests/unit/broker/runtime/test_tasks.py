"""Periodic jobs go on whatever happens to one run of them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from broker.runtime.tasks import PeriodicJobs

OFTEN_S = 0.001


async def until(event: asyncio.Event) -> None:
    await asyncio.wait_for(event.wait(), 10)


async def test_a_failing_job_is_tried_again() -> None:
    """One failure does not end a job."""
    thrice = asyncio.Event()
    runs: list[int] = []

    def job() -> None:
        runs.append(len(runs))
        if len(runs) == 3:
            thrice.set()
        raise RuntimeError("this time it failed")

    with ThreadPoolExecutor(1) as threads:
        jobs = PeriodicJobs(asyncio.get_running_loop(), threads)
        jobs.every(OFTEN_S, "failing", job)
        await until(thrice)
        await jobs.stop()


async def test_what_a_job_returns_runs_on_a_thread_and_stop_waits_for_it() -> None:
    """Waiting for the disk happens off the loop, and never after the stop."""
    loop = asyncio.get_running_loop()
    started, finished = asyncio.Event(), []

    def blocking() -> None:
        loop.call_soon_threadsafe(started.set)
        finished.append(True)

    with ThreadPoolExecutor(1) as threads:
        jobs = PeriodicJobs(loop, threads)
        jobs.every(OFTEN_S, "blocking", lambda: blocking)
        await until(started)
        await jobs.stop()
        count = len(finished)
        assert count >= 1
    assert len(finished) == count
