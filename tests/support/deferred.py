"""Results that may come later, for tests in which they must be there at once."""

from typing import TypeVar

from odradek.broker.runtime.deferred import Deferred

T = TypeVar("T")


def now(outcome: T | Deferred[T]) -> T:
    """Return the result, which must be there."""
    assert not isinstance(outcome, Deferred)
    return outcome
