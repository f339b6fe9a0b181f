"""Fetch throughput of what lies in the page cache, whose floor sends the same file to a socket with sendfile; and of
small records by many consumers."""

from __future__ import annotations

import dataclasses

from benchmarks import isolation
from benchmarks.axes.produce import BATCH, GIGABYTE, MEASURES, medians_of, values_of
from benchmarks.axes.requests import WARM_AT_ONCE_SECONDS
from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.clients import bulk, librdkafka
from benchmarks.clients.bulk import BulkLoad
from benchmarks.clients.fan_out import FanOut, fan_out
from benchmarks.clients.figures import Transfer
from benchmarks.floors import FloorServer
from benchmarks.target import Endpoint

_TOPIC = "fetched"
_PASSES = 3
_CONSUMERS = 100
# Otherwise librdkafka sleeps a whole second each time its queue of 100,000 messages is full, and one measures that.
_NO_NAPS = {"fetch.queue.backoff.ms": 10}


def _load(bench: Bench, endpoint: Endpoint) -> BulkLoad:
    return BulkLoad(endpoint, _TOPIC, 1024, BATCH, bench.amount(GIGABYTE))


def dataset(stage: Stage) -> BulkLoad:
    """A topic with one partition of 1 KiB records in 1 MB batches, shared by the axes here."""

    def make() -> BulkLoad:
        stage.make_topic(_TOPIC)
        load = _load(stage.bench, stage.broker().endpoint)
        isolation.run(bulk.produce, load)
        if stage.warmup_seconds > 1:
            isolation.run(bulk.fetch, load, _PASSES)
        return load

    return stage.once(_TOPIC, make)


def _librdkafka(stage: Stage) -> Values:
    load = dataset(stage)
    records = load.batches(load.total_bytes) * load.records_per_batch
    what = librdkafka.ClientLoad(load.endpoint, load.topic, load.value_size, records, settings=_NO_NAPS)
    if stage.warmup_seconds > 1:
        isolation.run(librdkafka.consume, what)
    return values_of(isolation.run(librdkafka.consume, what))


def _raw(stage: Stage) -> Values:
    return values_of(isolation.run(bulk.fetch, dataset(stage), _PASSES))


def _floor(bench: Bench) -> Values:
    def measure() -> Values:
        with bench.scratch("floor") as file:
            load = _load(bench, Endpoint(("", 0), 0))
            isolation.run(bulk.write_file, load, str(file))

            def once() -> Transfer:
                with FloorServer("send", file) as floor:
                    return isolation.run(bulk.drain, dataclasses.replace(load, endpoint=floor.endpoint), _PASSES)

            return medians_of([once() for _ in range(_PASSES)])

    return bench.once("send", measure)


def _fan_out(stage: Stage) -> Values:
    with stage.topic("fan-out") as topic:
        load = FanOut(
            stage.broker().endpoint,
            topic,
            _CONSUMERS,
            stage.bench.seconds(4),
            stage.warmup_seconds,
            until_steady=stage.warmup_seconds > WARM_AT_ONCE_SECONDS,
        )
        return {"cpu": isolation.run(fan_out, load)}


AXES = (
    Axis(
        "fetch-small",
        "100 consumers wait for each 100 B record, one fetch each",
        (Measure("cpu", "broker µs CPU each fetch"),),
        _fan_out,
    ),
    Axis("fetch", "fetch 1 KiB, 1 MB batches, librdkafka consumer", MEASURES, _librdkafka, _floor, bulk=True),
    Axis("fetch-raw", "fetch the same, 1 MiB a request, one raw connection", MEASURES, _raw, _floor, bulk=True),
)
