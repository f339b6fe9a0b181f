"""Produce throughput. The floor receives the same bytes from a socket and appends them to a file."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from benchmarks import isolation
from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.clients import bulk, librdkafka
from benchmarks.clients.bulk import BulkLoad
from benchmarks.clients.figures import Transfer
from benchmarks.floors import FloorServer
from benchmarks.statistics import median

MEASURES = (
    Measure("rate", "MB/s", lower_is_better=False),
    Measure("cpu", "broker CPU s/GB"),
)
GIGABYTE = 1_000_000_000
BATCH = 1_000_000
_FLOOR_PASSES = 3
_WARMUP_RATE = 100_000_000
"""Bytes for each second of warm-up: about what a broker that is not warm takes in."""


def values_of(transfer: Transfer) -> Values:
    """The figures by the keys of the measures above."""
    return {"rate": transfer.megabytes_per_second, "cpu": transfer.broker_cpu_per_gigabyte}


def medians_of(transfers: list[Transfer]) -> Values:
    """Each figure's median: for floors, which are over too soon to be measured once."""
    return {
        "rate": median(transfer.megabytes_per_second for transfer in transfers),
        "cpu": median(transfer.broker_cpu_per_gigabyte for transfer in transfers),
    }


def _librdkafka(
    value_size: int, gigabytes: float, settings: Mapping[str, str | int], partitions: int, stage: Stage
) -> Values:
    records = stage.bench.amount(int(gigabytes * GIGABYTE)) // value_size
    warmup = int(stage.warmup_seconds * _WARMUP_RATE) // value_size
    with stage.topic("produce", partitions) as topic:
        load = librdkafka.ClientLoad(stage.broker().endpoint, topic, value_size, records, warmup, settings)
        transfer = isolation.run(librdkafka.produce, load)
        stage.check_count(topic, records + warmup, partitions)
    return values_of(transfer)


def _raw(stage: Stage) -> Values:
    with stage.topic("produce") as topic:
        warmup = int(stage.warmup_seconds * _WARMUP_RATE)
        load = BulkLoad(stage.broker().endpoint, topic, 1024, BATCH, stage.bench.amount(GIGABYTE), warmup)
        transfer = isolation.run(bulk.produce, load)
        batches = load.batches(load.warmup_bytes) + load.batches(load.total_bytes)
        stage.check_count(topic, batches * load.records_per_batch)
    return values_of(transfer)


def floor_of(value_size: int, bench: Bench) -> Values:
    """Receive a gigabyte of values of that size from a socket and append it to a file."""

    def once() -> Transfer:
        with bench.scratch("floor") as file, FloorServer("receive", file) as floor:
            load = BulkLoad(floor.endpoint, "produce", value_size, BATCH, bench.amount(GIGABYTE))
            return isolation.run(bulk.feed, load)

    return bench.once(("receive", value_size), lambda: medians_of([once() for _ in range(_FLOOR_PASSES)]))


def _axis(
    name: str,
    title: str,
    value_size: int,
    gigabytes: float,
    settings: Mapping[str, str | int],
    partitions: int = 1,
) -> Axis:
    run = functools.partial(_librdkafka, value_size, gigabytes, settings, partitions)
    # Compressed bytes have no floor of their own: how many there are is the client's affair.
    floor = None if "compression.type" in settings else functools.partial(floor_of, value_size)
    return Axis(name, title, MEASURES, run, floor, bulk=True)


AXES = (
    _axis(
        "produce-1m",
        "produce 1 KiB, 1 MB batches, linger 20 ms, acks=all, librdkafka",
        1024,
        1.0,
        {"linger.ms": 20, "batch.size": BATCH},
    ),
    Axis(
        "produce-raw",
        "produce 1 KiB, 1 MB batches, acks=all, 5 in flight on one raw connection",
        MEASURES,
        _raw,
        functools.partial(floor_of, 1024),
        bulk=True,
    ),
    _axis("produce-1k", "produce 1 KiB, librdkafka defaults", 1024, 1.0, {}),
    _axis("produce-100", "produce 100 B, librdkafka defaults", 100, 0.4, {}),
    _axis("produce-lz4", "produce 100 B, 6 partitions, lz4, librdkafka", 100, 0.4, {"compression.type": "lz4"}, 6),
)
