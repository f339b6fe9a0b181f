"""The cluster as a whole: its brokers with their directories, its quorum, partitions in trouble, followers behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from odradek.client.errors import ClientError
from odradek.cluster.broker_requests import BrokerRequests
from odradek.cluster.log_dirs import LogDirFacts, describe_log_dirs
from odradek.cluster.offsets import Partition
from odradek.cluster.quorum import QuorumFacts, describe_quorum
from odradek.cluster.replica_ends import follower_lags, replica_ends
from odradek.cluster.status import BrokerStatus, FollowerStatus, broker_statuses, followers_behind
from odradek.cluster.topology import (
    JUDGEMENTS,
    ClusterBrokers,
    PartitionState,
    describe_brokers,
    describe_partitions,
    troubled,
)
from odradek.console.page import ConsolePage
from odradek.console.pages.asking import Told, told
from odradek.console.routes import view
from odradek.console.visit import Visit
from odradek.terminal.human import plural

MOST_FOLLOWED: Final = 5000
"""Partitions of which each replica is asked for its end; of more, only the ISR tells who is behind."""
MOST_SHOWN: Final = 100
"""Rows of a table of partitions that may have thousands."""


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What the page shows."""

    found: ClusterBrokers
    quorum: Told[QuorumFacts | None]
    brokers: Sequence[BrokerStatus]
    partitions: Sequence[PartitionState]
    partitions_problem: str
    followers: Sequence[FollowerStatus]
    is_lag_known: bool


def show_cluster(visit: Visit) -> Response:
    """Show the cluster at this moment."""
    with visit.cluster() as cluster:
        seen = _look(cluster.requests)
    wrong = troubled(seen.partitions)
    return visit.page(
        "cluster.html",
        seen=seen,
        trouble=wrong[:MOST_SHOWN],
        more_trouble=max(0, len(wrong) - MOST_SHOWN),
        followers=seen.followers[:MOST_SHOWN],
        more_followers=max(0, len(seen.followers) - MOST_SHOWN),
        summary=_summary(seen.partitions),
        judgements=lambda each: [name.replace("_", " ") for name, is_so in JUDGEMENTS.items() if is_so(each)],
        most_followed=MOST_FOLLOWED,
    )


def _look(requests: BrokerRequests) -> ClusterFacts:
    found = describe_brokers(requests)
    partitions = told(lambda: describe_partitions(requests))
    states = partitions.value or []
    addresses = {number: each.address for number, each in found.live.items()}
    lags: Mapping[tuple[Partition, int], int | None] = {}
    silent: Mapping[int, ClientError] = {}
    is_lag_known = len(states) <= MOST_FOLLOWED
    if is_lag_known:
        ends, silent = replica_ends(requests, addresses, states)
        lags = follower_lags(states, ends)
    directories = describe_log_dirs(requests, dict.fromkeys(addresses.values()))
    by_broker: dict[int, list[LogDirFacts] | ClientError] = {
        number: directories[address] for number, address in addresses.items()
    }
    return ClusterFacts(
        found=found,
        quorum=told(lambda: describe_quorum(requests)),
        brokers=broker_statuses(found.brokers, states, lags, by_broker, silent),
        partitions=states,
        partitions_problem=partitions.problem,
        followers=followers_behind(states, lags),
        is_lag_known=is_lag_known,
    )


def _summary(partitions: Sequence[PartitionState]) -> str:
    counts = [(sum(map(is_so, partitions)), name.replace("_", " ")) for name, is_so in JUDGEMENTS.items()]
    wrong = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return f"{plural(len(partitions), 'partition')}, {wrong or 'all replicas in sync'}"


PAGE = ConsolePage("Cluster", "/cluster", [view("/cluster", show_cluster)])
