"""Three brokers and three replicas: produce, latency, and a replica that is new.

A follower's floor receives the same bytes from a socket and appends them to a file; a new replica's writes them to the
disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import isolation, wire
from benchmarks.axes.produce import BATCH, GIGABYTE
from benchmarks.axes.produce import floor_of as produce_floor
from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.clients import bulk, requests
from benchmarks.clients.bulk import BulkLoad
from benchmarks.clients.requests import RequestLoad
from benchmarks.clusters import Cluster

LEADER, FOLLOWERS = 1, (2, 3)
_VALUE = 1024
_REPLICAS = [(LEADER, *FOLLOWERS)]
_WARMUP_RATE = 100_000_000
_CATCH_UP_BYTES = 2_000_000_000
_PAUSE_SECONDS = 0.005
_SECONDS_BEFORE = 4.0


def _spent(cluster: Cluster, work: Callable[[], object]) -> dict[int, float]:
    """CPU seconds that each broker took while something was done."""
    before = cluster.cpu_seconds()
    work()
    return {node_id: seconds - before[node_id] for node_id, seconds in cluster.cpu_seconds().items()}


def _fill(cluster: Cluster, topic: str, payload: int) -> BulkLoad:
    """A load of that many bytes of values for a topic that the first broker leads."""
    return BulkLoad(cluster[LEADER].endpoint, topic, _VALUE, BATCH, payload)


def _produce(stage: Stage) -> Values:
    cluster = stage.cluster()
    with cluster.topic("produce", assignments=_REPLICAS) as topic:
        isolation.run(bulk.produce, _fill(cluster, topic, int(stage.warmup_seconds * _WARMUP_RATE)))
        load = _fill(cluster, topic, stage.bench.amount(GIGABYTE))
        began = time.perf_counter()
        spent = _spent(cluster, lambda: isolation.run(bulk.produce, load))
        elapsed = time.perf_counter() - began
    gigabytes = load.batches(load.total_bytes) * load.payload_per_batch / GIGABYTE
    return {
        "rate": gigabytes * 1000 / elapsed,
        "cpu": sum(spent.values()) / gigabytes,
        "leader": spent[LEADER] / gigabytes,
        "follower": sum(spent[node_id] for node_id in FOLLOWERS) / len(FOLLOWERS) / gigabytes,
    }


def _produce_floor(bench: Bench) -> Values:
    return {"follower": produce_floor(_VALUE, bench)["cpu"]}


def _sync(stage: Stage) -> Values:
    cluster = stage.cluster()
    with cluster.topic("sync", assignments=_REPLICAS) as topic:
        load = RequestLoad(cluster[LEADER].endpoint, topic, 100, stage.warmup_seconds, stage.bench.seconds(5))
        before = cluster.cpu_seconds()
        figures = isolation.run(requests.synchronous, load)
        spent = sum(cluster.cpu_seconds().values()) - sum(before.values())
    assert figures.latency is not None  # synchronous loads measure it
    each = spent / figures.acknowledged * 1e6
    return {"p50": figures.latency.p50, "p99": figures.latency.p99, "cpu": each}


def _catch_up(stage: Stage) -> Values:
    cluster = stage.cluster()
    size = stage.bench.amount(_CATCH_UP_BYTES)
    with (
        cluster.topic("filled", assignments=[(LEADER, 2)]) as filled,
        cluster.topic("beside", assignments=[(LEADER, 2)]) as beside,
    ):
        isolation.run(bulk.produce, _fill(cluster, filled, size))
        load = RequestLoad(cluster[LEADER].endpoint, beside, 100, 0, 0)
        stop = stage.bench.path("stop")
        with isolation.beside(requests.paced_until, load, _PAUSE_SECONDS, stop.with_suffix(".first")) as quiet:
            time.sleep(stage.bench.seconds(_SECONDS_BEFORE))
            stop.with_suffix(".first").touch()
            without = quiet.result()
        with isolation.beside(requests.paced_until, load, _PAUSE_SECONDS, stop.with_suffix(".second")) as busy:
            time.sleep(0.5)  # its process is up
            before, began = cluster.cpu_seconds(), time.perf_counter()
            with cluster[LEADER].connect() as connection:
                wire.check_reassigned(connection.ask(wire.reassign(filled, 0, (LEADER, 2, 3))))
            cluster.until(lambda: 3 in cluster.image([filled]).partitions[filled][0].isr, f"{filled} is not in sync")
            elapsed = time.perf_counter() - began
            spent = cluster.cpu_seconds()[3] - before[3]
            stop.with_suffix(".second").touch()
            meanwhile = busy.result()
    return {
        "rate": size / 1e6 / elapsed,
        "cpu": spent / (size / GIGABYTE),
        "without": without.p99 / 1e3,
        "beside": meanwhile.p99 / 1e3,
        "times": meanwhile.p99 / without.p99,
    }


def _disk(bench: Bench) -> Values:
    """Write as many bytes and have them on the disk."""

    def measure(path: Path) -> float:
        size, data = bench.amount(_CATCH_UP_BYTES), os.urandom(1 << 20)
        began = time.perf_counter()
        file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        for _ in range(-(-size // len(data))):
            os.write(file, data)
        os.fsync(file)
        os.close(file)
        return size / 1e6 / (time.perf_counter() - began)

    with bench.scratch("disk") as path:
        return {"rate": measure(path)}


AXES = (
    Axis(
        "cluster-sync",
        "3 replicas: synchronous ack, 100 B, acks=all, one connection",
        (Measure("p50", "p50 µs"), Measure("p99", "p99 µs"), Measure("cpu", "µs CPU each, all brokers")),
        _sync,
    ),
    Axis(
        "cluster-produce",
        "3 replicas: produce 1 KiB, 1 MB batches, acks=all, 5 in flight on one raw connection",
        (
            Measure("rate", "MB/s", lower_is_better=False),
            Measure("cpu", "CPU s/GB, all brokers"),
            Measure("leader", "CPU s/GB, leader"),
            Measure("follower", "CPU s/GB, a follower"),
        ),
        _produce,
        _produce_floor,
        bulk=True,
    ),
    Axis(
        "cluster-catch-up",
        "a new replica of a partition of 2 GB, while 100 B records are produced to another one of its leader",
        (
            Measure("rate", "MB/s", lower_is_better=False),
            Measure("cpu", "CPU s/GB, new follower"),
            Measure("without", "p99 ms of the producer before"),
            Measure("beside", "p99 ms meanwhile"),
            Measure("times", "times the p99 before"),
        ),
        _catch_up,
        _disk,
        bulk=True,
    ),
)
