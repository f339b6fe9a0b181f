"""Produce latency while a large log is compacted, against the same without.

A second connection writes one record at a time. odradek compacts in a process of its own, which is stopped and let go
on (SIGSTOP, SIGCONT) in turns of a second, so that the two are measured on the same machine at the same time, whatever
else goes on there. Apache Kafka compacts in a thread, which nothing can stop: there the turns without stand before and
after it.
"""

from __future__ import annotations

import os
import signal
import time
from array import array
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from benchmarks import isolation, machine, records, wire
from benchmarks.axis import Axis, Measure, Stage, Values
from benchmarks.clients import requests
from benchmarks.clients.requests import RequestLoad
from benchmarks.connection import await_leaders, record_count
from benchmarks.statistics import median
from benchmarks.target import Broker

_OLD, _LIVE = "old", "live"
_VALUE_BYTES = 1000
_KEYS = 64_000
_BATCH_RECORDS = 500
_FULL_BYTES = 1_000_000_000
_TURN_SECONDS = 1.0
_PATIENCE_SECONDS = 60
_LIMIT_SECONDS = 300
_TURNS_AROUND = 5
_OLD_CONFIGS = {"cleanup.policy": "compact", "segment.bytes": str(64 << 20), "min.cleanable.dirty.ratio": "1.0"}


@dataclass(slots=True)
class _Turns:
    """What the turns of one kind have shown: a figure of each, in ms."""

    p50: array[float] = field(default_factory=lambda: array("d"))
    p99: array[float] = field(default_factory=lambda: array("d"))
    requests: int = 0

    def take(self, broker: Broker, seconds: float) -> None:
        """Write for so long."""
        figures = isolation.run(requests.synchronous, RequestLoad(broker.endpoint, _LIVE, 100, 0.1, seconds))
        assert figures.latency is not None
        found = figures.latency.scaled(1e-3)
        self.p50.append(found.p50)
        self.p99.append(found.p99)
        self.requests += figures.acknowledged

    def warm(self, broker: Broker, seconds: float) -> None:
        """Write for so long without a figure."""
        load = RequestLoad(broker.endpoint, _LIVE, 100, 0.1, seconds)
        self.requests += isolation.run(requests.synchronous, load).acknowledged


def _fill(broker: Broker, total_bytes: int) -> int:
    """Write that many bytes of values, each key many times over, and return the number of records."""
    noise = os.urandom(_VALUE_BYTES)
    batches = []
    for first in range(0, _KEYS, _BATCH_RECORDS):
        keys = [b"key-%08d" % number for number in range(first, first + _BATCH_RECORDS)]
        batch = records.build_batch([noise] * _BATCH_RECORDS, int(time.time() * 1000), keys)
        batches.append(bytes(wire.produce(_OLD, 0, batch)))
    count = total_bytes // (_VALUE_BYTES * _BATCH_RECORDS)
    with broker.connect() as connection:
        for number in range(count):
            wire.acknowledged(connection.ask(batches[number % len(batches)]), _OLD)
    return count * _BATCH_RECORDS


def _let_it_be_compacted(broker: Broker) -> None:
    host, port = broker.address
    admin = AdminClient({"bootstrap.servers": f"{host}:{port}"})
    change = ConfigEntry("min.cleanable.dirty.ratio", "0.01", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, _OLD, incremental_configs=[change])
    [done] = admin.incremental_alter_configs([resource]).values()
    done.result(_PATIENCE_SECONDS)


def _await_child(broker: Broker) -> int:
    until = time.monotonic() + _PATIENCE_SECONDS
    while not (children := machine.children(broker.pid)):
        if time.monotonic() > until:
            raise wire.WireError("no compaction process was started")
        time.sleep(0.001)
    return children[0]


def _peak_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _is_compacted(directory: Path) -> bool:
    with suppress(FileNotFoundError):
        for checkpoint in directory.rglob("cleaner-offset-checkpoint"):
            return f"{_OLD} 0 " in checkpoint.read_text()
    return False


def _turns_with_child(broker: Broker, child: int, directory: Path, busy: _Turns, idle: _Turns) -> Iterator[float]:
    """Take turns until the log is compacted; yield for how long the process could work in each."""
    while not _is_compacted(directory):
        os.kill(child, signal.SIGCONT)
        began = time.perf_counter()
        busy.take(broker, _TURN_SECONDS)
        yield time.perf_counter() - began
        os.kill(child, signal.SIGSTOP)
        idle.take(broker, _TURN_SECONDS)
    os.kill(child, signal.SIGCONT)


def _in_turns(broker: Broker, directory: Path, busy: _Turns, idle: _Turns) -> tuple[float, Values]:
    """Seconds that the compaction took, and the memory of its process."""
    idle.take(broker, _TURN_SECONDS)
    _let_it_be_compacted(broker)
    child = _await_child(broker)
    worked = sum(_turns_with_child(broker, child, directory, busy, idle))
    return worked, {"memory": _peak_bytes(child) / 1e6}


def _between_turns(broker: Broker, directory: Path, busy: _Turns, idle: _Turns) -> tuple[float, Values]:
    """Seconds that the compaction took."""
    for _ in range(_TURNS_AROUND):
        idle.take(broker, _TURN_SECONDS)
    _let_it_be_compacted(broker)
    began = time.perf_counter()
    while not _is_compacted(directory):
        busy.take(broker, _TURN_SECONDS)
        if time.perf_counter() - began > _LIMIT_SECONDS:
            raise wire.WireError(f"the log was not compacted within {_LIMIT_SECONDS} s")
    worked = time.perf_counter() - began
    for _ in range(_TURNS_AROUND):
        idle.take(broker, _TURN_SECONDS)
    return worked, {}


def _beside(stage: Stage) -> Values:
    stage.close()
    total = stage.bench.amount(_FULL_BYTES)
    busy, idle = _Turns(), _Turns()
    overrides = {"log.cleaner.backoff.ms": "50"}
    with stage.bench.scratch("compacted") as directory, stage.target.start(directory, overrides) as broker:
        with broker.connect() as connection:
            topics = [wire.NewTopic(_OLD, 1, _OLD_CONFIGS), wire.NewTopic(_LIVE)]
            wire.check_created(connection.ask(wire.create_topics(topics)))
            for topic in (_OLD, _LIVE):
                await_leaders(connection, topic, 1, time.monotonic() + _PATIENCE_SECONDS)
        _fill(broker, total)
        idle.warm(broker, stage.warmup_seconds)
        measured = _in_turns if stage.target.ours else _between_turns
        worked, memory = measured(broker, directory, busy, idle)
        with broker.connect() as connection:
            if record_count(connection, _LIVE, 1) != busy.requests + idle.requests:
                raise wire.WireError("not every acknowledged record is in the log")
        broker.stop()
    return {
        "idle50": median(idle.p50),
        "idle99": median(idle.p99),
        "busy50": median(busy.p50),
        "busy99": median(busy.p99),
        "ratio": median(busy.p99) / median(idle.p99),
        "rate": total / 1e6 / worked,
        **memory,
    }


AXES = (
    Axis(
        "compaction",
        "produce, one connection, 100 B, while a 1 GB log (1 kB values, 64,000 keys) is compacted, and while not",
        (
            Measure("idle50", "p50 ms without"),
            Measure("busy50", "p50 ms beside it"),
            Measure("idle99", "p99 ms without"),
            Measure("busy99", "p99 ms beside it"),
            Measure("ratio", "times the p99 without"),
            Measure("rate", "MB/s compacted", lower_is_better=False),
            Measure("memory", "MB peak memory of the process"),
        ),
        _beside,
    ),
)
