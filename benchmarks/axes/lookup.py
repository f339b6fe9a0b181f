"""Reading from a random offset of a 1 GB segment: over the wire."""

from __future__ import annotations

import os
import random
import time
from array import array

from benchmarks import isolation, wire
from benchmarks.axes.produce import GIGABYTE
from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.clients import bulk
from benchmarks.clients.bulk import BulkLoad
from benchmarks.clients.figures import Meter
from benchmarks.connection import Connection
from benchmarks.statistics import percentiles

_TOPIC = "looked-up"
_BATCH = 16_000


def fetch_anywhere(load: BulkLoad, records: int, seconds: float) -> Values:
    """Fetch the one batch that holds a random offset, again and again."""
    request = wire.fetch(load.topic, 0, max_wait_ms=500, min_bytes=1, max_bytes=1)
    pick = random.Random(1)
    samples = array("q")
    with Connection(load.endpoint.address) as connection, Meter(load.endpoint.pid) as meter:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            wire.set_fetch_offset(request, pick.randrange(records))
            began = time.perf_counter_ns()
            answer = connection.ask(request)
            samples.append(time.perf_counter_ns() - began)
            if len(wire.fetched(answer).records) < load.payload_per_batch:
                raise wire.WireError("a fetch of one batch answered less than that batch")
    found = percentiles(samples).scaled(1e-3)
    return {"p50": found.p50, "p99": found.p99, "cpu": meter.broker_cpu * 1e6 / found.count}


def _wire(stage: Stage) -> Values:
    def make() -> BulkLoad:
        stage.make_topic(_TOPIC)
        load = BulkLoad(stage.broker().endpoint, _TOPIC, 1024, _BATCH, stage.bench.amount(GIGABYTE))
        isolation.run(bulk.produce, load)
        return load

    load = stage.once(_TOPIC, make)
    records = load.batches(load.total_bytes) * load.records_per_batch
    if stage.warmup_seconds > 1:
        isolation.run(fetch_anywhere, load, records, stage.warmup_seconds)
    return isolation.run(fetch_anywhere, load, records, stage.bench.seconds(2))


def _floor(bench: Bench) -> Values:
    """Read one batch at a random place of a file of that size; the place is known."""

    def measure() -> Values:
        samples = array("q")
        size = bench.amount(GIGABYTE)
        pick = random.Random(1)
        with bench.scratch("segment") as path:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            for _ in range(size // 1_000_000):
                os.write(file, bytes(1_000_000))
            for _ in range(20_000):
                position = pick.randrange(size - _BATCH)
                began = time.perf_counter_ns()
                os.pread(file, _BATCH, position)
                samples.append(time.perf_counter_ns() - began)
            os.close(file)
        found = percentiles(samples).scaled(1e-3)
        return {"p50": found.p50, "p99": found.p99}

    return bench.once("pread", measure)


AXES = (
    Axis(
        "seek",
        "fetch one 16 kB batch at a random offset of a 1 GB segment",
        (Measure("p50", "p50 µs"), Measure("p99", "p99 µs"), Measure("cpu", "broker µs CPU each")),
        _wire,
        _floor,
    ),
)
