"""Results that come later come once."""

from broker.runtime.answers import Deferred


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
