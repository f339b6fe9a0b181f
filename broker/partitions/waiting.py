"""Requests that wait: a fetch for enough data, a produce for its data to be safe. Kafka calls the places where they
wait purgatories.

A waiting request is woken by what happens to its partitions (an append, a higher high watermark, a deletion) or by its
deadline, and is answered exactly once. It holds what it needs to try again, never a copy of data.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Sequence
from typing import Protocol

from odradek.broker.runtime.answers import Answer, CloseConnectionError
from odradek.broker.runtime.logging import get_logger

log = get_logger("partitions")


class Watched(Protocol):
    """Something that wakes the fetches that wait on it: a partition."""

    waiting_fetches: set[WaitingFetch]


class WaitingFetch:
    """A long poll: tries again whenever one of its partitions changed, and answers with what there is at its
    deadline."""

    __slots__ = ("_attempt", "_callback", "_loop", "_scheduled", "_timer", "_watched")

    def __init__(
        self,
        loop: AbstractEventLoop,
        watched: Sequence[Watched],
        max_wait_s: float,
        attempt: Callable[[bool], Answer],
    ) -> None:
        """`attempt(final)` returns the answer, or None where it is better to wait on; with `final` it always
        answers."""
        self._loop = loop
        self._watched = watched
        self._attempt = attempt
        self._callback: Callable[[Answer], None] | None = None
        self._scheduled = False
        self._timer: TimerHandle = loop.call_later(max_wait_s, self.expire)
        for partition in watched:
            partition.waiting_fetches.add(self)

    def on_done(self, callback: Callable[[Answer], None]) -> None:
        """See `Pending`."""
        self._callback = callback

    def wake(self) -> None:
        """Something changed: look again, once, after everything else that happens in this turn of the loop."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._look_again)

    def cancel(self) -> None:
        """Nobody waits any more."""
        self._callback = None
        self._leave()

    def _look_again(self) -> None:
        self._scheduled = False
        if self._callback is not None:
            answer = self._try(False)
            if answer is not None:
                self._finish(answer)

    def expire(self) -> None:
        """Answer now, with what there is: the deadline has come, or the broker stops."""
        if self._callback is not None:
            self._finish(self._try(True))

    def _try(self, final: bool) -> Answer:
        try:
            return self._attempt(final)
        except Exception as failed:  # our fault: whoever waits must not wait for ever
            log.error("a waiting fetch failed", exc_info=failed)
            return CloseConnectionError("the broker failed to answer; its log says why")

    def _finish(self, answer: Answer) -> None:
        callback, self._callback = self._callback, None
        self._leave()
        if callback is not None:
            callback(answer)

    def _leave(self) -> None:
        self._timer.cancel()
        for partition in self._watched:
            partition.waiting_fetches.discard(self)


class WaitingProduce:
    """A produce that was appended and waits until each of its partitions says that the data is safe, failed, or time is
    up."""

    __slots__ = ("_answer", "_callback", "_loop", "_open", "_timer")

    def __init__(
        self, loop: AbstractEventLoop, partitions: int, timeout_s: float, answer: Callable[[], Answer]
    ) -> None:
        """`answer()` builds the response from what is known when the last partition reported or the time was up."""
        self._loop = loop
        self._open = partitions
        self._answer = answer
        self._callback: Callable[[Answer], None] | None = None
        self._timer = loop.call_later(timeout_s, self._finish)

    def on_done(self, callback: Callable[[Answer], None]) -> None:
        """See `Pending`."""
        self._callback = callback

    def partition_done(self) -> None:
        """One of the partitions has reported.

        The answer comes in the loop's next turn: a connection goes on with its next request then, which must not happen
        in the middle of a change to the partitions.
        """
        self._open -= 1
        if self._open == 0:
            self._loop.call_soon(self._finish)

    def cancel(self) -> None:
        """Nobody waits any more; the data stays."""
        self._callback = None
        self._answer = _no_answer
        self._timer.cancel()

    def _finish(self) -> None:
        self._timer.cancel()
        callback, self._callback = self._callback, None
        if callback is not None:
            answer = self._answer
            self._answer = _no_answer  # what it holds refers to this: without it there is no cycle to be collected
            callback(answer())


def _no_answer() -> Answer:
    return None
