"""Transactions on three brokers with three replicas: coordinator, partitions and markers on different nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks import isolation, wire
from benchmarks import transaction_wire as messages
from benchmarks.axis import Axis, Measure, Stage, Values
from benchmarks.clients import transactions
from benchmarks.clients.transactions import TransactionLoad, producer_name
from benchmarks.clusters import Cluster

LEADER = 1
_BROKERS = (1, 2, 3)
_WAIT_SECONDS = 60


def _commit(stage: Stage, *, producers: int, partitions: int = 1) -> Values:
    """Commit transactions, and check that each record and each marker is there, and that none is open."""
    cluster = stage.cluster()
    replicas = [(LEADER, *(node for node in _BROKERS if node != LEADER))] * partitions
    with cluster.topic("transactions", assignments=replicas) as topic:
        prefix = _prefix(cluster, topic, producers)
        load = TransactionLoad(
            cluster[LEADER].endpoint,
            topic,
            prefix=prefix,
            records=1,
            value_size=100,
            warmup_seconds=stage.warmup_seconds,
            seconds=stage.bench.seconds(5),
            partitions=partitions,
            producers=producers,
            coordinators=[cluster[node].address for node in _coordinators(cluster, prefix, producers)],
        )
        before = cluster.cpu_seconds()
        found = isolation.run(transactions.commit, load)
        _await_stable(cluster, topic, partitions, found.everything * partitions * 2)
        spent = sum(cluster.cpu_seconds().values()) - sum(before.values())
    return {
        "rate": found.count / found.elapsed,
        "p50": found.commit.p50 / 1e3,
        "p99": found.commit.p99 / 1e3,
        "whole": found.whole.p99 / 1e3,
        "cpu": spent * 1e6 / found.everything,
        "again": found.again / found.count,
    }


def _prefix(cluster: Cluster, topic: str, producers: int) -> str:
    """A beginning of transactional ids; one producer's is coordinated by a broker that does not lead the partitions."""
    prefixes = (f"{topic}-{number}" for number in range(100))
    return next(each for each in prefixes if producers > 1 or _coordinators(cluster, each, 1) != [LEADER])


def _coordinators(cluster: Cluster, prefix: str, producers: int) -> Sequence[int]:
    """The brokers that coordinate the transactions of the producers."""
    found: list[int] = []

    def is_known(name: str) -> bool:
        with cluster[LEADER].connect() as connection:
            answer = connection.ask(messages.find_coordinator(name))
        if messages.coordinator_error(answer):
            return False
        found.append(messages.coordinator_of(answer))
        return True

    for number in range(producers):
        cluster.until(partial(is_known, producer_name(prefix, number)), "nobody coordinates a transactional id")
    return found


def _await_stable(cluster: Cluster, topic: str, partitions: int, expected: int) -> None:
    """Wait until all is stable: the last markers may be on their way."""
    request = wire.list_offsets(topic, range(partitions), wire.LATEST, committed=True)

    def is_so() -> bool:
        with cluster[LEADER].connect() as connection:
            return sum(wire.listed_offsets(connection.ask(request), topic)) == expected

    cluster.until(is_so, f"{topic} is not stable up to {expected} records and markers", _WAIT_SECONDS)


_MEASURES = (
    Measure("rate", "transactions/s", lower_is_better=False),
    Measure("p50", "p50 ms of the commit"),
    Measure("p99", "p99 ms of the commit"),
    Measure("whole", "p99 ms of the transaction"),
    Measure("cpu", "µs CPU each, all brokers"),
    Measure("again", "times told to ask again"),
)

AXES = (
    Axis(
        "cluster-txn-1",
        "3 replicas: transactions of one 100 B record, one producer whose coordinator does not lead the partition",
        _MEASURES,
        partial(_commit, producers=1),
    ),
    Axis(
        "cluster-txn-many",
        "3 replicas: transactions of one 100 B record in each of 10 partitions, 20 producers",
        _MEASURES,
        partial(_commit, producers=20, partitions=10),
    ),
)
