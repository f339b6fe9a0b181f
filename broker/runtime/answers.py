"""What a request handler gives back to the connection: bytes, pieces of files, or a promise of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class RegionFile(Protocol):
    """An open file that a region refers to; holding the reference keeps the descriptor open."""

    @property
    def fd(self) -> int:
        """The descriptor, for `os.sendfile`."""


class FileRegion(NamedTuple):
    """`length` bytes of `file` from `position` on; stays readable although the file is deleted meanwhile."""

    file: RegionFile
    position: int
    length: int


Piece = bytes | memoryview | FileRegion
"""What an answer consists of: bytes, or regions of files that the kernel sends without passing them through Python."""


class CloseConnectionError(Exception):
    """The request has no answer but the end of its connection, for the reason given."""


Answer = bytes | list[Piece] | CloseConnectionError | None
"""A whole response without its size prefix; None where the request has no response (Produce with acks=0)."""


class Pending(Protocol):
    """An answer that is not there yet: a long poll, a produce that waits for replicas or fsync, a coroutine at work."""

    def on_done(self, callback: Callable[[Answer], None]) -> None:
        """Call back with the answer, exactly once, on the event loop, and not before this call has returned."""

    def cancel(self) -> None:
        """Nobody waits for the answer any more: the connection is gone."""


class Deferred(Generic[T]):
    """A result that comes later, once: a place in a waiting room, without a task.

    Whoever makes it resolves it; whoever gets it asks to be called back, or loses interest and cancels.
    """

    __slots__ = ("_callback", "_is_over")

    def __init__(self) -> None:
        self._callback: Callable[[T], None] | None = None
        self._is_over = False

    def on_done(self, callback: Callable[[T], None]) -> None:
        """Call back with the result, exactly once, unless cancelled. To be called before the result is there."""
        self._callback = callback

    def resolve(self, result: T) -> None:
        """Hand over the result; a second one, and one that nobody waits for any more, is dropped."""
        if not self._is_over:
            self._is_over = True
            callback, self._callback = self._callback, None
            if callback is not None:
                callback(result)

    def cancel(self) -> None:
        """Nobody waits for the result any more: the connection is gone."""
        self._is_over = True
        self._callback = None

    def then(self, convert: Callable[[T], U]) -> Deferred[U]:
        """Return the place for what `convert` makes of the result; cancelling it cancels this one."""
        return _Converted(self, convert)


class _Converted(Deferred[U]):
    """A deferred result with a conversion on its way."""

    __slots__ = ("_cancel_source",)

    def __init__(self, source: Deferred[T], convert: Callable[[T], U]) -> None:
        super().__init__()
        self._cancel_source = source.cancel
        source.on_done(lambda result: self.resolve(convert(result)))

    def cancel(self) -> None:
        super().cancel()
        self._cancel_source()


def gather(results: Sequence[T | Deferred[T]]) -> list[T] | Deferred[list[T]]:
    """Return all results, in their order; later, if some of them come later. Cancelling that cancels these."""
    late = {place: result for place, result in enumerate(results) if isinstance(result, Deferred)}
    found: dict[int, T] = {place: result for place, result in enumerate(results) if not isinstance(result, Deferred)}
    if not late:
        return [found[place] for place in range(len(results))]
    return _Gathered(found, late)


class _Gathered(Deferred[list[T]]):
    """Several results, of which some come later."""

    __slots__ = ("_late",)

    def __init__(self, found: dict[int, T], late: dict[int, Deferred[T]]) -> None:
        super().__init__()
        self._late = list(late.values())

        def take(place: int, result: T) -> None:
            found[place] = result
            if len(found) == count:
                self.resolve([found[place] for place in range(count)])

        count = len(found) + len(late)
        for place, result in late.items():
            result.on_done(partial(take, place))

    def cancel(self) -> None:
        super().cancel()
        for late in self._late:
            late.cancel()
