"""Throttles of replication (KIP-73): a rate for brokers, and the replicas that it holds for.

A move is throttled at both ends: the replicas that a partition had before it as leaders, those that are added as
followers. Replicas that were in sync without it are not held up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from odradek.cluster.configs import ConfigResourceType, alter_configs
from odradek.cluster.connection import ClusterClients
from odradek.cluster.placement import Assignment

RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Of a broker, in bytes a second."""
LEADERS: Final = "leader.replication.throttled.replicas"
FOLLOWERS: Final = "follower.replication.throttled.replicas"
"""Of a topic: PARTITION:BROKER, with commas between them."""


def throttled_replicas(before: Assignment, target: Assignment) -> dict[str, list[tuple[str, str]]]:
    """Return the configs of each topic for moves from the replicas before to the target; pure."""
    leaders: dict[str, list[str]] = {}
    followers: dict[str, list[str]] = {}
    for (topic, number), replicas in sorted(target.items()):
        had = before[topic, number]
        added = [each for each in replicas if each not in had]
        if added:
            leaders.setdefault(topic, []).extend(f"{number}:{each}" for each in had)
            followers.setdefault(topic, []).extend(f"{number}:{each}" for each in added)
    return {
        topic: [(LEADERS, ",".join(leaders[topic])), (FOLLOWERS, ",".join(followers[topic]))] for topic in followers
    }


def set_throttles(
    cluster: ClusterClients, rate: int, brokers: Iterable[int], topics: Mapping[str, Sequence[tuple[str, str]]]
) -> None:
    """Hold replication to so many bytes a second at each of the brokers; CommandError where one refuses."""
    for topic, configs in topics.items():
        alter_configs(cluster, ConfigResourceType.TOPIC, topic, configs, ())
    for broker in brokers:
        alter_configs(cluster, ConfigResourceType.BROKER, str(broker), [(name, str(rate)) for name in RATES], ())


def clear_throttles(cluster: ClusterClients, brokers: Iterable[int], topics: Iterable[str]) -> None:
    """Take the throttles away; CommandError where a broker refuses."""
    for broker in brokers:
        alter_configs(cluster, ConfigResourceType.BROKER, str(broker), (), RATES)
    for topic in topics:
        alter_configs(cluster, ConfigResourceType.TOPIC, topic, (), (LEADERS, FOLLOWERS))
