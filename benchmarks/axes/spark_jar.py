"""Spark's own Kafka connector beside the source `odradek`, its hand-written client and librdkafka: with one broker, and
with three. Only where they are asked for by name: they need Maven, and an environment with an older Spark.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer

from benchmarks import spark_jar
from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.clients import spark_beside_jar
from benchmarks.clients.spark_beside_jar import SOURCES, WRITERS, ConnectorLoad
from benchmarks.isolation import LoadError
from tests.support.lowest_spark import ensure_lowest_spark

_PARTITIONS = 4
_BYTES = {100: 300_000_000, 1024: 1_000_000_000}
_WRITTEN = 1_000_000
_BATCH_RECORDS = 1_000
_PATIENCE_S = 1800

_MEASURES = (
    *(
        Measure(f"read-{size}-{name}", f"rows/s, {size} B values read, {name}", lower_is_better=False)
        for size in _BYTES
        for name in SOURCES
    ),
    *(Measure(f"write-{name}", f"rows/s, 100 B values written, {name}", lower_is_better=False) for name in WRITERS),
    *(Measure(f"batch-{name}", f"s, micro-batch of {_BATCH_RECORDS:,} records, {name}") for name in WRITERS),
    *(Measure(f"one-{name}", f"s, micro-batch of one record, {name}") for name in WRITERS),
    *(Measure(f"worker-{size}", f"MB, a worker of Python at most, {size} B values") for size in _BYTES),
)


def _measured(bench: Bench, bootstrap: str, make_topic: Callable[[str], object]) -> Values:
    records = {size: bench.amount(_BYTES[size]) // size for size in _BYTES}
    for size, count in records.items():
        make_topic(f"read-{size}")
        _fill(bootstrap, f"read-{size}", size, count)
    for name in WRITERS:
        for topic in (f"written-{name}", f"small-{name}-1", f"small-{name}-{_BATCH_RECORDS}"):
            make_topic(topic)
    load = ConnectorLoad(
        bootstrap,
        [str(each) for each in spark_jar.install()],
        {str(size): count for size, count in records.items()},
        bench.amount(_WRITTEN),
        passes=5,
        warm_passes=3,
        batches=bench.amount(40),
        warm_batches=8,
        batch_records=_BATCH_RECORDS,
    )
    return _run(load)


def _run(load: ConnectorLoad) -> Values:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [str(ensure_lowest_spark()), "-m", spark_beside_jar.__name__, spark_beside_jar.as_argument(load)],
        env=environment | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    if done.returncode:
        raise LoadError(f"Spark ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-1000:]}")
    found: Values = json.loads(done.stdout.splitlines()[-1])
    return found


def _fill(bootstrap: str, topic: str, size: int, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "batch.size": 1_000_000})
    value = os.urandom(size)
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value, partition=number % _PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(120):
        raise LoadError(f"{topic} was not filled within two minutes")


def _one_broker(stage: Stage) -> Values:
    host, port = stage.broker().endpoint.address
    return _measured(stage.bench, f"{host}:{port}", lambda topic: stage.make_topic(topic, _PARTITIONS))


def _three_brokers(stage: Stage) -> Values:
    cluster = stage.cluster()
    leaders = [(partition % 3 + 1,) for partition in range(_PARTITIONS)]
    return _measured(stage.bench, cluster.bootstrap, lambda topic: cluster.make_topic(topic, leaders))


AXES = tuple(
    Axis(name, f"Spark {spark_jar.VERSION} and its Kafka JAR, {brokers}", _MEASURES, way, bulk=True, ours_only=True)
    for name, brokers, way in (
        ("spark-jar", "one broker", _one_broker),
        ("spark-jar-three", "three brokers", _three_brokers),
    )
)
