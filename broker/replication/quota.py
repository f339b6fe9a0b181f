"""How fast replicas may be moved: leader and follower replication throttles (KIP-73).

Times are monotonic seconds. The rate is taken over the last eleven seconds, and only of partitions that the topic's
configuration names for this broker; followers in sync are never held back, and what they take counts, too. Follows
Kafka's `ReplicationQuotaManager`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from odradek.broker.metadata.image import MetadataImage, ResourceType
from odradek.broker.partitions.partition import Partition

WINDOWS = 11
WINDOW_S = 1.0
UNLIMITED = (1 << 63) - 1
"""Kafka's default rate."""


def dynamic_rate(image: MetadataImage, node_id: int, key: str) -> int:
    """Return a rate that is set at run time only: of this broker, or else of all of them."""
    for name in (str(node_id), ""):
        text = image.config(ResourceType.BROKER, name).get(key)
        if text is not None and text.isdecimal():
            return int(text)
    return UNLIMITED


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


class ReplicationQuotas:
    """Both directions, as far as topics and this broker ask for them."""

    def __init__(
        self, node_id: int, leader_rate: Callable[[], int], follower_rate: Callable[[], int], now: Callable[[], float]
    ) -> None:
        """The rates are leader.replication.throttled.rate and follower.replication.throttled.rate at present."""
        self._node_id = node_id
        self._leader = ReplicationQuota(leader_rate, now)
        self._follower = ReplicationQuota(follower_rate, now)

    def holds_back(self, partition: Partition) -> bool:
        """Whether a follower that is not in sync is sent nothing of a partition now."""
        return self._is_throttled_as_leader(partition) and self._leader.is_exceeded

    def sent(self, partition: Partition, size: int) -> None:
        """Note bytes that a follower is sent."""
        if self._is_throttled_as_leader(partition):
            self._leader.record(size)

    def leaves_out(self, partition: Partition) -> bool:
        """Whether a partition in which this broker is not in sync is not to be fetched now."""
        return self._is_throttled_as_follower(partition) and self._follower.is_exceeded

    def received(self, partition: Partition, size: int) -> None:
        """Note bytes that came for a partition."""
        if self._is_throttled_as_follower(partition):
            self._follower.record(size)

    def _is_throttled_as_leader(self, partition: Partition) -> bool:
        return self._is_named(partition.log.config.leader_replication_throttled_replicas, partition)

    def _is_throttled_as_follower(self, partition: Partition) -> bool:
        return self._is_named(partition.log.config.follower_replication_throttled_replicas, partition)

    def _is_named(self, replicas: tuple[str, ...], partition: Partition) -> bool:
        """Whether a list of throttled replicas (`*`, or `partition:broker`) has the replica here."""
        return bool(replicas) and ("*" in replicas or f"{partition.index}:{self._node_id}" in replicas)
