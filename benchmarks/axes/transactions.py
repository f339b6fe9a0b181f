"""Transactions: what one costs, how long its commit takes, and what very many ids and open transactions take."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks import isolation, machine, wire
from benchmarks import transaction_wire as messages
from benchmarks.axis import Axis, Measure, Stage, Values
from benchmarks.clients import transactions
from benchmarks.clients.transactions import SAMPLE, IdLoad, TransactionLoad, await_coordinator, id_name
from benchmarks.connection import await_leaders
from benchmarks.target import Broker

_IDS, _OPEN = 100_000, 10_000
_OPEN_PARTITIONS = 10
_WAIT_SECONDS = 60
_OPEN_MS = 900_000
"""transaction.max.timeout.ms: none is over while it is measured."""
_TOPIC = "transactions"


def _commit(stage: Stage, *, records: int, partitions: int = 1, producers: int = 1, implicit: bool = True) -> Values:
    """Commit transactions, and check that each record and each marker is there, and that none is open."""
    with stage.topic(_TOPIC, partitions) as topic:
        load = TransactionLoad(
            stage.broker().endpoint,
            topic,
            prefix=topic,
            records=records,
            value_size=100,
            warmup_seconds=stage.warmup_seconds,
            seconds=stage.bench.seconds(5),
            partitions=partitions,
            producers=producers,
            implicit=implicit,
        )
        found = isolation.run(transactions.commit, load)
        _await_stable(stage, topic, partitions, found.everything * partitions * (records + 1))
    return {
        "rate": found.count / found.elapsed,
        "p50": found.commit.p50 / 1e3,
        "p99": found.commit.p99 / 1e3,
        "whole": found.whole.p99 / 1e3,
        "cpu": found.broker_cpu * 1e6 / found.count,
        "client": found.client_cpu * 1e6 / found.count,
        "again": found.again / found.count,
    }


def _await_stable(stage: Stage, topic: str, partitions: int, expected: int) -> None:
    """Wait until all is stable: the last markers may be on their way."""
    request = wire.list_offsets(topic, range(partitions), wire.LATEST, committed=True)
    deadline = time.monotonic() + _WAIT_SECONDS
    with stage.broker().connect() as connection:
        while (stable := sum(wire.listed_offsets(connection.ask(request), topic))) != expected:
            if time.monotonic() > deadline:
                raise wire.WireError(f"{topic} is stable up to {stable} where {expected} records and markers belong")
            time.sleep(0.01)


def _ids(stage: Stage) -> Values:
    """Ids that are begun and have no transaction."""
    count = stage.bench.amount(_IDS)
    return _kept(stage, count, lambda broker: IdLoad(broker.endpoint, count, _OPEN_MS), "Empty")


def _open(stage: Stage) -> Values:
    """Ids that have each a transaction with one record in one of ten partitions."""
    count = stage.bench.amount(_OPEN)

    def load(broker: Broker) -> IdLoad:
        with broker.connect() as connection:
            wire.check_created(connection.ask(wire.create_topics([wire.NewTopic(_TOPIC, _OPEN_PARTITIONS)])))
            await_leaders(connection, _TOPIC, _OPEN_PARTITIONS, time.monotonic() + _WAIT_SECONDS)
        return IdLoad(broker.endpoint, count, _OPEN_MS, _TOPIC, _OPEN_PARTITIONS)

    return _kept(stage, count, load, "Ongoing")


def _kept(stage: Stage, count: int, load_of: Callable[[Broker], IdLoad], state: str) -> Values:
    """Memory for each id, CPU to begin one, and how long a broker takes to serve them after a kill."""
    names = [id_name(number) for number in range(min(count, SAMPLE))]
    stage.close()
    with stage.bench.scratch("ids") as directory:
        with stage.target.start(directory) as broker:
            load = load_of(broker)
            with broker.connect() as connection:
                await_coordinator(connection, names)
            time.sleep(stage.warmup_seconds)
            before = machine.resident_bytes(broker.pid)
            begun = isolation.run(transactions.begin, load)
            grown = machine.resident_bytes(broker.pid) - before
            _check_listed(broker, state, count)
        served, cpu = _served_again(stage, directory, names, state, count)
    return {
        "memory": grown / count,
        "cpu": begun.broker_cpu * 1e6 / count,
        "served": served * 1e3,
        "load": cpu,
    }


def _served_again(stage: Stage, directory: Path, names: Sequence[str], state: str, count: int) -> tuple[float, float]:
    """Seconds from the start of the process to when every partition tells its ids, and the CPU seconds until then."""
    with stage.target.start(directory) as broker:
        with broker.connect() as connection:
            await_coordinator(connection, names)
        served, cpu = time.perf_counter() - broker.began, broker.cpu_seconds()
        _check_listed(broker, state, count)
    return served, cpu


def _check_listed(broker: Broker, state: str, expected: int) -> None:
    with broker.connect() as connection:
        found = messages.listed_count(connection.ask(messages.list_transactions(state)))
    if found != expected:
        raise wire.WireError(f"{found} transactional ids are {state} where {expected} belong")


_COMMIT = (
    Measure("rate", "transactions/s", lower_is_better=False),
    Measure("p50", "p50 ms of the commit"),
    Measure("p99", "p99 ms of the commit"),
    Measure("whole", "p99 ms of the transaction"),
    Measure("cpu", "broker µs CPU each"),
    Measure("client", "client µs CPU each"),
    Measure("again", "times told to ask again"),
)
_KEPT = (
    Measure("memory", "bytes resident each"),
    Measure("cpu", "broker µs CPU to begin each"),
    Measure("served", "ms exec to all served after kill -9"),
    Measure("load", "s CPU until then"),
)

AXES = (
    Axis("txn-1", "transactions of one 100 B record, one producer", _COMMIT, partial(_commit, records=1)),
    Axis(
        "txn-1-told",
        "the same with AddPartitionsToTxn before (clients older than KIP-890)",
        _COMMIT,
        partial(_commit, records=1, implicit=False),
    ),
    Axis(
        "txn-1-many",
        "transactions of one 100 B record, 20 producers",
        _COMMIT,
        partial(_commit, records=1, producers=20),
    ),
    Axis(
        "txn-1-wide",
        "transactions of one 100 B record in each of 10 partitions, one producer",
        _COMMIT,
        partial(_commit, records=1, partitions=10),
    ),
    Axis("txn-1000", "transactions of 1,000 records of 100 B, one producer", _COMMIT, partial(_commit, records=1000)),
    Axis(
        "txn-1000-wide",
        "transactions of 1,000 records of 100 B, 100 in each of 10 partitions, one producer",
        _COMMIT,
        partial(_commit, records=100, partitions=10),
    ),
    Axis("txn-ids", "100,000 transactional ids (20,000 in a quick run)", _KEPT, _ids),
    Axis("txn-open", "10,000 open transactions of one record in 10 partitions (2,000 in a quick run)", _KEPT, _open),
)
