"""Small Produce requests from raw sockets: one at a time, many connections at once, many in flight on one.

The leanest client that Python allows, because it competes with the broker for the same cores: the request is built
once, sent again and again from the same bytes, and an answer is checked for its length and its error code only.
That every acknowledged record is in the log is checked once, at the end of the load, by whoever ran it.
"""

from __future__ import annotations

import gc
import os
import select
import socket
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import records, wire
from benchmarks.clients.figures import Meter, Requests
from benchmarks.clients.warming import run_until_steady
from benchmarks.connection import Connection, open_socket, produce_when_ready
from benchmarks.statistics import Percentiles, percentiles
from benchmarks.target import Endpoint

_NO_ERROR = b"\0\0"


@dataclass(frozen=True, slots=True)
class RequestLoad:
    """Single-record acks=all Produce requests to a topic, for so many seconds.

    `window` is how many requests one pipelining connection keeps in flight. With `until_steady` the warm-up goes on
    until the broker's CPU for each request falls no more (`benchmarks.clients.warming`).
    """

    endpoint: Endpoint
    topic: str
    value_size: int
    warmup_seconds: float
    seconds: float
    connections: int = 1
    window: int = 64
    until_steady: bool = False
    leaders: tuple[Endpoint, ...] = ()
    """Who leads the partitions of the topic, over which many connections are spread; empty where there is one alone."""

    def request(self, partition: int = 0) -> bytes:
        """The request, ready to be sent."""
        value = records.values_of(1, self.value_size)[0]
        return bytes(wire.produce(self.topic, partition, records.build_batch([value], int(time.time() * 1000))))


def synchronous(load: RequestLoad) -> Requests:
    """One connection, one request at a time: send, wait for the answer, send the next."""
    request = load.request()
    answer_size = _settle(load.endpoint, load.topic, request)
    error_at = _error_at(load.topic)
    samples = array("q")
    gc.disable()

    with open_socket(load.endpoint.address) as sock:
        send, receive, clock, note = sock.sendall, sock.recv, time.perf_counter_ns, samples.append

        def run(seconds: float) -> None:
            until = clock() + int(seconds * 1e9)
            began = clock()
            while began < until:
                send(request)
                answer = receive(4096)
                ended = clock()
                if len(answer) != answer_size or answer[error_at : error_at + 2] != _NO_ERROR:
                    answer = _complete(sock, answer, answer_size)
                    wire.acknowledged(answer[4:], load.topic)
                note(ended - began)
                began = clock()

        run(load.warmup_seconds)
        warmed = len(samples)
        del samples[:]
        with Meter(load.endpoint.pid) as meter:
            run(load.seconds)
    return _figures(meter, samples, warmed + 1)


def paced_until(load: RequestLoad, pause: float, stop: Path) -> Percentiles:
    """One connection, one request at a time with a pause of so many seconds after each, until a file appears; µs."""
    return _paced(load, pause, lambda: not stop.exists())


def paced_for(load: RequestLoad, pause: float) -> Percentiles:
    """The same for as long as the load says."""
    until = time.monotonic() + load.seconds
    return _paced(load, pause, lambda: time.monotonic() < until)


def _paced(load: RequestLoad, pause: float, goes_on: Callable[[], bool]) -> Percentiles:
    request = load.request()
    _settle(load.endpoint, load.topic, request)
    samples = array("q")
    gc.disable()
    with Connection(load.endpoint.address) as connection:
        while goes_on() or not samples:
            began = time.perf_counter_ns()
            wire.acknowledged(connection.ask(request), load.topic)
            samples.append(time.perf_counter_ns() - began)
            time.sleep(pause)
    return percentiles(samples).scaled(1e-3)


