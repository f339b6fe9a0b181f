"""Spark: topics read through the broker and from files, and written; micro-batches of one record. Beside it a bare
consumer."""

from __future__ import annotations

import statistics

from benchmarks import isolation
from benchmarks.axis import Axis, Measure, Stage, Values
from benchmarks.clients import bulk, spark
from benchmarks.clients.bulk import BulkLoad
from benchmarks.clients.spark import ScanLoad
from benchmarks.target import Endpoint

_PARTITIONS = 4
_BATCH = 1_000_000
_BYTES = {100: 400_000_000, 1024: 1_500_000_000}
_PASSES = 5
_WARM_PASSES = 4
"""A JVM gets faster over its first passes."""
_WRITTEN = 1_000_000
_TRIGGERS = 20
_WARM_TRIGGERS = 8
_SMALL = "spark-one-by-one"

_MEASURES = (
    Measure("rows", "million rows/s", lower_is_better=False),
    Measure("rate", "MB/s", lower_is_better=False),
    Measure("files-rows", "million rows/s, odradek-log", lower_is_better=False),
    Measure("files-rate", "MB/s, odradek-log", lower_is_better=False),
    Measure("loop-rows", "million rows/s, bare consumer", lower_is_better=False),
    Measure("loop-rate", "MB/s, bare consumer", lower_is_better=False),
)


def _dataset(stage: Stage, value_size: int) -> tuple[str, int]:
    """A topic with four partitions, and how many records it has."""
    topic = f"spark-{value_size}"

    def make() -> int:
        stage.make_topic(topic, _PARTITIONS)
        bytes_of_values = stage.bench.amount(_BYTES[value_size])
        load = BulkLoad(stage.broker().endpoint, topic, value_size, _BATCH, bytes_of_values, partitions=_PARTITIONS)
        isolation.run(bulk.produce, load)
        return load.batches(bytes_of_values) * load.records_per_batch

    return topic, stage.once(topic, make)


def _scan(stage: Stage, value_size: int) -> Values:
    topic, records = _dataset(stage, value_size)
    load = ScanLoad(stage.broker().endpoint, topic, _PARTITIONS, records, value_size, _PASSES, _WARM_PASSES)
    with_spark = isolation.run(spark.scan, load)
    files = isolation.run(spark.scan_files, load, stage.log_directory(topic))
    loop = isolation.run(spark.consume, ScanLoad(load.endpoint, topic, _PARTITIONS, records, value_size, 2, 1))
    return {
        "rows": with_spark.rows_per_second / 1e6,
        "rate": with_spark.megabytes_per_second,
        "files-rows": files.rows_per_second / 1e6,
        "files-rate": files.megabytes_per_second,
        "loop-rows": loop.rows_per_second / 1e6,
        "loop-rate": loop.megabytes_per_second,
    }


def _small_scan(stage: Stage) -> Values:
    return _scan(stage, 100)


def _large_scan(stage: Stage) -> Values:
    return _scan(stage, 1024)


def _write(stage: Stage) -> Values:
    records = stage.bench.amount(_WRITTEN)
    with stage.topic("spark-written", _PARTITIONS) as topic:
        load = ScanLoad(stage.broker().endpoint, topic, _PARTITIONS, records, 100, 3, 2)
        rows = isolation.run(spark.write, load)
        stage.check_count(topic, records * (load.passes + load.warm_passes), _PARTITIONS)
    return {"rows": rows / 1e3}


def _trigger(stage: Stage) -> Values:
    with stage.topic(_SMALL) as topic:
        endpoint: Endpoint = stage.broker().endpoint
        seconds = isolation.run(spark.one_record_batches, endpoint, topic, _WARM_TRIGGERS + _TRIGGERS)
    found = seconds[_WARM_TRIGGERS:]
    return {"median": statistics.median(found), "worst": max(found)}


AXES = (
    Axis(
        "spark-100",
        "Spark: count and sum of lengths, 100 B values, 4 partitions, local[2]",
        _MEASURES,
        _small_scan,
        in_process=True,
    ),
    Axis("spark-1k", "Spark: the same, 1 KiB values", _MEASURES, _large_scan, bulk=True, in_process=True),
    Axis(
        "spark-write",
        "Spark: 100 B values appended by two tasks, idempotent, acks=all",
        (Measure("rows", "thousand rows/s", lower_is_better=False),),
        _write,
        in_process=True,
    ),
    Axis(
        "spark-trigger",
        "Spark: micro-batch of one record, acknowledged to committed",
        (Measure("median", "s"), Measure("worst", "s")),
        _trigger,
        in_process=True,
    ),
)
