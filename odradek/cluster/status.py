"""How a cluster is: its brokers with what lies on each, its quorum, its partitions, and followers that are behind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from odradek.client.errors import ClientError
from odradek.cluster.broker_requests import BrokerRequests
from odradek.cluster.log_dirs import LogDirFacts, describe_log_dirs
from odradek.cluster.offsets import Partition
from odradek.cluster.quorum import QuorumFacts, describe_quorum
from odradek.cluster.replica_ends import follower_lags, replica_ends
from odradek.cluster.topology import ClusterBroker, PartitionState, describe_brokers, describe_partitions


@dataclass(frozen=True, slots=True)
class BrokerStatus:
    """One broker. `lag` is the sum over its followers, None where one of them is not known."""

    broker: ClusterBroker
    leaders: int
    replicas: int
    in_sync: int
    lag: int | None
    directories: Sequence[LogDirFacts]
    problem: str | None
    """Why it does not tell of itself."""


@dataclass(frozen=True, slots=True)
class FollowerStatus:
    """A follower that is behind: out of the ISR, or with records to come; `lag` is None where it is not known."""

    partition: Partition
    broker_id: int
    lag: int | None
    is_in_sync: bool


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """A cluster at about one moment; `quorum` is None where the brokers know of none."""

    cluster_id: str
    controller_id: int
    quorum: QuorumFacts | None
    brokers: Sequence[BrokerStatus]
    partitions: Sequence[PartitionState]
    followers: Sequence[FollowerStatus]


def cluster_status(requests: BrokerRequests) -> ClusterStatus:
    """Ask for everything; CommandError where the cluster does not tell the most of it."""
    found = describe_brokers(requests)
    partitions = describe_partitions(requests, with_min_isr=True)
    addresses = {number: each.address for number, each in found.live.items()}
    ends, silent = replica_ends(requests, addresses, partitions)
    lags = follower_lags(partitions, ends)
    told = describe_log_dirs(requests, dict.fromkeys(addresses.values()))
    directories = {number: told[address] for number, address in addresses.items()}
    return ClusterStatus(
        cluster_id=found.cluster_id,
        controller_id=found.controller_id,
        quorum=describe_quorum(requests),
        brokers=broker_statuses(found.brokers, partitions, lags, directories, silent),
        partitions=partitions,
        followers=followers_behind(partitions, lags),
    )


def broker_statuses(
    brokers: Mapping[int, ClusterBroker],
    partitions: Sequence[PartitionState],
    lags: Mapping[tuple[Partition, int], int | None],
    directories: Mapping[int, list[LogDirFacts] | ClientError],
    silent: Mapping[int, ClientError],
) -> list[BrokerStatus]:
    """Put together what is known of each broker."""
    leaders, replicas, in_sync = dict.fromkeys(brokers, 0), dict.fromkeys(brokers, 0), dict.fromkeys(brokers, 0)
    for each in partitions:
        if each.leader in leaders:
            leaders[each.leader] += 1
        for counts, those in ((replicas, each.replicas), (in_sync, each.isr)):
            for number in those:
                if number in counts:
                    counts[number] += 1
    behind: dict[int, int | None] = dict.fromkeys(brokers, 0)
    for (_, number), lag in lags.items():
        sum_so_far = behind.get(number)
        if number in behind:
            behind[number] = None if lag is None or sum_so_far is None else sum_so_far + lag
    return [
        BrokerStatus(
            broker=each,
            leaders=leaders[number],
            replicas=replicas[number],
            in_sync=in_sync[number],
            lag=behind[number],
            directories=own if isinstance(own := directories.get(number, []), list) else [],
            problem=_problem(own, silent.get(number)),
        )
        for number, each in brokers.items()
    ]


def followers_behind(
    partitions: Iterable[PartitionState], lags: Mapping[tuple[Partition, int], int | None]
) -> list[FollowerStatus]:
    """Return the followers that are out of the ISR or have records to come, those furthest behind first."""
    found = [
        FollowerStatus(each.key, number, lags.get((each.key, number)), number in each.isr)
        for each in partitions
        for number in each.replicas
        if number != each.leader and (number not in each.isr or lags.get((each.key, number)))
    ]
    return sorted(found, key=lambda each: (each.lag is not None, -(each.lag or 0), each.partition, each.broker_id))


def _problem(directories: list[LogDirFacts] | ClientError, silent: ClientError | None) -> str | None:
    failed = silent or (directories if isinstance(directories, ClientError) else None)
    return None if failed is None else str(failed)
