"""Many topics at once, and the answer that lists them all."""

from __future__ import annotations

import os
import time
from array import array
from pathlib import Path

from benchmarks import isolation, wire
from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.clients.figures import Meter
from benchmarks.connection import Connection, await_leaders
from benchmarks.floors import FloorServer
from benchmarks.statistics import percentiles
from benchmarks.target import Endpoint

_TOPICS = [f"many-{index:03}" for index in range(100)]
_PARTITIONS = 10
_ANSWER_BYTES = 42_000
"""About what Metadata 12 of 100 topics with 10 partitions each takes."""
_LEADER_SECONDS = 30


def _create(stage: Stage) -> Values:
    with stage.broker().connect() as connection:
        request = wire.create_topics([wire.NewTopic(name, _PARTITIONS) for name in _TOPICS])
        began = time.perf_counter()
        answer = connection.ask(request)
        answered = time.perf_counter() - began
        wire.check_created(answer)
        for name in _TOPICS:
            await_leaders(connection, name, _PARTITIONS, time.monotonic() + _LEADER_SECONDS)
        ready = time.perf_counter() - began
        connection.ask(wire.delete_topics(_TOPICS))
    return {"answered": answered * 1e3, "ready": ready * 1e3}


def _create_floor(bench: Bench) -> Values:
    """As many directories, each with an empty log and its two indexes."""

    def make(directory: Path) -> float:
        began = time.perf_counter()
        os.mkdir(directory)
        for index in range(len(_TOPICS) * _PARTITIONS):
            partition = f"{directory}/many-{index}"
            os.mkdir(partition)
            for suffix in ("log", "index", "timeindex"):
                os.close(os.open(f"{partition}/00000000000000000000.{suffix}", os.O_WRONLY | os.O_CREAT, 0o644))
        return time.perf_counter() - began

    def measure() -> Values:
        with bench.scratch("directories") as directory:
            return {"answered": make(directory) * 1e3}

    return bench.once("directories", measure)


def ask_again(endpoint: Endpoint, seconds: float) -> Values:
    """Ask for all metadata for so many seconds, one request after another."""
    samples = array("q")
    request = wire.metadata(None)
    with Connection(endpoint.address) as connection, Meter(endpoint.pid) as meter:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            began = time.perf_counter_ns()
            size = len(connection.ask(request))
            samples.append(time.perf_counter_ns() - began)
            if size < _ANSWER_BYTES // 2:
                raise wire.WireError(f"{size} bytes of metadata cannot hold all topics")
    found = percentiles(samples).scaled(1e-6)
    return {"p50": found.p50, "p99": found.p99, "cpu": meter.broker_cpu * 1e6 / found.count}


def _metadata(stage: Stage) -> Values:
    with stage.broker().connect() as connection:
        wire.check_created(connection.ask(wire.create_topics([wire.NewTopic(name, _PARTITIONS) for name in _TOPICS])))
        for name in _TOPICS:
            await_leaders(connection, name, _PARTITIONS, time.monotonic() + _LEADER_SECONDS)
        endpoint = stage.broker().endpoint
        if stage.warmup_seconds > 1:
            isolation.run(ask_again, endpoint, stage.warmup_seconds)
        values = isolation.run(ask_again, endpoint, stage.bench.seconds(2))
        connection.ask(wire.delete_topics(_TOPICS))
    return values


def _metadata_floor(bench: Bench) -> Values:
    with bench.scratch("answer") as file:
        file.write_bytes(wire.SIZE.pack(_ANSWER_BYTES - 4) + bytes(_ANSWER_BYTES - 4))
        with FloorServer("reply", file) as floor:
            return isolation.run(ask_again, floor.endpoint, bench.seconds(1))


AXES = (
    Axis(
        "create-topics",
        "create 100 topics x 10 partitions in one request",
        (Measure("answered", "ms to the answer"), Measure("ready", "ms until all have leaders")),
        _create,
        _create_floor,
    ),
    Axis(
        "metadata",
        "full metadata of 1,000 partitions",
        (Measure("p50", "p50 ms"), Measure("p99", "p99 ms"), Measure("cpu", "broker µs CPU each")),
        _metadata,
        _metadata_floor,
    ),
)
