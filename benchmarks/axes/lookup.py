"""A random offset of a 1 GB segment, over the wire and in the storage engine alone; appends in the engine alone."""

from __future__ import annotations

import functools
import os
import random
import time
from array import array
from typing import TYPE_CHECKING

from benchmarks import isolation, wire
from benchmarks.axes.produce import GIGABYTE
from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.clients import bulk
from benchmarks.clients.bulk import BulkLoad
from benchmarks.clients.figures import Meter
from benchmarks.connection import Connection
from benchmarks.statistics import percentiles

if TYPE_CHECKING:
    from benchmarks.clients.engine import Appended

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


def _engine_lookup(stage: Stage) -> Values:
    from benchmarks.clients import engine  # here, so that no other axis needs our packages

    stage.close()
    with stage.bench.scratch("engine") as directory:
        found = isolation.run(engine.look_up, str(directory), _BATCH, stage.bench.amount(GIGABYTE))
    return {"p50": found.p50, "p99": found.p99}


def _engine_append(batch_records: int, value_size: int, total_bytes: int, stage: Stage) -> Values:
    from benchmarks.clients import engine  # here, so that no other axis needs our packages

    stage.close()
    with stage.bench.scratch("engine") as directory:
        amount = stage.bench.amount(total_bytes)
        return _appended(isolation.run(engine.append, str(directory), batch_records, value_size, amount))


def _engine_append_floor(batch_records: int, value_size: int, total_bytes: int, bench: Bench) -> Values:
    from benchmarks.clients import engine  # here, so that no other axis needs our packages

    with bench.scratch("engine") as path:
        amount = bench.amount(total_bytes)
        return _appended(isolation.run(engine.append_floor, str(path), batch_records, value_size, amount))


def _appended(found: Appended) -> Values:
    return {"p50": found.each.p50, "p99": found.each.p99, "cpu": found.cpu_per_gigabyte}


_LOOKUP = (Measure("p50", "p50 µs"), Measure("p99", "p99 µs"))
_APPEND = (*_LOOKUP, Measure("cpu", "CPU s/GB"))

AXES = (
    Axis(
        "seek",
        "fetch one 16 kB batch at a random offset of a 1 GB segment",
        (*_LOOKUP, Measure("cpu", "broker µs CPU each")),
        _wire,
        _floor,
        bulk=True,
    ),
)
ENGINE = (
    Axis(
        "engine-lookup",
        "storage engine alone: find a random offset in a 1 GB segment",
        _LOOKUP,
        _engine_lookup,
        _floor,
        bulk=True,
        ours_only=True,
        in_process=True,
    ),
    Axis(
        "engine-append",
        "storage engine alone: append a batch of one 100 B record",
        _APPEND,
        functools.partial(_engine_append, 1, 100, 20_000_000),
        functools.partial(_engine_append_floor, 1, 100, 20_000_000),
        bulk=True,
        ours_only=True,
        in_process=True,
    ),
    Axis(
        "engine-append-1m",
        "storage engine alone: append a 1 MB batch of 1 KiB records",
        _APPEND,
        functools.partial(_engine_append, 960, 1024, GIGABYTE),
        functools.partial(_engine_append_floor, 960, 1024, GIGABYTE),
        bulk=True,
        ours_only=True,
        in_process=True,
    ),
)
