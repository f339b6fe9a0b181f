"""Requests that wait: a fetch for enough data, a produce for its data to be safe. Kafka's delayed operations; it calls
the places where they wait purgatories.

It is woken by what happens to its partitions (an append, a higher high watermark, a deletion) or by its deadline, and
completes exactly once. It holds what it needs to try again, never a copy of data.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Sequence
from typing import Protocol

from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.responses import CloseConnectionError, Response

log = get_logger("partitions")


class Waiter(Protocol):
    """Who is told when something happens to a partition."""

    def wake(self) -> None:
        """Something happened."""

    def expire(self) -> None:
        """The broker stops: wait no longer."""


class Watched(Protocol):
    """Something that wakes the fetches that wait on it: a partition, or many at once."""

    delayed_fetches: dict[Waiter, None]


class DelayedOperation(Deferred[Response]):
    """Tries again whenever it is woken, and for the last time at its deadline."""

    __slots__ = ("_attempt", "_loop", "_scheduled", "_timer", "_watched")

    def __init__(
        self,
        loop: AbstractEventLoop,
        max_wait_s: float,
        attempt: Callable[[bool], Response],
        watched: Sequence[Watched] = (),
    ) -> None:
        """`attempt(final)` returns the response, or None where it is better to wait on; with `final` a response, unless
        it sees to it that this is expired again.

        One that raises is logged, and ends the connection. It is called in a turn of the loop of its own: a connection
        goes on with its next request then, which must not happen in the middle of a change to the partitions. Fetches
        give as `watched` the partitions that are to wake them.
        """
        super().__init__()
        self._loop = loop
        self._attempt = attempt
        self._watched = watched
        self._scheduled = False
        self._timer: TimerHandle = loop.call_later(max_wait_s, self.expire)
        for partition in watched:
            partition.delayed_fetches[self] = None

    def wake(self) -> None:
        """Something changed: look again, once, after everything else that happens in this turn of the loop."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._look_again)

    def expire(self) -> None:
        """Complete now, with what there is: the deadline has come, or the broker stops."""
        self._try(True)

    def cancel(self) -> None:
        """Nobody waits any more; what was done stays done."""
        super().cancel()
        self._leave()

    def _look_again(self) -> None:
        self._scheduled = False
        self._try(False)

    def _try(self, final: bool) -> None:
        if self._is_over:
            return
        try:
            response = self._attempt(final)
        except Exception as failed:  # our fault: whoever waits must not wait for ever
            log.error("a delayed request failed", exc_info=failed)
            response = CloseConnectionError("the broker failed to answer; its log says why")
        if response is not None:
            self._leave()
            self.resolve(response)

    def _leave(self) -> None:
        self._timer.cancel()
        self._attempt = _nothing  # what it holds may refer to this: without it there is no cycle to be collected
        for partition in self._watched:
            partition.delayed_fetches.pop(self, None)


def _nothing(_final: bool) -> None:
    return None
