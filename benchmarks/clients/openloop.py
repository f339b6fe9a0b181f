"""End-to-end latency at a fixed rate: the producer never waits for answers, the consumer long-polls.

Each record carries the time at which it was due to be sent, on the machine-wide monotonic clock, so that a producer
that falls behind, for whatever reason, is counted as latency and not left out. Producer and consumer are two processes.
"""

from __future__ import annotations

import ctypes
import gc
import select
import socket
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks import records, wire
from benchmarks.connection import Connection, open_socket
from benchmarks.statistics import Percentiles, percentiles
from benchmarks.target import Endpoint

_STAMP_SIZE = 8
_PATIENCE_SECONDS = 30
_PR_SET_TIMERSLACK = 29


@dataclass(frozen=True, slots=True)
class PacedLoad:
    """`rate` records a second of `value_size` bytes; the first `warmup_records` of `records` are not counted."""

    endpoint: Endpoint
    topic: str
    rate: int
    records: int
    warmup_records: int
    value_size: int = 100


def consume_raw(load: PacedLoad) -> Percentiles:
    """Fetch as records come and return the latency of each in µs."""
    request = wire.fetch(load.topic, 0, max_wait_ms=500, min_bytes=1, max_bytes=1 << 20)
    _batch, stamp_at = _single_record(load)
    samples = array("q")
    until = time.monotonic() + _PATIENCE_SECONDS
    gc.disable()
    with Connection(load.endpoint.address) as connection:
        while len(samples) < load.records:
            fetched = wire.fetched(connection.ask(request)).records
            now = time.monotonic_ns()
            for span in records.batch_spans(fetched):
                at = span.start + stamp_at
                samples.append(now - int.from_bytes(fetched[at : at + _STAMP_SIZE]))
                wire.set_fetch_offset(request, span.next_offset)
            _still_patient(until, load, samples)
    return percentiles(samples[load.warmup_records :]).scaled(1e-3)


def consume_librdkafka(load: PacedLoad) -> Percentiles:
    """Poll librdkafka's consumer, as it is by default, and return the latency of each record in µs."""
    host, port = load.endpoint.address
    consumer = Consumer({"bootstrap.servers": f"{host}:{port}", "group.id": "bench", "enable.auto.commit": "false"})
    consumer.assign([TopicPartition(load.topic, 0, 0)])
    samples = array("q")
    until = time.monotonic() + _PATIENCE_SECONDS
    gc.disable()
    while len(samples) < load.records:
        message = consumer.poll(1.0)
        if message is not None and (value := message.value()):
            samples.append(time.monotonic_ns() - int.from_bytes(value[:_STAMP_SIZE]))
        _still_patient(until, load, samples)
    consumer.close()
    return percentiles(samples[load.warmup_records :]).scaled(1e-3)


def consume_forwarded(load: PacedLoad) -> Percentiles:
    """Receive what the floor program forwards: the producer's requests themselves."""
    batch, stamp_at = _single_record(load)
    request = wire.produce(load.topic, 0, batch)
    stamp_at += wire.produce_batch_at(request, batch)
    samples = array("q")
    gc.disable()
    with open_socket(load.endpoint.address) as sock:
        unread = b""
        while len(samples) < load.records:
            data = sock.recv(1 << 16)
            now = time.monotonic_ns()
            if not data:
                raise wire.WireError("the floor program closed the connection")
            unread += data
            while len(unread) >= len(request):
                samples.append(now - int.from_bytes(unread[stamp_at : stamp_at + _STAMP_SIZE]))
                unread = unread[len(request) :]
    return percentiles(samples[load.warmup_records :]).scaled(1e-3)


def produce_raw(load: PacedLoad) -> None:
    """Send each record as a Produce request of its own when it is due, whether or not earlier ones were answered."""
    batch, stamp_at = _single_record(load)
    request = wire.produce(load.topic, 0, batch)
    batch_at = wire.produce_batch_at(request, batch)
    sealed = memoryview(request)[batch_at:-3]
    gc.disable()
    with open_socket(load.endpoint.address) as sock:
        sock.setblocking(False)

        def send(due: int) -> None:
            sealed[stamp_at : stamp_at + _STAMP_SIZE] = due.to_bytes(_STAMP_SIZE)
            records.seal(sealed)
            _send_all(sock, request)

        _paced(load, send, lambda: _discard(sock))
        # Closing while answers still come would reset the connection under the last requests; half of it is enough.
        sock.shutdown(socket.SHUT_WR)
        sock.setblocking(True)
        while sock.recv(1 << 16):
            pass


def produce_librdkafka(load: PacedLoad) -> None:
    """Hand each record to librdkafka, which does not linger, when it is due."""
    host, port = load.endpoint.address
    producer = Producer({"bootstrap.servers": f"{host}:{port}", "linger.ms": 0})
    padding = bytes(load.value_size - _STAMP_SIZE)
    gc.disable()

    def send(due: int) -> None:
        producer.produce(load.topic, due.to_bytes(_STAMP_SIZE) + padding)

    _paced(load, send, lambda: producer.poll(0))
    producer.flush(_PATIENCE_SECONDS)


def _paced(load: PacedLoad, send: Callable[[int], None], between: Callable[[], object]) -> None:
    """Call `send` with the due time of each record when it has come, and `between` before each sleep."""
    # The kernel lets a sleeper oversleep by 50 µs unless told otherwise.
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    period = 1_000_000_000 // load.rate
    start = time.monotonic_ns() + 300_000_000
    for index in range(load.records):
        due = start + index * period
        while (early := due - time.monotonic_ns()) > 0:
            between()
            time.sleep(early / 1e9)
        send(due)


def _single_record(load: PacedLoad) -> tuple[bytearray, int]:
    """A batch of one record, and where in it the value, and with it the stamp, begins: headers ends it, one byte."""
    batch = records.build_batch([bytes(load.value_size)], int(time.time() * 1000))
    return batch, len(batch) - 1 - load.value_size


def _send_all(sock: socket.socket, data: bytearray) -> None:
    sent = 0
    with memoryview(data) as view:
        while sent < len(data):
            try:
                sent += sock.send(view[sent:])
            except BlockingIOError:
                _discard(sock)
                select.select((), (sock,), (), 0.001)


def _discard(sock: socket.socket) -> None:
    try:
        while sock.recv(1 << 16):
            pass
    except BlockingIOError:
        pass


def _still_patient(until: float, load: PacedLoad, samples: array[int]) -> None:
    if time.monotonic() > until:
        raise wire.WireError(f"{len(samples)} of {load.records} records of {load.topic} came in {_PATIENCE_SECONDS} s")
