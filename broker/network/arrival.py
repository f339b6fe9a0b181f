"""How fast a request arrives: while memory is short, who dribbles must not keep others from sending."""

from __future__ import annotations

from typing import Final

SLOW_SENDER_GRACE_S: Final = 5.0
SLOW_SENDER_BYTES_PER_S: Final = 64 * 1024
"""While memory for arriving requests is short, a request that began to arrive longer ago than the grace and came more
slowly than this is given up."""


class Arrival:
    """Of the request of one connection that is incomplete, if there is one."""

    __slots__ = ("_last_look", "since")

    def __init__(self) -> None:
        self.since = 0.0
        """When it began, by the clock of the event loop; 0 if there is none."""
        self._last_look = (0.0, 0)
        """When it was last found out how fast it arrives, and how much of it was there."""

    def is_slow(self, now: float, last_active: float, arrived: int) -> bool:
        """Tell whether it arrives too slowly; `arrived` is how many bytes of it are there, `last_active` when the
        request before it was answered."""
        if not self.since:
            return False
        began = max(self.since, last_active)  # of requests in a row, the last one
        since, before = self._last_look
        if since < began:
            since, before = began, 0
        seconds = now - since
        if seconds <= SLOW_SENDER_GRACE_S:
            return False
        self._last_look = (now, arrived)
        return arrived - before < seconds * SLOW_SENDER_BYTES_PER_S
