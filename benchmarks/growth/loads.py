"""Loads for growth that no other benchmark has: many consumers of one partition, many groups that commit an offset."""

from __future__ import annotations

import os
import select
import struct
import time
from dataclasses import dataclass

from benchmarks import records, wire
from benchmarks.clients.figures import Meter
from benchmarks.connection import Connection, open_socket
from benchmarks.target import Endpoint

_FIND_COORDINATOR, _OFFSET_COMMIT = 10, 8
_IN_FLIGHT = 100
_READY_SECONDS = 60
_WARMUP_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class FanOut:
    """So many consumers that wait at the end of a partition, and a record for all of them again and again."""

    endpoint: Endpoint
    topic: str
    consumers: int
    seconds: float


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

        run(_WARMUP_SECONDS)
        fetches = 0
        with Meter(load.endpoint.pid) as meter:
            run(load.seconds)
    for sock in sockets.values():
        sock.close()
    return meter.broker_cpu * 1e6 / fetches


def commit_offsets(endpoint: Endpoint, topic: str, first: int, groups: int) -> float:
    """Commit one offset for each of so many new groups; returns the broker's µs of CPU for each."""
    with Connection(endpoint.address) as connection:
        _await_coordinator(connection)
        requests = [_commit(f"growth-{number}", topic) for number in range(first, first + groups)]
        with Meter(endpoint.pid) as meter:
            for begin in range(0, groups, _IN_FLIGHT):
                some = requests[begin : begin + _IN_FLIGHT]
                connection.socket.sendall(b"".join(some))
                for _ in some:
                    answer = connection.receive()
                    (error,) = struct.unpack_from(">h", answer, len(answer) - 2)
                    if error:
                        raise wire.WireError("committing an offset", error)
    return meter.broker_cpu * 1e6 / groups


def _commit(group: str, topic: str) -> bytes:
    """OffsetCommit 2 of a group without members."""
    body = wire.string(group) + wire.SIZE.pack(-1) + wire.string("") + struct.pack(">qi", -1, 1) + wire.string(topic)
    return wire.request(_OFFSET_COMMIT, 2, body + struct.pack(">iiq", 1, 0, 1) + wire.string(""))


def _await_coordinator(connection: Connection) -> None:
    """The first question for a coordinator makes the broker create the topic of committed offsets."""
    deadline = time.monotonic() + _READY_SECONDS
    while True:
        answer = connection.ask(wire.request(_FIND_COORDINATOR, 1, wire.string("growth-0") + b"\0"))
        (error,) = struct.unpack_from(">h", answer, 8)
        if not error:
            return
        if time.monotonic() > deadline:
            raise wire.WireError("there is no group coordinator", error)
        time.sleep(0.01)
