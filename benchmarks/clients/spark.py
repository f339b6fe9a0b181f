"""Loads through Spark and the data source `odradek`, and through a bare consumer that does as much with the values.

Each is run in a process of its own; Spark starts a JVM, its workers are further processes.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.clients.librdkafka import DeliveryError
from benchmarks.target import Endpoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REPOSITORY = Path(__file__).resolve().parents[2]
_PATIENCE_S = 120
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}


@dataclass(frozen=True, slots=True)
class ScanLoad:
    """Records of `value_size` bytes in all partitions of a topic, read `passes` times after `warm_passes`."""

    endpoint: Endpoint
    topic: str
    partitions: int
    records: int
    value_size: int
    passes: int
    warm_passes: int


@dataclass(frozen=True, slots=True)
class Scanned:
    """How fast the records of a topic were counted and the lengths of their values added up: the median pass."""

    records: int
    value_bytes: int
    seconds: float

    @property
    def rows_per_second(self) -> float:
        """Records a second."""
        return self.records / self.seconds

    @property
    def megabytes_per_second(self) -> float:
        """MB (1e6 bytes) of values a second."""
        return self.value_bytes / 1e6 / self.seconds


def scan(load: ScanLoad) -> Scanned:
    """Count the records and add up the lengths of their values with Spark, local[2]; the first passes warm it."""
    host, port = load.endpoint.address
    options = {"kafka.bootstrap.servers": f"{host}:{port}", "subscribe": load.topic}
    with _session() as spark:
        return _median(load, [_scan(spark, "odradek", options) for _ in range(load.warm_passes + load.passes)])


def scan_files(load: ScanLoad, directory: Path) -> Scanned:
    """Do the same from the files of the log directory, without the broker."""
    options = {"path": str(directory), "topic": load.topic}
    with _session() as spark:
        return _median(load, [_scan(spark, "odradek-log", options) for _ in range(load.warm_passes + load.passes)])


def write(load: ScanLoad) -> float:
    """Append as many records to the topic with two tasks, and return the rows a second of the median pass."""
    host, port = load.endpoint.address
    options = {"kafka.bootstrap.servers": f"{host}:{port}", "topic": load.topic}
    seconds = []
    with _session() as spark:
        frame = spark.range(0, load.records, 1, 2).selectExpr(f"repeat('x', {load.value_size}) value")
        for _ in range(load.warm_passes + load.passes):
            began = time.perf_counter()
            frame.write.format("odradek").mode("append").options(**options).save()
            seconds.append(time.perf_counter() - began)
    return load.records / statistics.median(seconds[load.warm_passes :])


def consume(load: ScanLoad) -> Scanned:
    """Do the same in a loop over the messages of confluent-kafka."""
    return _median(load, [_consume(load) for _ in range(load.warm_passes + load.passes)])


def one_record_batches(endpoint: Endpoint, topic: str, count: int) -> list[float]:
    """Return the seconds of micro-batches of one record each, from its acknowledgement to the end of its batch."""
    host, port = endpoint.address
    producer = Producer({"bootstrap.servers": f"{host}:{port}", "linger.ms": 0})
    seconds = []
    with _session() as spark, tempfile.TemporaryDirectory() as checkpoint:
        read = spark.readStream.format("odradek").option("kafka.bootstrap.servers", f"{host}:{port}")
        write = read.option("subscribe", topic).load().writeStream.format("noop")
        query = write.option("checkpointLocation", checkpoint).start()
        query.processAllAvailable()
        for number in range(count):
            producer.produce(topic, b"%d" % number)
            if producer.flush(60):
                raise DeliveryError("a record was not acknowledged within a minute")
            began = time.perf_counter()
            query.processAllAvailable()
            seconds.append(time.perf_counter() - began)
        query.stop()
    return seconds


@contextmanager
def _session() -> Iterator[SparkSession]:
    """A session whose JVM has ended when the block has: what it took is then counted as ours, not as that of others."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = str(_REPOSITORY)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the workers would compile everything again each time
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("benchmark")
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    gateway = session.sparkContext._gateway
    assert gateway is not None
    try:
        yield session
    finally:
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()  # on which the JVM waits to end
        gateway.proc.wait(_PATIENCE_S)


def _scan(spark: SparkSession, source: str, options: dict[str, str]) -> tuple[int, float]:
    from pyspark.sql import functions

    frame = spark.read.format(source).options(**options)
    began = time.perf_counter()
    (size,) = frame.load().select(functions.sum(functions.length("value"))).collect()[0]
    return size, time.perf_counter() - began


def _consume(load: ScanLoad) -> tuple[int, float]:
    host, port = load.endpoint.address
    conf: dict[str, str | int] = {
        "bootstrap.servers": f"{host}:{port}",
        "group.id": "bench",
        "enable.auto.commit": "false",
    }
    # Otherwise it sleeps a whole second each time its queue of 100,000 messages is full, and one measures that.
    consumer = Consumer(conf | {"fetch.queue.backoff.ms": 10})
    began = time.perf_counter()
    consumer.assign([TopicPartition(load.topic, partition, 0) for partition in range(load.partitions)])
    left, size = load.records, 0
    while left > 0:
        messages = consumer.consume(10_000, 1.0)
        left -= len(messages)
        size += sum(map(len, messages))
        if time.perf_counter() - began > _PATIENCE_S:
            raise DeliveryError(f"{left} of {load.records} records of {load.topic} did not come within two minutes")
    seconds = time.perf_counter() - began
    consumer.close()
    return size, seconds


def _median(load: ScanLoad, passes: list[tuple[int, float]]) -> Scanned:
    expected = load.records * load.value_size
    if wrong := [size for size, _ in passes if size != expected]:
        raise DeliveryError(f"reading {load.topic}: {wrong[0]} bytes of values where {expected} were written")
    return Scanned(load.records, expected, statistics.median(seconds for _, seconds in passes[load.warm_passes :]))
