"""End to end at a fixed rate: from when a record was due to be sent to when a long-polling consumer has it."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

from benchmarks import isolation, machine
from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.clients import openloop
from benchmarks.clients.openloop import PacedLoad
from benchmarks.floors import FloorServer
from benchmarks.statistics import Percentiles
from benchmarks.target import Endpoint

_SECONDS = 5.0
_SETTLING_SECONDS = 1.0
_MEASURES = (
    Measure("p50", "p50 ms"),
    Measure("p99", "p99 ms"),
    Measure("p99.9", "p99.9 ms"),
    Measure("cpu", "broker µs CPU each"),
)
Consume = Callable[[PacedLoad], Percentiles]
Produce = Callable[[PacedLoad], None]


def _pass(endpoint: Endpoint, topic: str, rate: int, seconds: float, clients: tuple[Consume, Produce]) -> Values:
    """Run both clients; seconds of settling come first and do not count in the latencies."""
    settling = int(rate * _SETTLING_SECONDS)
    records = int(rate * seconds) + settling
    load = PacedLoad(endpoint, topic, rate, records, settling)
    consume, produce = clients
    with isolation.beside(consume, load) as latency:
        time.sleep(0.5)  # the consumer's process starts and its first fetch waits
        before = machine.cpu_seconds(endpoint.pid)
        isolation.run(produce, load)
        found = latency.result().scaled(1e-3)
        cpu = machine.cpu_seconds(endpoint.pid) - before
    return {"p50": found.p50, "p99": found.p99, "p99.9": found.p999, "cpu": cpu * 1e6 / records}


def _against_broker(rate: int, clients: tuple[Consume, Produce], stage: Stage) -> Values:
    endpoint = stage.broker().endpoint
    if stage.warmup_seconds > 1:
        with stage.topic("warm") as topic:
            _pass(endpoint, topic, rate, 2 * stage.warmup_seconds, clients)
    with stage.topic("paced") as topic:
        values = _pass(endpoint, topic, rate, stage.bench.seconds(_SECONDS), clients)
        stage.check_count(topic, int(rate * stage.bench.seconds(_SECONDS)) + int(rate * _SETTLING_SECONDS))
    return values


def _floor(rate: int, bench: Bench) -> Values:
    def measure() -> Values:
        with bench.scratch("floor") as file, FloorServer("forward", file) as floor:
            clients = (openloop.consume_forwarded, openloop.produce_raw)
            return _pass(floor.endpoint, "paced-0", rate, bench.seconds(3), clients)

    return bench.once(("paced", rate), measure)


def _axis(name: str, title: str, rate: int, clients: tuple[Consume, Produce]) -> Axis:
    run = functools.partial(_against_broker, rate, clients)
    return Axis(name, title, _MEASURES, run, functools.partial(_floor, rate))


_RAW: tuple[Consume, Produce] = (openloop.consume_raw, openloop.produce_raw)
_LIBRDKAFKA: tuple[Consume, Produce] = (openloop.consume_librdkafka, openloop.produce_librdkafka)
AXES = (
    _axis("e2e-1k", "end to end, 1,000/s open loop, 100 B, one request each", 1_000, _RAW),
    _axis("e2e-10k", "end to end, 10,000/s open loop, 100 B, one request each", 10_000, _RAW),
    _axis("e2e-10k-rdkafka", "the same through librdkafka, linger 0", 10_000, _LIBRDKAFKA),
)
