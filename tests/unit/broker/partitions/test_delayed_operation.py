"""Requests that wait are answered exactly once: by what they wait for, or by their deadline."""

import asyncio
import weakref
from collections.abc import Callable

import pytest

from odradek.broker.partitions.delayed_operation import DelayedOperation, Waiter
from odradek.broker.runtime.responses import CloseConnectionError, Response

SOON_S = 0.01
NEVER_S = 3600.0


class Watched:
    """Stands for a partition."""

    def __init__(self) -> None:
        self.delayed_fetches: dict[Waiter, None] = {}


class Answers:
    """Collects the answers of a pending request."""

    def __init__(self) -> None:
        self.all: list[Response] = []
        self.first: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

    def __call__(self, answer: Response) -> None:
        self.all.append(answer)
        if not self.first.done():
            self.first.set_result(answer)


def fetch(
    watched: list[Watched], attempt: Callable[[bool], Response], max_wait_s: float = NEVER_S
) -> tuple[DelayedOperation, Answers]:
    waiting = DelayedOperation(asyncio.get_running_loop(), max_wait_s, attempt, watched)
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
    assert partition.delayed_fetches == {}


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
    assert partition.delayed_fetches == {}


async def test_a_wake_is_followed_in_a_turn_of_its_own() -> None:
    """A connection goes on from there: not in the middle of a change to the partitions."""
    delayed, answers = fetch([], lambda _: b"done")
    delayed.wake()
    assert answers.all == []
    await turns()
    assert answers.all == [b"done"]


async def test_what_wakes_before_the_connection_waits_is_not_lost() -> None:
    """All partitions of a produce may have reported before it is said where the answer goes."""
    delayed = DelayedOperation(asyncio.get_running_loop(), NEVER_S, lambda _: b"done")
    delayed.wake()
    answers = Answers()
    delayed.on_done(answers)
    assert await asyncio.wait_for(answers.first, 10) == b"done"


async def test_what_wakes_after_the_deadline_does_not_answer_again() -> None:
    """The deadline answered."""
    delayed, answers = fetch([], lambda final: b"late" if final else b"in time", SOON_S)
    assert await asyncio.wait_for(answers.first, 10) == b"late"
    delayed.wake()
    await turns()
    assert answers.all == [b"late"]


async def test_a_fetch_whose_look_fails_ends_its_connection() -> None:
    """An error that nobody foresaw is an end, not a wait for ever."""

    def fail(_final: bool) -> Response:
        raise ZeroDivisionError

    partition = Watched()
    waiting, answers = fetch([partition], fail)
    waiting.wake()
    assert isinstance(await answers.first, CloseConnectionError)
    assert partition.delayed_fetches == {}


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_what_is_over_holds_nothing(is_cancelled: bool) -> None:
    """What makes the response refers to those who wait: it is let go, so that no cycle keeps their logs open."""

    class Attempt:
        def __call__(self, _final: bool) -> Response:
            return b"done"

    attempt = Attempt()
    released = weakref.ref(attempt)
    delayed, answers = fetch([], attempt)
    del attempt
    if is_cancelled:
        delayed.cancel()
    else:
        delayed.wake()
        assert await answers.first == b"done"
    assert released() is None
