"""All partitions with several replicas of this broker: those that it leads, and the fetchers of those that it follows.

The table of partitions calls it with what the metadata says (`partitions.table.Replication`). Owns which fetcher has
which partition. Follows Kafka's `ReplicaManager` and `AbstractFetcherManager`.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator
from typing import NamedTuple

from odradek.broker.metadata.image import NO_LEADER, MetadataImage, PartitionImage
from odradek.broker.nodes.requests import Connector, NodeAddress
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.roles import Role
from odradek.broker.replication.eligibility import address_of
from odradek.broker.replication.fetcher import Fetcher, FetchSettings, FollowerQuota, Received
from odradek.broker.replication.fetcher_driver import FetcherDriver
from odradek.broker.replication.following import Following, TruncatedLogs
from odradek.broker.replication.leadership import IsrChanges, Leadership, Surroundings
from odradek.broker.replication.nearest_replica import nearest_replica
from odradek.broker.runtime.clock import Clock
from odradek.protocol.java_hash import java_hash
from odradek.storage.names import TopicPartition


class ReplicationParts(NamedTuple):
    """What replication is built from."""

    loop: AbstractEventLoop
    clock: Clock
    logs: TruncatedLogs
    connector: Connector
    isr_changes: IsrChanges
    image: Callable[[], MetadataImage]
    broker_epoch: Callable[[], int]
    """Under which registration this broker serves."""
    listener: str
    """inter.broker.listener.name: where other brokers are reached."""
    settings: FetchSettings
    num_fetchers: int = 1
    """num.replica.fetchers: for each leader."""
    max_lag_ms: int = 30_000
    """replica.lag.time.max.ms"""
    quota: FollowerQuota | None = None


class FetcherKey(NamedTuple):
    """A leader, and one of the fetchers that there are for each."""

    leader: int
    fetcher: int


class ReplicaManager:
    """Lets partitions lead and follow."""

    def __init__(self, parts: ReplicationParts) -> None:
        self._parts = parts
        self._surroundings = Surroundings(
            parts.settings.node_id, parts.clock, parts.image, parts.isr_changes, parts.max_lag_ms
        )
        self._num_fetchers = parts.num_fetchers
        self._led: dict[Partition, Leadership] = {}
        self._followed: dict[Partition, tuple[Following, FetcherKey | None]] = {}
        self._fetchers: dict[FetcherKey, FetcherDriver] = {}
        self.received = Received()

    def committed(self, tp: TopicPartition) -> int:
        """The high watermark of a partition as it was written down before the start."""
        return self._parts.logs.high_watermarks.get(tp, 0)

    def assign(self, partition: Partition, image: PartitionImage) -> None:
        """Let a partition with several replicas lead or follow, as the metadata says."""
        if image.leader == self._surroundings.node_id:
            self._stop_following(partition)
            leadership = self._led.get(partition)
            if leadership is None:
                leadership = self._led[partition] = Leadership(partition, self._surroundings)
            leadership.assigned(image)
            partition.lead(image.leader, image.leader_epoch, leadership)
        elif partition.role is Role.LEADER or partition.leader_epoch != image.leader_epoch:
            self.release(partition)
            partition.follow(image.leader, image.leader_epoch)
            self._follow(partition, image)

    def release(self, partition: Partition) -> None:
        """The partition has one replica only, or is retired: nobody follows any more."""
        self._led.pop(partition, None)
        self._stop_following(partition)

    def nearest(self, partition: Partition, rack: str, offset: int) -> int | None:
        """The broker that a consumer in a rack should read from at an offset; None where that is the leader."""
        leadership = self._led.get(partition)
        if leadership is None:
            return None
        return nearest_replica(leadership.state, self._parts.image(), rack, offset)

    def shrink_isrs(self) -> Iterator[None]:
        """Look for followers that fell behind, a partition at a step; every half of replica.lag.time.max.ms."""
        for leadership in list(self._led.values()):
            if leadership.partition.replicas is leadership:
                leadership.shrink()
            yield

    def change_fetchers(self, count: int) -> None:
        """Spread the partitions over another number of fetchers (num.replica.fetchers)."""
        if count == self._num_fetchers:
            return
        self._num_fetchers = count
        self.stop()
        for following, key in list(self._followed.values()):
            if key is not None:
                self._fetch(following, key.leader)

    def stop(self) -> None:
        """Fetch nothing any more."""
        for driver in self._fetchers.values():
            driver.stop()
        self._fetchers.clear()

    @property
    def led(self) -> Iterator[Leadership]:
        """The partitions with several replicas that this broker leads."""
        return iter(self._led.values())

    @property
    def followed(self) -> list[Following]:
        """The partitions that this broker follows."""
        return [following for following, _ in self._followed.values()]

    def _follow(self, partition: Partition, image: PartitionImage) -> None:
        following = Following(partition, image.leader_epoch, self._parts.logs, self._parts.clock)
        self._followed[partition] = (following, None)
        if image.leader != NO_LEADER:
            self._fetch(following, image.leader)

    def _fetch(self, following: Following, leader: int) -> None:
        partition = following.partition
        key = FetcherKey(leader, fetcher_of(partition.topic, partition.index, self._num_fetchers))
        self._followed[partition] = (following, key)
        driver = self._fetchers.get(key)
        if driver is None:
            driver = self._fetchers[key] = self._driver(key)
        driver.add(following)

    def _driver(self, key: FetcherKey) -> FetcherDriver:
        parts = self._parts
        return FetcherDriver(
            parts.loop,
            parts.connector,
            Fetcher(parts.settings, parts.broker_epoch, parts.quota, self.received),
            parts.settings,
            f"broker-{parts.settings.node_id}-fetcher-{key.fetcher}",
            LeaderAddress(parts.image, key.leader, parts.listener),
        )

    def _stop_following(self, partition: Partition) -> None:
        following, key = self._followed.pop(partition, (None, None))
        driver = self._fetchers.get(key) if key is not None else None
        if following is None or key is None or driver is None:
            return
        driver.remove(following.replica)
        if not len(driver):
            driver.stop()
            del self._fetchers[key]


class LeaderAddress:
    """Where a leader is reached by others, as the newest metadata says; asked for before each fetch."""

    def __init__(self, image: Callable[[], MetadataImage], leader: int, listener: str) -> None:
        self._image = image
        self._leader = leader
        self._listener = listener
        self._known = image()
        self._address = address_of(self._known, leader, listener)

    def __call__(self) -> NodeAddress | None:
        """The address; None where the leader is not alive, or has no such listener."""
        image = self._image()
        if image is not self._known:
            self._known, self._address = image, address_of(image, self._leader, self._listener)
        return self._address


def fetcher_of(topic: str, partition: int, fetchers: int) -> int:
    """Return which of the fetchers of a leader has a partition, as Kafka spreads them."""
    value = (31 * java_hash(topic) + partition) & 0xFFFF_FFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return (0 if signed == -(1 << 31) else abs(signed)) % fetchers
