"""Results that come later come once."""

import asyncio

import pytest

from odradek.broker.runtime.deferred import Deferred, gather, then


def test_a_result_is_handed_over_once() -> None:
    """A second one is dropped."""
    deferred: Deferred[int] = Deferred()
    found: list[int] = []
    deferred.on_done(found.append)
    deferred.resolve(1)
    deferred.resolve(2)
    assert found == [1]


def test_who_cancelled_is_not_called() -> None:
    """Whatever comes."""
    deferred: Deferred[int] = Deferred()
    found: list[int] = []
    deferred.on_done(found.append)
    deferred.cancel()
    deferred.resolve(1)
    assert found == []


def test_a_conversion_is_made_on_the_way() -> None:
    """And a cancelled one cancels what it waits for."""
    deferred: Deferred[int] = Deferred()
    texts: list[str] = []
    deferred.then(str).on_done(texts.append)
    deferred.resolve(7)
    assert texts == ["7"]
    other: Deferred[int] = Deferred()
    converted = other.then(str)
    converted.on_done(texts.append)
    converted.cancel()
    other.resolve(8)
    assert texts == ["7"]


def test_a_result_that_is_there_is_converted_at_once() -> None:
    """Who converts need not know whether it is."""
    assert then(7, str) == "7"
    texts: list[str] = []
    deferred: Deferred[int] = Deferred()
    later = then(deferred, str)
    assert isinstance(later, Deferred)
    later.on_done(texts.append)
    deferred.resolve(8)
    assert texts == ["8"]


def test_a_result_that_came_before_anybody_asked_is_kept() -> None:
    """Who made the place returns the result instead of it."""
    deferred: Deferred[int] = Deferred()
    assert deferred.now_or_later() is deferred
    deferred.resolve(1)
    assert deferred.now_or_later() == 1


@pytest.mark.parametrize("is_first", [True, False])
def test_who_works_on_it_is_told_that_nobody_waits(is_first: bool) -> None:
    """Once, and only if there is no result yet."""
    told: list[str] = []
    deferred: Deferred[int] = Deferred(lambda: told.append("left"))
    if not is_first:
        deferred.resolve(1)
    deferred.cancel()
    deferred.cancel()
    assert told == (["left"] if is_first else [])


async def test_a_coroutine_can_wait_for_a_result() -> None:
    """And where it is cancelled, nobody waits any more."""
    deferred: Deferred[int] = Deferred()

    async def wait() -> int:
        return await deferred

    waiting = asyncio.ensure_future(wait())
    await asyncio.sleep(0)
    deferred.resolve(3)
    assert await waiting == 3
    left: list[bool] = []
    deferred = Deferred(lambda: left.append(True))
    waiting = asyncio.ensure_future(wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert left == [True]


def test_gathered_results_come_in_their_order_when_all_are_there() -> None:
    """At once, where none comes later."""
    assert gather([1, 2]) == [1, 2]
    assert gather([]) == []
    first: Deferred[int] = Deferred()
    second: Deferred[int] = Deferred()
    pieces: list[int | Deferred[int]] = [first, 2, second]
    gathered = gather(pieces)
    assert isinstance(gathered, Deferred)
    told: list[list[int]] = []
    gathered.on_done(told.append)
    second.resolve(3)
    assert told == []
    first.resolve(1)
    first.resolve(9)
    assert told == [[1, 2, 3]]


def test_who_gives_up_on_gathered_results_gives_up_on_each() -> None:
    """None of them is waited for in vain."""
    late: Deferred[int] = Deferred()
    pieces: list[int | Deferred[int]] = [late]
    gathered = gather(pieces)
    assert isinstance(gathered, Deferred)
    told: list[list[int]] = []
    gathered.on_done(told.append)
    gathered.cancel()
    late.resolve(1)
    assert told == []
