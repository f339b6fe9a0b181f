"""Consumer groups: what a heartbeat takes with a thousand members, and how long a fresh group waits for a record."""

from __future__ import annotations

import time

from confluent_kafka import Consumer

from benchmarks import isolation, records, wire
from benchmarks.axis import Axis, Measure, Stage, Values
from benchmarks.clients import groups
from benchmarks.clients.groups import GroupLoad
from benchmarks.connection import produce_when_ready
from benchmarks.statistics import median
from benchmarks.target import Broker, Endpoint

_GROUPS, _MEMBERS = 200, 5
_SESSION_SECONDS, _INTERVAL_SECONDS = 6.0, 1.0
_FRESH_GROUPS = 7
_FIRST_SECONDS = 30
_TOPIC = "first"


def _heartbeats(stage: Stage) -> Values:
    stage.close()
    # Long enough for all members of a group to come to its first rebalance.
    together = {"group.initial.rebalance.delay.ms": "2000"}
    with stage.bench.scratch("groups") as directory, stage.target.start(directory, together) as broker:
        load = GroupLoad(
            broker.endpoint,
            _GROUPS,
            _MEMBERS,
            _SESSION_SECONDS,
            _INTERVAL_SECONDS,
            stage.warmup_seconds + _INTERVAL_SECONDS,
            stage.bench.seconds(2 * _SESSION_SECONDS),
        )
        found = isolation.run(groups.heartbeats, load)
    return {
        "cpu": found.broker_cpu_us,
        "p50": found.latency.p50,
        "p99": found.latency.p99,
        "rate": found.per_second,
        "missed": found.refused,
    }


def _first_record(stage: Stage) -> Values:
    stage.close()
    at_once = {"group.initial.rebalance.delay.ms": "0"}
    with stage.bench.scratch("first") as directory, stage.target.start(directory, at_once) as broker:
        _put_one_record(broker)
        times = isolation.run(first_records, broker.endpoint, _FRESH_GROUPS)
    # The very first group waits for the topic of committed offsets as well.
    return {"first": median(times[1:]), "topic": times[0]}


def _put_one_record(broker: Broker) -> None:
    with broker.connect() as connection:
        wire.check_created(connection.ask(wire.create_topics([wire.NewTopic(_TOPIC)])))
        request = wire.produce(_TOPIC, 0, records.build_batch([bytes(100)], int(time.time() * 1000)))
        produce_when_ready(connection, _TOPIC, request, time.monotonic() + _FIRST_SECONDS)


def first_records(endpoint: Endpoint, count: int) -> list[float]:
    """How many ms each of so many groups, one after the other, waits from its consumer's subscription to a record."""
    host, port = endpoint.address
    times = []
    for number in range(count):
        began = time.perf_counter()
        consumer = Consumer(
            {"bootstrap.servers": f"{host}:{port}", "group.id": f"fresh-{number}", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe([_TOPIC])
        message = consumer.poll(_FIRST_SECONDS)
        times.append((time.perf_counter() - began) * 1e3)
        consumer.close()
        if message is None or message.error():
            raise wire.WireError(f"group {number} read no record within {_FIRST_SECONDS} s")
    return times


AXES = (
    Axis(
        "heartbeats",
        "200 groups of 5 members, each heartbeating once a second",
        (
            Measure("cpu", "broker µs CPU each"),
            Measure("p50", "p50 µs"),
            Measure("p99", "p99 µs"),
            Measure("rate", "heartbeats/s", lower_is_better=False),
            Measure("missed", "missed sessions"),
        ),
        _heartbeats,
    ),
    Axis(
        "fresh-group",
        "fresh group of one librdkafka consumer, subscription to first record",
        (Measure("first", "ms to the first record"), Measure("topic", "ms in a broker that never had a group")),
        _first_record,
    ),
)
