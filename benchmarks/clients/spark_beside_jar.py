"""The sources for Spark beside the connector of Spark itself: one session, one JVM, and they take turns.

Run with the interpreter that has the version of Spark to which the connector belongs:
`python -m benchmarks.clients.spark_beside_jar JSON`, which prints what it has measured as JSON.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Producer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SOURCES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "odradek": ("odradek", {}),
    "librdkafka": ("odradek", {"kafka.socket.nagle.disable": "true"}),
    "jar": ("kafka", {}),
}
"""Formats with options; the second has a setting that only librdkafka knows, which has it read."""
WRITERS = ("odradek", "jar")
_PARTITIONS = 4


@dataclass(frozen=True, slots=True)
class ConnectorLoad:
    """What is measured with one cluster; topics `read-<bytes>` of four partitions are there, filled with `records`."""

    bootstrap: str
    jars: Sequence[str]
    records: Mapping[str, int]
    """By the bytes of a value."""
    written: int
    passes: int
    warm_passes: int
    batches: int
    warm_batches: int
    batch_records: int


def main() -> int:
    """Measure what the argument says."""
    load = ConnectorLoad(**json.loads(sys.argv[1]))
    found = measure(load)
    print(json.dumps(found))
    return 0


def as_argument(load: ConnectorLoad) -> str:
    """Return a load as the argument of this program."""
    return json.dumps(asdict(load))


def measure(load: ConnectorLoad) -> dict[str, float]:
    """Return rows a second, seconds of micro-batches, and MB of workers."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("connectors").config("spark.jars", ",".join(load.jars))
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    found: dict[str, float] = {}
    for size, records in load.records.items():
        _scan(spark, load, "odradek", size, records)
        found[f"worker-{size}"] = _worker_megabytes()
    for size, records in load.records.items():
        ways = {f"read-{size}-{name}": partial(_scan, spark, load, name, size, records) for name in SOURCES}
        found |= _turns(load, ways, records)
    found |= _turns(load, {f"write-{name}": partial(_write, spark, load, name) for name in WRITERS}, load.written)
    for name in WRITERS:
        found[f"batch-{name}"] = _small_batches(spark, load, name, load.batch_records)
        found[f"one-{name}"] = _small_batches(spark, load, name, 1)
    spark.stop()
    return found


def _turns(load: ConnectorLoad, ways: Mapping[str, Callable[[], float]], rows: int) -> dict[str, float]:
    """Have all ways take turns; return the rows a second of the median pass of each."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(load.warm_passes + load.passes):
        for name, way in ways.items():
            seconds[name].append(way())
    return {name: rows / statistics.median(found[load.warm_passes :]) for name, found in seconds.items()}


def _options(load: ConnectorLoad, source: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": load.bootstrap, **SOURCES[source][1]}


def _scan(spark: SparkSession, load: ConnectorLoad, source: str, size: str, records: int) -> float:
    """Count the records and add up the lengths of their values; return the seconds."""
    from pyspark.sql import functions as F  # noqa: N812  everybody's name for it

    options = _options(load, source) | {"subscribe": f"read-{size}", "startingOffsets": "earliest"}
    began = time.perf_counter()
    frame = spark.read.format(SOURCES[source][0]).options(**options).load()
    row = frame.select(F.count("*"), F.sum(F.length("value"))).collect()[0]
    seconds = time.perf_counter() - began
    if tuple(row) != (records, records * int(size)):
        raise SystemExit(f"{source} read {row[0]} records of {row[1]} bytes where {records} of {size} were written")
    return seconds


def _write(spark: SparkSession, load: ConnectorLoad, source: str) -> float:
    frame = spark.range(0, load.written, 1, 2).selectExpr("repeat('x', 100) value")
    began = time.perf_counter()
    writer = frame.write.format(SOURCES[source][0]).mode("append").options(**_options(load, source))
    writer.option("topic", f"written-{source}").save()
    return time.perf_counter() - began


def _small_batches(spark: SparkSession, load: ConnectorLoad, source: str, records: int) -> float:
    """Return the seconds of the median micro-batch, from the acknowledgement of its records to its end."""
    topic = f"small-{source}-{records}"
    producer = Producer({"bootstrap.servers": load.bootstrap, "linger.ms": 1})
    seconds = []
    options = _options(load, source) | {"subscribe": topic, "startingOffsets": "earliest"}
    with tempfile.TemporaryDirectory() as checkpoint:
        stream = spark.readStream.format(SOURCES[source][0]).options(**options).load()
        query: StreamingQuery = stream.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        query.processAllAvailable()
        for _ in range(load.warm_batches + load.batches):
            for number in range(records):
                producer.produce(topic, b"x" * 100, partition=number % _PARTITIONS)
            if producer.flush(60):
                raise SystemExit("records were not acknowledged within a minute")
            began = time.perf_counter()
            query.processAllAvailable()
            seconds.append(time.perf_counter() - began)
        query.stop()
    return statistics.median(seconds[load.warm_batches :])


def _worker_megabytes() -> float:
    """Return the most memory that one of the Python workers of this session has had, in MB."""
    most = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            command = status.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if b"pyspark.daemon" in command and os.getsid(int(status.parent.name)) == os.getsid(0):
            most = max(most, int(fields.get("VmHWM", "0 kB").split()[0]))
    return most / 1e3


if __name__ == "__main__":
    sys.exit(main())
