"""How fast connections may come from an address: connection_creation_rate (KIP-612).

One that comes too fast is not let in: it is kept, silent, for as long as it came too early, a window at most, and then
ended; so a client that tries again at once is slowed down. It does not count. Times are in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf

from odradek.broker.quotas.rates import Rate, Windows
from odradek.broker.quotas.sensors import Remembered


class ConnectionRates:
    """Counts the connections that come from each address."""

    def __init__(self, windows: Windows, now_ms: Callable[[], float]) -> None:
        self._windows = windows
        self._now_ms = now_ms
        self._rates: Remembered[Rate] = Remembered()
        self._limits: Mapping[str, float] = {}
        self._limit_of_others: float = inf

    def follow(self, limits: Mapping[str, float], of_others: float | None) -> None:
        """Other limits count from now on: of addresses, and of all that are not named."""
        self._limits = limits
        self._limit_of_others = inf if of_others is None else of_others

    @property
    def is_active(self) -> bool:
        """Whether any address has a limit."""
        return bool(self._limits) or self._limit_of_others < inf

    def throttle_ms(self, address: str) -> int:
        """Note a connection; return for how many ms it is kept and not let in, 0 if it is let in."""
        limit = self._limits.get(address, self._limit_of_others)
        if not limit < inf:
            return 0
        now_ms = self._now_ms()
        rate = self._rates.get((address, ""), lambda: Rate(self._windows))
        throttle_ms = rate.throttle_ms(limit, now_ms, 1)
        if throttle_ms <= 0:
            rate.record(1, now_ms)
        return min(throttle_ms, self._windows.size_ms)