def many_connections(load: RequestLoad) -> Requests:
    """So many connections, each with one request under way: as soon as it is answered the next is sent."""
    leaders = load.leaders or (load.endpoint,)
    each = [load.request(partition) for partition in range(len(leaders))]
    answer_sizes = [_settle(leader, load.topic, request) for leader, request in zip(leaders, each, strict=True)]
    answer_size = answer_sizes[0]
    error_at = _error_at(load.topic)
    sockets: dict[int, socket.socket] = {}
    request_of: dict[int, bytes] = {}
    for number in range(load.connections):
        sock = open_socket(leaders[number % len(leaders)].address)
        sockets[sock.fileno()], request_of[sock.fileno()] = sock, each[number % len(leaders)]
    poll = select.epoll()
    samples = array("q")
    gc.disable()
    clock, note, read, write = time.perf_counter_ns, samples.append, os.read, os.write
    sent_at = dict.fromkeys(sockets, clock())
    for descriptor in sockets:
        poll.register(descriptor, select.EPOLLIN)
        write(descriptor, request_of[descriptor])

    def run(seconds: float) -> None:
        now = clock()
        until = now + int(seconds * 1e9)
        while now < until:
            for descriptor, _event in poll.poll():
                answer = read(descriptor, 4096)
                now = clock()
                if len(answer) != answer_size or answer[error_at : error_at + 2] != _NO_ERROR:
                    answer = _complete(sockets[descriptor], answer, answer_size)
                    wire.acknowledged(answer[4:], load.topic)
                note(now - sent_at[descriptor])
                sent_at[descriptor] = now
                write(descriptor, request_of[descriptor])

    run(load.warmup_seconds)
    if load.until_steady:
        run_until_steady(run, lambda: len(samples), load.endpoint.pid)
    warmed = len(samples)
    del samples[:]
    with Meter(*(leader.pid for leader in leaders)) as meter:
        run(load.seconds)
    for sock in sockets.values():  # what is under way is answered too, so that the log can be counted
        wire.acknowledged(_complete(sock, b"", answer_size)[4:], load.topic)
        sock.close()
    return _figures(meter, samples, warmed + len(leaders) + load.connections)


def pipelined(load: RequestLoad) -> Requests:
    """One connection that keeps a window of requests in flight; answers are counted by their length."""
    request = load.request()
    answer_size = _settle(load.endpoint, load.topic, request)
    gc.disable()
    window = memoryview(request * load.window)
    with open_socket(load.endpoint.address) as sock:
        receive, send, clock = sock.recv, sock.sendall, time.perf_counter
        unread = 0

        def run(seconds: float) -> int:
            nonlocal unread
            answered = 0
            until = clock() + seconds
            while clock() < until:
                data = receive(1 << 16)
                if not data:
                    raise wire.WireError("the broker closed the connection")
                count, unread = divmod(unread + len(data), answer_size)
                answered += count
                send(window[: count * len(request)])
            return answered

        send(window)
        warmed = run(load.warmup_seconds)
        with Meter(load.endpoint.pid) as meter:
            count = run(load.seconds)
        _complete(sock, bytes(unread), answer_size * load.window)
    return Requests(
        count, count + warmed + 1 + load.window, meter.elapsed, meter.broker_cpu, meter.client_cpu, latency=None
    )


def _settle(leader: Endpoint, topic: str, request: bytes) -> int:
    """Produce once, which waits for the topic's leader, and return the size of the answer, its prefix included."""
    with Connection(leader.address) as connection:
        return 4 + produce_when_ready(connection, topic, request, time.monotonic() + 10)


def _error_at(topic: str) -> int:
    return 4 + 4 + 1 + 1 + 1 + len(topic) + 1 + 4


def _complete(sock: socket.socket, data: bytes, size: int) -> bytes:
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise wire.WireError("the broker closed the connection")
        data += more
    return data


def _figures(meter: Meter, samples: array[int], uncounted: int) -> Requests:
    return Requests(
        len(samples),
        len(samples) + uncounted,
        meter.elapsed,
        meter.broker_cpu,
        meter.client_cpu,
        percentiles(samples).scaled(1e-3),
    )
