"""What those who share a limit have taken.

A `Sensor` is looked at with every request, so it counts down from what may come before the rate has to be looked at: a
twentieth of a second's worth at most, and never more than would bring the rate above the limit. So a client that stays
below its limit costs a subtraction, and one that goes above it is found out with the request that does it; what it took
is noted a twentieth of a second's worth late at most.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from odradek.broker.quotas.precedence import Share
from odradek.broker.quotas.rates import Rate, Windows
from odradek.broker.runtime.context import Countdown

GRANT_S: Final = 0.05
"""How much of a limit may come before the rate is looked at again, in seconds."""
MOST_REMEMBERED: Final = 100_000
"""Of those who share a limit: who was not seen for longest is forgotten, and begins anew."""

S = TypeVar("S")


class Sensor(Countdown):
    """What was taken from one limit."""

    __slots__ = ("_granted", "_rate", "limit")

    def __init__(self, windows: Windows, limit: float) -> None:
        super().__init__(0.0)  # what may come before `settle` has to be called, by who finds less than nothing left
        self.limit = limit
        """A second; below infinity."""
        self._granted = 0.0
        self._rate = Rate(windows)

    def change(self, limit: float, now_ms: float) -> None:
        """Another limit counts from now on; what was taken stays so."""
        if limit != self.limit:
            self._note(now_ms)
            self.limit = limit

    def settle(self, now_ms: float) -> int:
        """Note what was taken; return for how many ms nothing may be taken, 0 if the limit is kept."""
        self._note(now_ms)
        throttle_ms = self._rate.throttle_ms(self.limit, now_ms)
        if not throttle_ms:
            self._grant(now_ms)
        return throttle_ms

    def settle_before(self, size: float, now_ms: float) -> int:
        """Return for how many ms nothing may be taken if this were taken now; 0 if it may. It is not taken by that."""
        if self.left >= size:
            return 0
        self._note(now_ms)
        throttle_ms = self._rate.throttle_ms(self.limit, now_ms, size)
        if not throttle_ms:
            self._grant(now_ms)
        return throttle_ms

    def _note(self, now_ms: float) -> None:
        taken = self._granted - self.left
        self._granted = self.left = 0.0
        if taken:
            self._rate.record(taken, now_ms)

    def _grant(self, now_ms: float) -> None:
        room = self._rate.room(self.limit, now_ms)
        self._granted = self.left = max(0.0, min(room, self.limit * GRANT_S))


class Remembered(Generic[S]):
    """Things by who shares them, of which those that are not asked for are forgotten.

    They are in two halves: what is asked for moves to the newer one, and when that is full the older one goes. So what
    may be forgotten is never looked for.
    """

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._half = max(1, most // 2)
        self._newer: dict[Share, S] = {}
        self._older: dict[Share, S] = {}

    def __len__(self) -> int:
        return len(self._newer) + len(self._older)

    def get(self, share: Share, make: Callable[[], S]) -> S:
        """Return what there is for a share, made if there is nothing yet."""
        found = self._newer.get(share)
        if found is not None:
            return found
        found = self._older.pop(share, None)
        if found is None:
            found = make()
        if len(self._newer) >= self._half:
            self._older, self._newer = self._newer, {}
        self._newer[share] = found
        return found

    def forget_all(self) -> None:
        """Begin anew."""
        self._newer, self._older = {}, {}
