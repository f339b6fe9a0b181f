"""A bucket of tokens: changes of the cluster may come in bursts, and then at a rate (KIP-599).

Kafka's `TokenBucket`: it holds as much as comes in all windows (controller.quota.window.num and .size.seconds), is full
at first, and a request that finds it not below zero may take more than is in it. Times are in milliseconds.
"""

from __future__ import annotations

from math import floor, inf

from odradek.broker.quotas.rates import Windows


class TokenBucket:
    """Tokens, and when they were counted."""

    __slots__ = ("_counted_ms", "_tokens", "_windows", "limit")

    def __init__(self, windows: Windows, limit: float) -> None:
        """`limit` tokens come each second; it may change."""
        self.limit = limit
        self._windows = windows
        self._tokens = inf
        self._counted_ms = 0.0

    def take(self, tokens: float, now_ms: float) -> None:
        """Take tokens, whether they are there or not."""
        self._refill(now_ms)
        self._tokens = min(self._burst, self._tokens - tokens)

    def throttle_ms(self, now_ms: float) -> int:
        """Return how long it takes until the bucket is not below zero, 0 if it is not."""
        self._refill(now_ms)
        return floor(-self._tokens / self.limit * 1000 + 0.5) if self._tokens < 0 else 0

    @property
    def _burst(self) -> float:
        return self._windows.number * self._windows.size_s * self.limit

    def _refill(self, now_ms: float) -> None:
        self._tokens = min(self._burst, self._tokens + self.limit * (now_ms - self._counted_ms) / 1000)
        self._counted_ms = now_ms
