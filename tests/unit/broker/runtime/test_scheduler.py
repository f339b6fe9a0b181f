"""Periodic jobs go on whatever happens to one run of them."""

import asyncio
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from structlog.testing import CapturingLogger

from odradek.broker.runtime import scheduler
from odradek.broker.runtime.scheduler import TURN_S, Scheduler
from tests.support.manual_loop import HandExecutor, ManualLoop

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
        jobs = Scheduler(asyncio.get_running_loop(), threads)
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
        jobs = Scheduler(loop, threads)
        jobs.every(OFTEN_S, "blocking", lambda: blocking)
        await until(started)
        await jobs.stop()
        count = len(finished)
        assert count >= 1
    assert len(finished) == count


class TickingLoop(ManualLoop):
    """A loop on which every look at the clock takes half of a turn's time."""

    def time(self) -> float:
        self._now += TURN_S / 2
        return self._now


def count_to(end: int, taken: list[int]) -> Iterator[None]:
    """Take so many steps, and note each."""
    for number in range(end):
        taken.append(number)
        yield


def test_job_in_steps_leaves_others_their_turns() -> None:
    """It stops when the time of its turn is used up, goes on in the next, and begins anew after its interval."""
    loop = TickingLoop()
    jobs = Scheduler(loop, HandExecutor())
    taken: list[int] = []
    jobs.every_in_steps(60, "steps", lambda: count_to(6, taken), first_s=1)
    loop.advance(2)  # ends with all that was to be done soon
    assert taken == [0, 1, 2, 3, 4, 5]
    taken.clear()
    loop.advance(61)
    assert taken == [0, 1, 2, 3, 4, 5]


def test_no_step_is_taken_beyond_the_turn() -> None:
    """Two steps fit into a turn here."""
    loop = TickingLoop()
    jobs = Scheduler(loop, HandExecutor())
    taken: list[int] = []
    jobs.every_in_steps(0, "steps", lambda: count_to(5, taken))
    timers, loop._later = loop._later, []
    for _, call in timers:
        call()
    counts = [len(taken)]
    for _ in range(3):
        loop.turn()
        counts.append(len(taken))
    assert counts == [2, 4, 5, 5]


async def test_job_in_steps_ends_with_the_stop() -> None:
    """Also in the middle of its steps."""
    loop = TickingLoop()
    jobs = Scheduler(loop, HandExecutor())
    taken: list[int] = []
    jobs.every_in_steps(1, "steps", lambda: count_to(50, taken))
    (_, first), *_ = loop._later
    first()
    before = len(taken)
    await jobs.stop()
    loop.settle()
    assert len(taken) == before < 50


def test_failing_step_is_tried_again_with_the_next_pass() -> None:
    """One failure ends a pass and not the job."""
    loop = ManualLoop()
    jobs = Scheduler(loop, HandExecutor())
    taken: list[int] = []

    def steps() -> Iterator[None]:
        taken.append(1)
        yield
        raise OSError("this time it failed")

    jobs.every_in_steps(1, "steps", steps)
    for _ in range(3):
        loop.advance(1)
    assert len(taken) == 3


def test_what_is_done_once_is_tried_until_it_is_done() -> None:
    """Say that there was no descriptor left to open a module's file: later there may be one."""
    loop = ManualLoop()
    attempts: list[int] = []

    def steps() -> Iterator[None]:
        attempts.append(1)
        yield
        if len(attempts) < 3:
            raise OSError("Too many open files")

    Scheduler(loop, HandExecutor()).once_in_steps(1, "loading", steps)
    for _ in range(6):
        loop.advance(1)
    assert len(attempts) == 3


def test_what_steps_return_runs_on_a_thread_after_them() -> None:
    """What they have collected is written where nobody waits for the disk, and the next pass begins after that."""
    loop, threads = ManualLoop(), HandExecutor()
    done: list[float] = []

    def steps() -> Generator[None, None, Callable[[], None]]:
        yield
        return lambda: done.append(loop.time())

    Scheduler(loop, threads).every_in_steps(1.0, "collected", steps)
    loop.advance(1.0)
    assert done == []
    threads.run()
    loop.settle()
    assert len(done) == 1
    loop.advance(1.0)
    threads.run()
    assert len(done) == 2


def test_a_lasting_failure_is_told_at_first_then_seldom_then_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full for an hour fills no log, and a log does not end with what is over."""
    told = CapturingLogger()
    monkeypatch.setattr(scheduler, "log", told)
    loop = ManualLoop()
    jobs = Scheduler(loop, HandExecutor())
    left = [25]

    def job() -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise OSError("no space left")

    jobs.every(1, "flush", job)
    for _ in range(30):
        loop.advance(1)
    assert [(each.method_name, each.kwargs["failures"]) for each in told.calls] == [
        ("error", 1),
        ("error", 10),
        ("info", 25),
    ]
