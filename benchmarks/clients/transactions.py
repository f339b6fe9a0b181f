"""Transactions from raw sockets: producers that each have one transaction at a time, and ids that are only begun.

As in `requests`, the client is as lean as Python allows; a batch is built once, and its producer, sequence and checksum
are written in place. A producer that is told to ask again does so after a pause, and that is part of its times.
"""

from __future__ import annotations

import gc
import heapq
import os
import select
import socket
import time
from array import array
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks import records, wire
from benchmarks import transaction_wire as messages
from benchmarks.clients.figures import Meter
from benchmarks.connection import Connection, open_socket
from benchmarks.statistics import Percentiles, percentiles
from benchmarks.target import Endpoint
from benchmarks.transaction_wire import Producer

_PAUSE_NS = 5_000_000
"""How long a producer waits that is told to ask again. Java's waits for 20 ms, which would measure nothing else."""
_WINDOW = 64
SAMPLE = 500
"""Ids to ask for where all have to be served: enough to be in every partition of `__transaction_state`."""
_READY_SECONDS = 60

Sent = tuple[int, bytes | bytearray]
"""A request, and whom it is for."""
Steps = Generator[Sent | None, memoryview, None]
"""What a producer sends next, None for a pause; it is given the answer."""
LEADER, COORDINATOR = 0, 1


@dataclass(frozen=True, slots=True)
class TransactionLoad:
    """Committed transactions, each with one batch of so many records for each of the partitions of a topic.

    `implicit`: Produce adds partitions (KIP-890), otherwise AddPartitionsToTxn does. `prefix` begins the transactional
    ids.
    """

    endpoint: Endpoint
    topic: str
    prefix: str
    records: int
    value_size: int
    warmup_seconds: float
    seconds: float
    partitions: int = 1
    producers: int = 1
    implicit: bool = True
    timeout_ms: int = 60_000
    coordinators: Sequence[tuple[str, int]] = ()
    """Where each producer's coordinator is, if it is not the broker of `endpoint`."""


@dataclass(frozen=True, slots=True)
class Transactions:
    """Transactions committed in the measured part and the seconds they took; times in µs, of the commit alone and of
    the whole transaction.

    `everything` counts those of the warm-up as well. `again`: how often a producer was told to ask again.
    """

    count: int
    everything: int
    again: int
    elapsed: float
    broker_cpu: float
    client_cpu: float
    commit: Percentiles
    whole: Percentiles


@dataclass(frozen=True, slots=True)
class IdLoad:
    """So many transactional ids, each begun; with a topic, each has a transaction that stays open there."""

    endpoint: Endpoint
    count: int
    timeout_ms: int
    topic: str = ""
    partitions: int = 1


@dataclass(frozen=True, slots=True)
class Begun:
    """What it took: seconds elapsed, and seconds of CPU of the broker and of the client."""

    elapsed: float
    broker_cpu: float
    client_cpu: float


class _Fleet:
    """The producers of a load, each on connections of its own, and what they saw."""

    def __init__(self, load: TransactionLoad) -> None:
        self._load = load
        self._values = records.values_of(load.records, load.value_size)
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        self._producer_of: dict[int, int] = {}
        """Descriptor of a socket -> the number of the producer whose it is."""
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        """The sockets of each producer, by whom they are for; the same twice where that is one broker."""
        self._steps: dict[int, Steps] = {}
        self._paused: list[tuple[int, int]] = []
        self.is_ending = False
        self.commits, self.wholes = array("q"), array("q")
        self.again = 0
        for number in range(load.producers):
            leader = coordinator = open_socket(load.endpoint.address)
            if load.coordinators:
                coordinator = open_socket(load.coordinators[number])
            self._pairs.append((leader, coordinator))
            for sock in {leader, coordinator}:
                self._sockets[sock.fileno()] = sock
                self._producer_of[sock.fileno()] = number
                self._poll.register(sock.fileno(), select.EPOLLIN)
            self._steps[number] = self._produce(producer_name(load.prefix, number))
            self._go_on(number, None)

    def run(self, seconds: float) -> None:
        """Let them all go on for so long; what is under way then stays so. Returns early once all have ended."""
        clock = time.perf_counter_ns
        now = clock()
        until = now + int(seconds * 1e9)
        while now < until and self._steps:
            next_at = min(self._paused[0][0], until) if self._paused else until
            for descriptor, _event in self._poll.poll(max(next_at - now, 0) / 1e9):
                self._go_on(self._producer_of[descriptor], _answer(self._sockets[descriptor], descriptor))
            now = clock()
            while self._paused and self._paused[0][0] <= now:
                self._go_on(heapq.heappop(self._paused)[1], None)

    def await_first(self) -> None:
        """Let them go on until as many transactions are committed as there are producers."""
        deadline = time.monotonic() + _READY_SECONDS
        while len(self.wholes) < self._load.producers:
            if time.monotonic() > deadline:
                raise wire.WireError("no transaction is committed")
            self.run(0.02)

    def end(self) -> None:
        """Let each end the transaction it has, and close the connections."""
        self.is_ending = True
        self.run(_READY_SECONDS)
        if self._steps:
            raise wire.WireError("a transaction did not end")
        for sock in self._sockets.values():
            sock.close()

    def _go_on(self, number: int, answer: memoryview | None) -> None:
        steps = self._steps[number]
        try:
            sent = next(steps) if answer is None else steps.send(answer)
        except StopIteration:
            del self._steps[number]
            return
        if sent is None:
            heapq.heappush(self._paused, (time.perf_counter_ns() + _PAUSE_NS, number))
        else:
            whom, request = sent
            self._pairs[number][whom].sendall(request)

    def _produce(self, name: str) -> Steps:
        load, clock = self._load, time.perf_counter_ns
        batch = records.build_batch(self._values, int(time.time() * 1000))
        batches = [(partition, batch) for partition in range(load.partitions)]
        produce = messages.TransactionalProduce(name, load.topic, batches, implicit=load.implicit)
        partitions = range(load.partitions)
        yield from self._ask(messages.find_coordinator(name), messages.coordinator_error)
        answer = yield from self._ask(messages.init_producer_id(name, load.timeout_ms), messages.coordinator_error)
        producer, sequence = messages.producer_of(answer), 0
        while not self.is_ending:
            began = clock()
            if not load.implicit:
                add = messages.add_partitions(name, producer, load.topic, partitions)
                yield from self._ask(add, messages.added_error)
            yield from self._ask(produce.request(producer, sequence), messages.produced_error, LEADER)
            produced = clock()
            end = messages.end(name, producer, implicit=load.implicit)
            answer = yield from self._ask(end, messages.coordinator_error)
            ended = clock()
            self.commits.append(ended - produced)
            self.wholes.append(ended - began)
            sequence += load.records
            if load.implicit and (after := messages.producer_of(answer)) != producer:
                producer, sequence = after, 0

    def _ask(
        self, request: bytes | bytearray, error_of: Callable[[memoryview], int], whom: int = COORDINATOR
    ) -> Generator[Sent | None, memoryview, memoryview]:
        deadline = time.monotonic() + _READY_SECONDS
        while error := error_of(answer := (yield whom, request)):
            if error not in messages.NOT_YET or time.monotonic() > deadline:
                raise wire.WireError("a transaction failed", error)
            self.again += 1
            yield None
        return answer


