"""The curves: each runs brokers of its own and measures one or more figures at growing amounts."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket

from benchmarks import isolation, machine, wire
from benchmarks.axes.lookup import fetch_anywhere
from benchmarks.clients import bulk, requests
from benchmarks.clients.bulk import BulkLoad
from benchmarks.clients.fan_out import FanOut, fan_out
from benchmarks.clients.requests import RequestLoad
from benchmarks.connection import await_leaders, open_socket
from benchmarks.growth.curve import Curve
from benchmarks.growth.loads import commit_offsets
from benchmarks.target import Broker, odradek

_TOPIC = "growth"
_READY_SECONDS = 300
_PARTITIONS_OF_A_TOPIC = 1_000
_KIB = 1024
_BATCH = 64_000


@dataclass(frozen=True, slots=True)
class GrowthRun:
    """A run in a scratch directory; each load lasts for so many seconds."""

    directory: Path
    seconds: float
    is_quick: bool

    def amounts(self, *given: int) -> tuple[int, ...]:
        """The amounts of a curve: all, or of a quick run the smaller half."""
        return given[: (len(given) + 1) // 2] if self.is_quick else given

    @contextmanager
    def broker(self) -> Iterator[Broker]:
        """A broker on a new directory with a topic of one partition; `Broker.kill` at the end."""
        with odradek().start(self.directory / f"broker-{time.monotonic_ns()}") as broker:
            _create(broker, _TOPIC, 1)
            _settled_bytes(broker)
            yield broker


def _create(broker: Broker, topic: str, partitions: int) -> None:
    with broker.connect() as connection:
        wire.check_created(connection.ask(wire.create_topics([wire.NewTopic(topic, partitions)])))
        await_leaders(connection, topic, partitions, time.monotonic() + _READY_SECONDS)


def _request_cpu(broker: Broker, run: GrowthRun, size: int = 100, connections: int = 1) -> float:
    load = RequestLoad(broker.endpoint, _TOPIC, size, 0.2, run.seconds, connections=connections)
    return isolation.run(requests.many_connections, load).broker_cpu_us


def _connections(run: GrowthRun) -> list[Curve]:
    amounts = run.amounts(1, 10, 100, 1_000, 10_000)
    with run.broker() as broker:
        cpu = [(count, _request_cpu(broker, run, connections=count)) for count in amounts]
    memory = _Memory()
    with run.broker() as broker:
        sockets: list[socket] = []
        for count in run.amounts(1, 100, 1_000, 10_000):
            sockets += [open_socket(broker.address) for _ in range(count - len(sockets))]
            memory.note(broker, count)
        for sock in sockets:
            sock.close()
    return [
        Curve("A request", "connections", "µs CPU each, 100 B", tuple(cpu)),
        Curve("An idle connection", "connections", "bytes resident each", memory.points),
    ]


def _partitions(run: GrowthRun) -> list[Curve]:
    cpu: list[tuple[int, float]] = []
    memory = _Memory()
    with run.broker() as broker:
        there = 0
        for count in run.amounts(1, 10, 100, 1_000, 10_000, 100_000):
            while there < count:
                more = min(count - there, _PARTITIONS_OF_A_TOPIC)
                _create(broker, f"wide-{there}", more)
                there += more
            cpu.append((count, _request_cpu(broker, run)))
            memory.note(broker, count)
    return [
        Curve("A request", "partitions of the broker", "µs CPU each, 100 B", tuple(cpu)),
        Curve("A partition", "partitions of the broker", "bytes resident each", memory.points),
    ]


def _records(run: GrowthRun) -> list[Curve]:
    with run.broker() as broker:
        sizes = run.amounts(10, 100, 1_000, 10_000, 100_000, 1_000_000)
        points = [(size, _request_cpu(broker, run, size)) for size in sizes]
    return [Curve("A request", "bytes of its record", "µs CPU each", tuple(points))]


def _consumers(run: GrowthRun) -> list[Curve]:
    points: list[tuple[int, float]] = []
    with run.broker() as broker:
        for count in run.amounts(1, 10, 100, 1_000):
            points.append((count, isolation.run(fan_out, FanOut(broker.endpoint, _TOPIC, count, run.seconds))))
    return [Curve("A fetch that waited for a record", "consumers of its partition", "µs CPU each", tuple(points))]


def _groups(run: GrowthRun) -> list[Curve]:
    cpu: list[tuple[int, float]] = []
    memory = _Memory()
    with run.broker() as broker:
        isolation.run(commit_offsets, broker.endpoint, _TOPIC, 0, 1)  # the first one makes the topic of offsets
        there = 1
        for count in run.amounts(10, 100, 1_000, 10_000):
            more = count - there
            cpu.append((count, isolation.run(commit_offsets, broker.endpoint, _TOPIC, there, more)))
            there = count
            memory.note(broker, count)
    return [
        Curve("An offset commit of a new group", "groups", "µs CPU each", tuple(cpu)),
        Curve("A group with one offset", "groups", "bytes resident each", memory.points),
    ]


def _retained(run: GrowthRun) -> list[Curve]:
    killed: list[tuple[int, float]] = []
    clean: list[tuple[int, float]] = []
    looked_up: list[tuple[int, float]] = []
    target, directory = odradek(), run.directory / "retained"
    broker = target.start(directory)
    try:
        _create(broker, _TOPIC, 1)
        there = 0
        for size in run.amounts(100_000_000, 1_000_000_000, 4_000_000_000, 10_000_000_000):
            load = BulkLoad(broker.endpoint, _TOPIC, _KIB, _BATCH, size - there)
            isolation.run(bulk.produce, load)
            there += load.batches(load.total_bytes) * load.payload_per_batch
            broker.kill()
            broker = target.start(directory)
            killed.append((size, _ready_ms(broker)))
            broker.stop()
            broker = target.start(directory)
            clean.append((size, _ready_ms(broker)))
            seek = BulkLoad(broker.endpoint, _TOPIC, _KIB, _BATCH, size)
            looked_up.append((size, isolation.run(fetch_anywhere, seek, there // _KIB, run.seconds)["p50"]))
    finally:
        broker.kill()
    return [
        Curve("Start after kill -9", "bytes in one partition", "ms to its end offset", tuple(killed)),
        Curve("Start after a clean stop", "bytes in one partition", "ms to its end offset", tuple(clean)),
        Curve("A fetch of 64 kB at a random offset", "bytes in one partition", "µs, median", tuple(looked_up)),
    ]


def _ready_ms(broker: Broker) -> float:
    with broker.connect() as connection:
        await_leaders(connection, _TOPIC, 1, time.monotonic() + _READY_SECONDS)
    return (time.perf_counter() - broker.began) * 1e3


def _settled_bytes(broker: Broker) -> int:
    """Resident memory once the broker has been idle for a moment: what it does when it has time is done."""
    gc.collect()
    deadline = time.monotonic() + 10
    used = broker.cpu_seconds()
    while True:
        time.sleep(0.5)
        before, used = used, broker.cpu_seconds()
        if used - before < 0.01 or time.monotonic() > deadline:
            return machine.resident_bytes(broker.pid)


class _Memory:
    """What one more of something takes: resident memory between an amount and the one before, for each that came."""

    def __init__(self) -> None:
        self._before: tuple[int, int] | None = None
        self.points: tuple[tuple[float, float], ...] = ()

    def note(self, broker: Broker, count: int) -> None:
        """There are so many now. A few more say nothing: memory comes in pages, and code is loaded."""
        resident = _settled_bytes(broker)
        if self._before is not None:
            amount, bytes_before = self._before
            if count - amount >= 90 and resident > bytes_before:
                self.points += ((count, (resident - bytes_before) / (count - amount)),)
        self._before = (count, resident)


MEASURES: dict[str, Callable[[GrowthRun], list[Curve]]] = {
    "connections": _connections,
    "partitions": _partitions,
    "records": _records,
    "consumers": _consumers,
    "groups": _groups,
    "retained": _retained,
}


def curves(run: GrowthRun, names: Sequence[str]) -> Iterator[Curve]:
    """The curves of the measures of these names, with at least one point each, as they come."""
    for name in names:
        for curve in MEASURES[name](run):
            if curve.points:
                yield curve
