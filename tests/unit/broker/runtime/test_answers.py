"""Results that come later come once."""

from odradek.broker.runtime.answers import Deferred, gather


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
