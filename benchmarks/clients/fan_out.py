"""Many consumers at the end of one partition: each record goes to all of them, in a fetch of its own."""

from __future__ import annotations

import os
import select
import time
from dataclasses import dataclass

from benchmarks import records, wire
from benchmarks.clients.figures import Meter
from benchmarks.clients.warming import run_until_steady
from benchmarks.connection import Connection, open_socket
from benchmarks.target import Endpoint


@dataclass(frozen=True, slots=True)
class FanOut:
    """So many consumers that wait at the end of a partition, and a record for all of them again and again."""

    endpoint: Endpoint
    topic: str
    consumers: int
    seconds: float
    warmup_seconds: float = 0.2
    until_steady: bool = False
    """Whether the warm-up goes on until the broker's CPU for each fetch falls no more."""


def fan_out(load: FanOut) -> float:
    """Produce a record whenever every consumer has the one before; returns the broker's µs of CPU for each fetch, its
    share of the Produce among them."""
    batch = records.build_batch(records.values_of(1, 100), int(time.time() * 1000))
    produce = bytes(wire.produce(load.topic, 0, batch))
    fetch = wire.fetch(load.topic, 0, max_wait_ms=30_000, min_bytes=1, max_bytes=1 << 16)
    sockets = {sock.fileno(): sock for sock in (open_socket(load.endpoint.address) for _ in range(load.consumers))}
    poll = select.epoll()
    for descriptor in sockets:
        poll.register(descriptor, select.EPOLLIN)
    fetches = 0
    with Connection(load.endpoint.address) as producer:
        end = wire.acknowledged(producer.ask(produce), load.topic) + 1

        def round_trip() -> None:
            """All consumers ask for what comes next, and get it."""
            nonlocal fetches, end
            wire.set_fetch_offset(fetch, end)
            for descriptor in sockets:
                os.write(descriptor, fetch)
            producer.ask(wire.api_versions())  # meanwhile the broker sees that there is nothing yet for them
            end = wire.acknowledged(producer.ask(produce), load.topic) + 1
            answers = dict.fromkeys(sockets, b"")
            while answers:
                for descriptor, _event in poll.poll():
                    answers[descriptor] += os.read(descriptor, 1 << 16)
                    if len(answers[descriptor]) < 4 + wire.SIZE.unpack_from(answers[descriptor])[0]:
                        continue
                    if not wire.fetched(memoryview(answers.pop(descriptor))[4:]).records:
                        raise wire.WireError("a consumer was answered without the record")
            fetches += len(sockets)

        def run(seconds: float) -> None:
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                round_trip()

        run(load.warmup_seconds)
        if load.until_steady:
            run_until_steady(run, lambda: fetches, load.endpoint.pid)
        fetches = 0
        with Meter(load.endpoint.pid) as meter:
            run(load.seconds)
    for sock in sockets.values():
        sock.close()
    return meter.broker_cpu * 1e6 / fetches
