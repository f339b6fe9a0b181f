"""A result that comes later: the one form that everything has which cannot be answered at once.

A long poll, a produce that waits for its fsync, a member of a group that waits for the others: whoever works on it
makes a `Deferred` and resolves it, whoever asked says where the result goes, or cancels. No task, no future, no turn of
the event loop between the two. `broker.partitions.delayed_operation` adds a deadline and looking again. Must not know:
requests and connections.
"""

from __future__ import annotations

from asyncio import Future, get_running_loop
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class _NotYet:
    """Stands for a result until there is one."""

    __slots__ = ()


_NOT_YET = _NotYet()


class Deferred(Generic[T]):
    """The place for one result."""

    __slots__ = ("_callback", "_is_over", "_on_cancel", "_result")

    def __init__(self, on_cancel: Callable[[], object] | None = None) -> None:
        """`on_cancel` is called if nobody waits any more before there is a result."""
        self._callback: Callable[[T], None] | None = None
        self._on_cancel = on_cancel
        self._is_over = False
        self._result: T | _NotYet = _NOT_YET

    def on_done(self, callback: Callable[[T], None]) -> None:
        """Call back with the result, exactly once, unless cancelled. To be called before the result is there."""
        self._callback = callback

    def resolve(self, result: T) -> None:
        """Hand over the result; a second one, and one that nobody waits for any more, is dropped."""
        if self._is_over:
            return
        self._is_over = True
        self._on_cancel = None
        callback, self._callback = self._callback, None
        if callback is None:
            self._result = result
        else:
            callback(result)

    def cancel(self) -> None:
        """Nobody waits for the result any more: the connection is gone."""
        if self._is_over:
            return
        self._is_over = True
        self._callback = None
        on_cancel, self._on_cancel = self._on_cancel, None
        if on_cancel is not None:
            on_cancel()

    def now_or_later(self) -> T | Deferred[T]:
        """Return the result if it came before anybody asked for it, and this place otherwise.

        Whoever makes a place that may be filled before it is returned, returns this.
        """
        return self if isinstance(self._result, _NotYet) else self._result

    def __await__(self) -> Generator[Any, None, T]:
        """Wait for the result in a coroutine; one that is cancelled cancels this place."""
        return self._arrival().__await__()

    async def _arrival(self) -> T:
        arrived: Future[T] = get_running_loop().create_future()
        self.on_done(lambda result: None if arrived.done() else arrived.set_result(result))
        try:
            return await arrived
        finally:
            self.cancel()

    def then(self, convert: Callable[[T], U]) -> Deferred[U]:
        """Return the place for what `convert` makes of the result; cancelling it cancels this one."""
        converted: Deferred[U] = Deferred(self.cancel)
        self.on_done(lambda result: converted.resolve(convert(result)))
        return converted


def then(outcome: T | Deferred[T], convert: Callable[[T], U]) -> U | Deferred[U]:
    """Return what `convert` makes of a result that is there, or the place for that of one that comes later."""
    return outcome.then(convert) if isinstance(outcome, Deferred) else convert(outcome)


def and_then(outcome: T | Deferred[T], go_on: Callable[[T], U | Deferred[U]]) -> U | Deferred[U]:
    """Return what `go_on` makes of a result, where either may come later; cancelling that stops nothing of it."""
    if not isinstance(outcome, Deferred):
        return go_on(outcome)
    last: Deferred[U] = Deferred()

    def arrived(result: T) -> None:
        following = go_on(result)
        if isinstance(following, Deferred):
            following.on_done(last.resolve)
        else:
            last.resolve(following)

    outcome.on_done(arrived)
    return last


def gather(outcomes: Sequence[T | Deferred[T]]) -> list[T] | Deferred[list[T]]:
    """Return all results, in their order; later, if some of them come later. Cancelling that cancels these."""
    late = {place: outcome for place, outcome in enumerate(outcomes) if isinstance(outcome, Deferred)}
    found: dict[int, T] = {place: result for place, result in enumerate(outcomes) if not isinstance(result, Deferred)}
    if not late:
        return [found[place] for place in range(len(outcomes))]
    gathered: Deferred[list[T]] = Deferred(lambda: [deferred.cancel() for deferred in late.values()])

    def take(place: int, result: T) -> None:
        found[place] = result
        if len(found) == len(outcomes):
            gathered.resolve([found[place] for place in range(len(outcomes))])

    for place, deferred in late.items():
        deferred.on_done(partial(take, place))
    return gathered
