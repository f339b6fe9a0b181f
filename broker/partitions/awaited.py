"""Those who wait until the log of a partition has come as far as an offset."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode


class AwaitedOffset(NamedTuple):
    """An offset, and who is to be told that it is reached, or will not be."""

    offset: int
    done: Callable[[ErrorCode], None]


class AwaitedDisk:
    """Those who wait for the disk."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[AwaitedOffset] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, offset: int, done: Callable[[ErrorCode], None]) -> None:
        """Call `done` once all before the offset is on the disk."""
        self._waiting.append(AwaitedOffset(offset, done))

    def reached(self, point: int) -> bool:
        """Tell those whose records are on the disk, up to `point`; return whether others wait for more."""
        waiting = self._waiting
        self._waiting = [waiter for waiter in waiting if waiter.offset > point]
        for waiter in waiting:
            if waiter.offset <= point:
                waiter.done(ErrorCode.NONE)
        return bool(self._waiting)

    def take(self) -> list[AwaitedOffset]:
        """Return all, for whoever tells them something else."""
        taken, self._waiting = self._waiting, []
        return taken
