"""Requests that wait are answered exactly once: by what they wait for, or by their deadline."""

import asyncio
import weakref
from collections.abc import Callable

import pytest

from odradek.broker.partitions.waiting import WaitingFetch, WaitingProduce
from odradek.broker.runtime.answers import Answer, CloseConnectionError

SOON_S = 0.01
NEVER_S = 3600.0


class Watched:
    """Stands for a partition."""

    def __init__(self) -> None:
        self.waiting_fetches: set[WaitingFetch] = set()


class Answers:
    """Collects the answers of a pending request."""

    def __init__(self) -> None:
        self.all: list[Answer] = []
        self.first: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def __call__(self, answer: Answer) -> None:
        self.all.append(answer)
        if not self.first.done():
            self.first.set_result(answer)


def fetch(
    watched: list[Watched], attempt: Callable[[bool], Answer], max_wait_s: float = NEVER_S
) -> tuple[WaitingFetch, Answers]:
    waiting = WaitingFetch(asyncio.get_running_loop(), watched, max_wait_s, attempt)
    answers = Answers()
    waiting.on_done(answers)
    return waiting, answers


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_fetch_is_answered_when_there_is_enough() -> None:
    """It looks again when woken, waits on while there is too little, and answers once."""
    partition, available = Watched(), [0]
    waiting, answers = fetch([partition], lambda _: b"data" if available[0] >= 2 else None)
    for available[0] in (1, 2, 3):
        waiting.wake()
        await turns()
    assert answers.all == [b"data"]
    assert partition.waiting_fetches == set()


async def test_many_appends_in_one_turn_cost_one_look() -> None:
    """A burst of appends wakes the fetch once."""
    looks: list[bool] = []
    waiting, _ = fetch([Watched()], looks.append)
    for _ in range(100):
        waiting.wake()
    await turns()
    assert looks == [False]
    waiting.cancel()


async def test_a_fetch_answers_with_what_there_is_at_its_deadline() -> None:
    """The last attempt is told that it is the last."""
    _, answers = fetch([Watched()], lambda final: b"little" if final else None, SOON_S)
    assert await asyncio.wait_for(answers.first, 10) == b"little"


async def test_a_cancelled_fetch_never_answers() -> None:
    """The client is gone: no answer, no trace at its partitions."""
    partition = Watched()
    waiting, answers = fetch([partition], lambda _: b"data")
    waiting.wake()
    waiting.cancel()
    await turns()
    assert answers.all == []
    assert partition.waiting_fetches == set()


@pytest.mark.parametrize("partitions", [1, 3])
async def test_a_produce_is_answered_when_all_its_partitions_have_reported(partitions: int) -> None:
    """Not before the last one, and once; in a turn of the loop of its own, since a connection goes on from there."""
    waiting = WaitingProduce(asyncio.get_running_loop(), partitions, NEVER_S, lambda: b"done")
    answers = Answers()
    waiting.on_done(answers)
    for reported in range(partitions):
        assert answers.all == []
        assert reported < partitions
        waiting.partition_done()
    assert answers.all == []
    await turns()
    assert answers.all == [b"done"]


async def test_a_produce_whose_partitions_are_done_already_is_answered() -> None:
    """What reports before the connection has said where the answer goes is not lost."""
    waiting = WaitingProduce(asyncio.get_running_loop(), 1, NEVER_S, lambda: b"done")
    waiting.partition_done()
    answers = Answers()
    waiting.on_done(answers)
    assert await asyncio.wait_for(answers.first, 10) == b"done"


async def test_a_produce_that_waits_too_long_is_answered_once() -> None:
    """The deadline answers; a report that comes later does not answer again."""
    waiting = WaitingProduce(asyncio.get_running_loop(), 1, SOON_S, lambda: b"late")
    answers = Answers()
    waiting.on_done(answers)
    assert await asyncio.wait_for(answers.first, 10) == b"late"
    waiting.partition_done()
    await turns()
    assert answers.all == [b"late"]


async def test_a_fetch_whose_look_fails_ends_its_connection() -> None:
    """An error that nobody foresaw is an end, not a wait for ever."""

    def fail(_final: bool) -> Answer:
        raise ZeroDivisionError

    partition = Watched()
    waiting, answers = fetch([partition], fail)
    waiting.wake()
    assert isinstance(await answers.first, CloseConnectionError)
    assert partition.waiting_fetches == set()


async def test_a_produce_that_was_answered_holds_nothing() -> None:
    """What builds the answer refers to those who wait: it is let go, so that no cycle keeps their logs open."""

    class Answering:
        def __call__(self) -> Answer:
            return b"done"

    answering = Answering()
    released = weakref.ref(answering)
    waiting = WaitingProduce(asyncio.get_running_loop(), 1, NEVER_S, answering)
    del answering
    answers = Answers()
    waiting.on_done(answers)
    waiting.partition_done()
    assert await answers.first == b"done"
    assert released() is None
