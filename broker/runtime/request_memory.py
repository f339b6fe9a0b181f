"""The memory of all requests together: one budget, in two halves of the same size.

One half is for what clients send: frames that are arriving, counted as their buffers grow, and requests that wait. The
other is for what they are sent and for work on their behalf: answers that are not read yet, and a batch that is being
checked. Where the first half is full, nothing large is read any more until some is given back; where the second is,
clients that do not read lose their connections, the one first that has read nothing for longest. Sizes are in bytes.
Must not know: sockets, frames, APIs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol


class UnreadConnection(Protocol):
    """A connection with an answer that its client has not read yet."""

    def close(self, reason: str | None = None) -> None:
        """End it, which forgets the answer (`RequestMemory.forget_unread`)."""


class RequestMemory:
    """Counts what is held, and says when there is room again."""

    def __init__(self, limit_bytes: int, schedule: Callable[[Callable[[], None]], object]) -> None:
        """`limit_bytes` is that of each half."""
        self.limit_bytes = limit_bytes
        self.is_full = False
        """Whether the half for what clients send is taken: nothing large is to be read."""
        self._schedule = schedule
        self._waiting: list[Callable[[], None]] = []
        self._held = 0
        self._unread: dict[UnreadConnection, int] = {}
        self._unread_bytes = 0
        self._working_bytes = 0

    @property
    def held_bytes(self) -> int:
        """What is held in both halves."""
        return self._held + self._unread_bytes + self._working_bytes

    @property
    def uses(self) -> Mapping[str, int]:
        """What is held, by what it is for."""
        return {"requests": self._held, "answers": self._unread_bytes, "work": self._working_bytes}

    @property
    def waiting(self) -> int:
        """How many wait for memory."""
        return len(self._waiting)

    # requests

    def may_hold(self, size: int, instead_of: int = 0) -> bool:
        """Whether `size` bytes fit, `instead_of` those that the asker holds already.

        Where nobody else holds any they always fit, so that a single large request can pass.
        """
        others = self._held - instead_of
        return others == 0 or others + size <= self.limit_bytes

    def hold(self, size: int) -> None:
        """Count `size` bytes of a request, or of one that waits."""
        self._held += size
        self.is_full = self._held >= self.limit_bytes

    def release(self, size: int) -> None:
        """Count them no more."""
        self._held -= size
        self.is_full = self._held >= self.limit_bytes
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for callback in waiting:
                self._schedule(callback)

    @property
    def is_short(self) -> bool:
        """Whether somebody waits for memory."""
        return bool(self._waiting)

    def when_freed(self, callback: Callable[[], None]) -> None:
        """Schedule the callback once after memory of requests was given back."""
        self._waiting.append(callback)

    # answers, and work

    def keep_unread(self, reader: UnreadConnection, size: int) -> None:
        """Count `size` bytes of answers that wait for their client; whoever has waited longest is closed if they are
        too many."""
        self._unread[reader] = size
        self._unread_bytes += size
        self._make_room()

    def forget_unread(self, reader: UnreadConnection) -> None:
        """The client has read on, or is gone."""
        self._unread_bytes -= self._unread.pop(reader, 0)

    def begin_work(self, size: int) -> None:
        """Count what checking a batch takes, until `end_work`."""
        self._working_bytes += size
        self._make_room()

    def end_work(self, size: int) -> None:
        """It is done."""
        self._working_bytes -= size

    def _make_room(self) -> None:
        while self._unread_bytes + self._working_bytes > self.limit_bytes and len(self._unread) > 1:
            next(iter(self._unread)).close("it does not read its answers, and memory is short")
