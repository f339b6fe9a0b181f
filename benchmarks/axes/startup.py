"""Starting and stopping: on an empty directory, with 100 partitions, with 1,000 partitions and 2 GB, after a kill -9.

Ready means: every partition answers its end offset, which must be what was written, and a Produce is acknowledged.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import isolation, wire
from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.clients import bulk
from benchmarks.connection import Connection, await_leaders, produce_when_ready
from benchmarks.floors import BARE_SERVER
from benchmarks.records import build_batch
from benchmarks.statistics import median
from benchmarks.target import Broker, free_port

_TOPIC = "kept"
_BATCH = 100_000
_READY_SECONDS = 60


def _one_record(topic: str, partition: int = 0) -> bytes:
    return bytes(wire.produce(topic, partition, build_batch([bytes(100)], int(time.time() * 1000))))


def _first_produce(broker: Broker) -> float:
    """Seconds from the start of the process to the first acknowledged record in a topic made for it."""
    with broker.connect() as connection:
        wire.check_created(connection.ask(wire.create_topics([wire.NewTopic(_TOPIC)])))
        produce_when_ready(connection, _TOPIC, _one_record(_TOPIC), time.monotonic() + _READY_SECONDS)
    return time.perf_counter() - broker.began


def _empty(stage: Stage) -> Values:
    stage.close()
    answered, produced, stopped = [], [], []
    for _ in range(5 if stage.warmup_seconds < 1 else 2):
        with stage.bench.scratch("empty") as directory, stage.target.start(directory) as broker:
            answered.append(broker.answered_after)
            produced.append(_first_produce(broker))
            stopped.append(broker.stop())
    return {
        "answer": median(answered) * 1e3,
        "produce": median(produced) * 1e3,
        "stop": median(stopped) * 1e3,
    }


def _bare_start(bench: Bench) -> Values:
    """exec to first answer of a bare Python that listens and answers: the floor of every start."""

    def once() -> float:
        port = free_port()
        began = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-I", "-S", "-c", BARE_SERVER, str(port)])
        try:
            while True:
                try:
                    with Connection(("127.0.0.1", port)) as connection:
                        connection.ask(wire.api_versions())
                    return time.perf_counter() - began
                except ConnectionError:
                    time.sleep(0.0005)
        finally:
            process.kill()
            process.wait()

    answered = bench.once("bare start", lambda: median(once() for _ in range(5)) * 1e3)
    return dict.fromkeys(("answer", "produce", "ready", "killed", "clean"), answered)


def _ready(broker: Broker, partitions: int, expected: int) -> float:
    """Seconds from the start of the process until all partitions answer what they hold, and one takes a record."""
    with broker.connect() as connection:
        deadline = time.monotonic() + _READY_SECONDS
        found = await_leaders(connection, _TOPIC, partitions, deadline)
        produce_when_ready(connection, _TOPIC, _one_record(_TOPIC, partitions - 1), deadline)
        ready = time.perf_counter() - broker.began
    if found != expected:
        raise wire.WireError(f"{found} records are there after the start where {expected} were acknowledged")
    return ready


def _fill(broker: Broker, partitions: int, payload: int) -> int:
    """Write so many bytes of values over so many partitions of a new topic and return how many records that is."""
    with broker.connect() as connection:
        wire.check_created(connection.ask(wire.create_topics([wire.NewTopic(_TOPIC, partitions)])))
        await_leaders(connection, _TOPIC, partitions, time.monotonic() + _READY_SECONDS)
    load = bulk.BulkLoad(broker.endpoint, _TOPIC, 1024, _BATCH, payload, partitions=partitions)
    isolation.run(bulk.produce, load)
    return load.batches(payload) * load.records_per_batch


def _in_turn(
    stage: Stage, directory: Path, ends: tuple[Callable[[Broker], float | None], ...], size: tuple[int, int]
) -> list[tuple[float, float | None]]:
    """Fill a broker, then end it in each of the given ways and start it again: (ready after, what the end gave)."""
    stage.close()
    partitions, payload = size
    outcomes: list[tuple[float, float | None]] = []
    broker = stage.target.start(directory)
    try:
        expected = _fill(broker, partitions, payload)
        for end in ends:
            ended = end(broker)
            broker = stage.target.start(directory)
            outcomes.append((_ready(broker, partitions, expected), ended))
            expected += 1
        broker.stop()
    finally:
        broker.kill()
    return outcomes


def _hundred(stage: Stage) -> Values:
    with stage.bench.scratch("hundred") as directory:
        [(ready, stopped)] = _in_turn(stage, directory, (Broker.stop,), (100, stage.bench.amount(200_000_000)))
    return {"ready": ready * 1e3, "stop": (stopped or 0) * 1e3}


def _thousand(stage: Stage) -> Values:
    size = (1000, stage.bench.amount(2_000_000_000))
    with stage.bench.scratch("thousand") as directory:
        (killed, _), (clean, stopped) = _in_turn(stage, directory, (Broker.kill, Broker.stop), size)
    return {"killed": killed * 1e3, "clean": clean * 1e3, "stop": (stopped or 0) * 1e3}


EMPTY = (
    Axis(
        "start",
        "start on an empty directory",
        (
            Measure("answer", "ms exec to ApiVersions"),
            Measure("produce", "ms exec to first ack"),
            Measure("stop", "ms clean stop"),
        ),
        _empty,
        _bare_start,
    ),
)

WITH_DATA = (
    Axis(
        "start-100",
        "start with 100 partitions, 200 MB",
        (Measure("ready", "ms to ready after a clean stop"), Measure("stop", "ms clean stop")),
        _hundred,
        _bare_start,
        bulk=True,
    ),
    Axis(
        "start-1000",
        "start with 1,000 partitions, 2 GB",
        (
            Measure("killed", "ms to ready after kill -9"),
            Measure("clean", "ms to ready after a clean stop"),
            Measure("stop", "ms clean stop"),
        ),
        _thousand,
        _bare_start,
        bulk=True,
    ),
)
