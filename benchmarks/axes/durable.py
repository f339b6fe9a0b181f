"""fsync before the ack: a topic with flush.messages=1, from one connection and from fifty.

The floor is the disk: how many times a second one 1 kB append can be made durable when one waits for the other.
"""

from __future__ import annotations

import os
import time
from array import array

from benchmarks import isolation
from benchmarks.axes.requests import BROKER_CPU, LATENCY_MS, RATE, values_of
from benchmarks.axis import Axis, Bench, Stage, Values
from benchmarks.clients import requests
from benchmarks.clients.requests import RequestLoad
from benchmarks.statistics import percentiles

_FLUSH_EACH = {"flush.messages": "1"}


def _connections(stage: Stage, count: int) -> Values:
    with stage.topic("durable", configs=_FLUSH_EACH) as topic:
        load = RequestLoad(
            stage.broker().endpoint,
            topic,
            1000,
            stage.warmup_seconds,
            stage.bench.seconds(4),
            connections=count,
        )
        figures = isolation.run(requests.many_connections, load)
        stage.check_count(topic, figures.acknowledged)
    return values_of(figures, 1000)


def _one(stage: Stage) -> Values:
    return _connections(stage, 1)


def _fifty(stage: Stage) -> Values:
    return _connections(stage, 50)


def _floor(bench: Bench) -> Values:
    def measure() -> Values:
        samples = array("q")
        data = bytes(1000)
        with bench.scratch("fsync") as path:
            file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
            began = time.perf_counter_ns()
            until = began + int(bench.seconds(2) * 1e9)
            now = began
            while now < until:
                os.write(file, data)
                os.fsync(file)
                before, now = now, time.perf_counter_ns()
                samples.append(now - before)
            os.close(file)
        found = percentiles(samples).scaled(1e-6)
        return {"requests": len(samples) / ((now - began) / 1e9), "p50": found.p50, "p99": found.p99}

    return bench.once("fsync", measure)


AXES = (
    Axis(
        "fsync-1",
        "fsync before ack (flush.messages=1), 1 kB, one connection",
        (RATE, *LATENCY_MS, BROKER_CPU),
        _one,
        _floor,
    ),
    Axis(
        "fsync-50",
        "fsync before ack (flush.messages=1), 1 kB, 50 connections",
        (RATE, *LATENCY_MS, BROKER_CPU),
        _fifty,
        _floor,
    ),
)
