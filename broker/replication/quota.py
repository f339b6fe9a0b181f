"""How fast replicas may be moved: leader and follower replication throttles (KIP-73).

Pure: times are monotonic seconds. The rate is taken over the last eleven seconds, and only of partitions that the
topic's configuration names; those that are in sync are never held back, and what they take counts, too. Follows Kafka's
`ReplicationQuotaManager`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

WINDOWS = 11
WINDOW_S = 1.0
UNLIMITED = (1 << 63) - 1
"""Kafka's default rate."""


def is_throttled(replicas: Sequence[str], partition: int, broker_id: int) -> bool:
    """Whether a topic's list of throttled replicas (`*`, or `partition:broker`) has this one."""
    return "*" in replicas or f"{partition}:{broker_id}" in replicas


class ReplicationQuota:
    """The bytes of one direction, and whether they are more than they may be."""

    def __init__(self, rate: Callable[[], int], now: Callable[[], float]) -> None:
        """`rate` is the limit at present, in bytes a second."""
        self._rate = rate
        self._now = now
        self._windows: deque[tuple[int, int]] = deque()
        """(number of the window, bytes in it)"""

    def record(self, size: int) -> None:
        """Note bytes that were sent or received."""
        window = int(self._now() / WINDOW_S)
        if self._windows and self._windows[-1][0] == window:
            self._windows[-1] = (window, self._windows[-1][1] + size)
        else:
            self._windows.append((window, size))

    @property
    def is_exceeded(self) -> bool:
        """Whether there were more bytes than the limit allows for the last windows."""
        rate = self._rate()
        if rate >= UNLIMITED:
            return False
        now = self._now()
        oldest = int(now / WINDOW_S) - WINDOWS + 1
        while self._windows and self._windows[0][0] < oldest:
            self._windows.popleft()
        if not self._windows:
            return False
        elapsed_s = max(now - self._windows[0][0] * WINDOW_S, WINDOW_S)
        return sum(size for _, size in self._windows) / elapsed_s > rate