def commit(load: TransactionLoad) -> Transactions:
    """Commit one transaction after the other with each producer."""
    gc.disable()
    fleet = _Fleet(load)
    fleet.await_first()
    fleet.run(load.warmup_seconds)
    warmed = len(fleet.wholes)
    fleet.again = 0
    del fleet.commits[:], fleet.wholes[:]
    with Meter(load.endpoint.pid) as meter:
        fleet.run(load.seconds)
    count, again = len(fleet.wholes), fleet.again
    commits, wholes = percentiles(fleet.commits).scaled(1e-3), percentiles(fleet.wholes).scaled(1e-3)
    fleet.end()
    return Transactions(
        count, warmed + len(fleet.wholes), again, meter.elapsed, meter.broker_cpu, meter.client_cpu, commits, wholes
    )


def begin(load: IdLoad) -> Begun:
    """Begin the ids, a window of them in flight on one connection; with a topic, write a record under each."""
    names = [id_name(number) for number in range(load.count)]
    batch = records.build_batch(records.values_of(1, 100), int(time.time() * 1000))
    with Connection(load.endpoint.address) as connection:
        await_coordinator(connection, names[:SAMPLE])
        with Meter(load.endpoint.pid) as meter:
            for start in range(0, load.count, _WINDOW):
                window = names[start : start + _WINDOW]
                producers = _begin(connection, load, window)
                if load.topic:
                    _open(connection, load, producers, batch)
    return Begun(meter.elapsed, meter.broker_cpu, meter.client_cpu)


def producer_name(prefix: str, number: int) -> str:
    """The transactional id of a producer of a load."""
    return f"{prefix}-{number}"


def id_name(number: int) -> str:
    """The transactional id that `begin` gives a number."""
    return f"service-{number:06d}"


def await_coordinator(connection: Connection, names: Sequence[str]) -> None:
    """Return once the coordinator of these ids serves; the topic of transactions is made where there is none."""
    deadline = time.monotonic() + _READY_SECONDS
    while error := messages.coordinator_error(connection.ask(messages.find_coordinator(names[0]))):
        _wait(error, deadline)
    while errors := messages.described_errors(connection.ask(messages.describe(names))) & messages.NOT_YET:
        _wait(max(errors), deadline)


def _wait(error: int, deadline: float) -> None:
    if error not in messages.NOT_YET or time.monotonic() > deadline:
        raise wire.WireError("waiting for the coordinator of transactions, or for producer ids", error)
    time.sleep(0.002)


def _begin(connection: Connection, load: IdLoad, names: Sequence[str]) -> dict[str, Producer]:
    """Begin ids, all at once; again where Apache Kafka waits for its next producer ids, and says that it loads."""
    producers: dict[str, Producer] = {}
    deadline = time.monotonic() + _READY_SECONDS
    while missing := [name for name in names if name not in producers]:
        connection.socket.sendall(b"".join(messages.init_producer_id(name, load.timeout_ms) for name in missing))
        errors = set()
        for name in missing:
            answer = connection.receive()
            if error := messages.coordinator_error(answer):
                errors.add(error)
            else:
                producers[name] = messages.producer_of(answer)
        if errors:
            _wait(max(errors), deadline)
    return producers


def _open(connection: Connection, load: IdLoad, producers: Mapping[str, Producer], batch: bytearray) -> None:
    asked = bytearray()
    for name, producer in producers.items():
        partition = producer.producer_id % load.partitions
        produce = messages.TransactionalProduce(name, load.topic, [(partition, batch)], implicit=True)
        asked += produce.request(producer, 0)
    connection.socket.sendall(asked)
    for _ in producers:
        if error := messages.produced_error(connection.receive()):
            raise wire.WireError("opening a transaction", error)


def _answer(sock: socket.socket, descriptor: int) -> memoryview:
    data = os.read(descriptor, 1 << 16)
    while len(data) < 4 or len(data) < 4 + wire.SIZE.unpack_from(data)[0]:
        more = sock.recv(1 << 16)
        if not more:
            raise wire.WireError("the broker closed the connection")
        data += more
    return memoryview(data)[4:]
