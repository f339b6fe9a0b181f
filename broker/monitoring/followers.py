"""Metrics of a broker as a follower: what its fetchers receive, and how far they are behind."""

from __future__ import annotations

from collections.abc import Iterator

from odradek.broker.replication.manager import ReplicaManager
from odradek.metrics.samples import Samples

_CLIENT = "Replica"
"""As Kafka calls the fetchers of brokers."""
AT_ONCE = 100
"""Partitions that are looked at in one step."""


class FollowerCollector:
    """Goes through the partitions that a broker follows, in small steps."""

    def __init__(self, replicas: ReplicaManager | None) -> None:
        """`replicas` is None for a broker that is in no cluster, and follows nobody."""
        self._replicas = replicas

    def collect(self, samples: Samples, _now_s: float) -> Iterator[None]:
        """Add bytes and lag."""
        replicas, most = self._replicas, 0
        for place, following in enumerate(replicas.followed if replicas is not None else ()):
            most = max(most, following.lag)
            if place % AT_ONCE == AT_ONCE - 1:
                yield
        received = replicas.received.bytes if replicas is not None else 0
        samples.add("kafka_server_brokertopicmetrics_replicationbytesin_total", received)
        samples.add("kafka_server_replicafetchermanager_maxlag", most, _CLIENT)
        yield
