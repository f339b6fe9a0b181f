"""Small acks=all requests: synchronous, pipelined, and from fifty, a hundred and a thousand connections at once."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import isolation
from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.clients import librdkafka, requests
from benchmarks.clients.figures import Requests
from benchmarks.clients.requests import RequestLoad
from benchmarks.floors import FloorServer
from benchmarks.target import Endpoint

Load = Callable[[RequestLoad], Requests]

RATE = Measure("requests", "requests/s", lower_is_better=False)
BROKER_CPU = Measure("cpu", "broker µs CPU each")
LATENCY_US = (Measure("p50", "p50 µs"), Measure("p99", "p99 µs"), Measure("p99.9", "p99.9 µs"))
LATENCY_MS = (Measure("p50", "p50 ms"), Measure("p99", "p99 ms"))
_PIPELINED_RECORDS = 80_000
WARM_AT_ONCE_SECONDS = 0.5
"""What is warmed for longer has a compiler at run time, and is warm when its CPU for each request falls no more."""
_BY_CONNECTIONS = (RATE, *LATENCY_MS, BROKER_CPU, Measure("client", "client µs CPU each"))


def values_of(figures: Requests, unit_us: float) -> Values:
    """The figures by the keys of the measures above; latency in units of `unit_us` µs."""
    values = {"requests": figures.per_second, "cpu": figures.broker_cpu_us, "client": figures.client_cpu_us}
    if latency := figures.latency:
        latency = latency.scaled(1 / unit_us)
        values |= {"p50": latency.p50, "p99": latency.p99, "p99.9": latency.p999}
    return values


def against_broker(
    stage: Stage, load: Load, *, size: int, seconds: float, connections: int = 1, until_steady: bool = False
) -> Requests:
    """Run the load against a new topic of the shared broker and check that all it was told is there."""
    with stage.topic("requests") as topic:
        what = RequestLoad(
            stage.broker().endpoint,
            topic,
            size,
            stage.warmup_seconds,
            stage.bench.seconds(seconds),
            connections,
            until_steady=until_steady,
        )
        figures = isolation.run(load, what)
        stage.check_count(topic, figures.acknowledged)
    return figures


def against_floor(bench: Bench, load: Load, *, size: int, seconds: float, connections: int = 1) -> Requests:
    """Run the load against the program that appends and answers."""

    def measure() -> Requests:
        with bench.scratch("floor") as file, FloorServer("answer", file) as floor:
            what = RequestLoad(floor.endpoint, "requests-0", size, 0.2, bench.seconds(seconds), connections)
            return isolation.run(load, what)

    return bench.once((load, size, connections), measure)


def _synchronous(stage: Stage) -> Values:
    return values_of(against_broker(stage, requests.synchronous, size=100, seconds=3), 1)


def _synchronous_floor(bench: Bench) -> Values:
    return values_of(against_floor(bench, requests.synchronous, size=100, seconds=2), 1)


def _fifty(stage: Stage) -> Values:
    return values_of(against_broker(stage, requests.many_connections, size=1000, seconds=3, connections=50), 1000)


def _fifty_floor(bench: Bench) -> Values:
    return values_of(against_floor(bench, requests.many_connections, size=1000, seconds=2, connections=50), 1000)


def _connected(connections: int, size: int) -> tuple[Callable[[Stage], Values], Callable[[Bench], Values]]:
    """How so many connections with records of so many bytes are measured, with a broker that is really warm, and their
    floor."""

    def measure(stage: Stage) -> Values:
        load = requests.many_connections
        is_warm_late = stage.warmup_seconds > WARM_AT_ONCE_SECONDS
        return values_of(
            against_broker(stage, load, size=size, seconds=4, connections=connections, until_steady=is_warm_late), 1000
        )

    def floor(bench: Bench) -> Values:
        return values_of(
            against_floor(bench, requests.many_connections, size=size, seconds=2, connections=connections), 1000
        )

    return measure, floor


def _pipelined(stage: Stage) -> Values:
    return values_of(against_broker(stage, requests.pipelined, size=100, seconds=2), 1)


def _pipelined_floor(bench: Bench) -> Values:
    return values_of(against_floor(bench, requests.pipelined, size=100, seconds=1), 1)


def _librdkafka(stage: Stage) -> Values:
    records = stage.bench.amount(_PIPELINED_RECORDS)
    with stage.topic("requests") as topic:
        endpoint: Endpoint = stage.broker().endpoint
        warmup = int(stage.warmup_seconds * 15_000)
        load = librdkafka.ClientLoad(endpoint, topic, 100, records, warmup)
        figures = isolation.run(librdkafka.produce_requests, load)
        stage.check_count(topic, figures.acknowledged)
    return values_of(figures, 1)


AXES = (
    Axis(
        "sync",
        "synchronous ack, 100 B, acks=all, one connection",
        (*LATENCY_US, BROKER_CPU),
        _synchronous,
        _synchronous_floor,
    ),
    Axis(
        "fifty",
        "50 request-response connections, 1 kB, acks=all",
        _BY_CONNECTIONS,
        _fifty,
        _fifty_floor,
    ),
    *(
        Axis(
            f"{name}-{size_name}",
            f"{connections:,} request-response connections, {size} B, acks=all, really warm",
            _BY_CONNECTIONS,
            *_connected(connections, size),
        )
        for name, connections in (("hundred", 100), ("thousand", 1000))
        for size_name, size in (("100b", 100), ("1k", 1000))
    ),
    Axis(
        "pipelined",
        "single-message requests, 100 B, acks=all, one librdkafka producer",
        (RATE, BROKER_CPU),
        _librdkafka,
        None,
    ),
    Axis(
        "pipelined-raw",
        "single-message requests, 100 B, acks=all, 64 in flight on one raw connection",
        (RATE, BROKER_CPU),
        _pipelined,
        _pipelined_floor,
    ),
)
