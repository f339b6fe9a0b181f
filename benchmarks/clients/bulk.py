"""Large transfers from raw sockets: batches in, fetches out, and the same bytes through the floor programs.

The client does as little as it can, so that the broker is what is measured: batches are built once, fetched bytes are
received into one buffer and only batch headers are looked at.
"""

from __future__ import annotations

import gc
import os
import socket
import time
from dataclasses import dataclass

from benchmarks import records, wire
from benchmarks.clients.figures import Meter, Transfer
from benchmarks.connection import Connection, open_socket
from benchmarks.target import Endpoint

_IN_FLIGHT = 5
"""What Java's producer keeps in flight on a connection by default."""


@dataclass(frozen=True, slots=True)
class BulkLoad:
    """So many bytes of record values, in batches of about `batch_bytes`, to or from partitions of a topic."""

    endpoint: Endpoint
    topic: str
    value_size: int
    batch_bytes: int
    total_bytes: int
    warmup_bytes: int = 0
    partitions: int = 1

    @property
    def records_per_batch(self) -> int:
        """How many records of `value_size` a batch holds."""
        return max(1, (self.batch_bytes - records.HEADER_SIZE) // (self.value_size + 8))

    @property
    def payload_per_batch(self) -> int:
        """Bytes of record values in a batch."""
        return self.records_per_batch * self.value_size

    def batches(self, payload: int) -> int:
        """How many batches carry at least `payload` bytes of values."""
        return -(-payload // self.payload_per_batch)

    def requests(self) -> list[bytes]:
        """One Produce request for each partition, ready to be sent."""
        values = records.values_of(min(self.records_per_batch, 1000), self.value_size)
        values = [values[i % len(values)] for i in range(self.records_per_batch)]
        batch = records.build_batch(values, int(time.time() * 1000))
        return [bytes(wire.produce(self.topic, partition, batch)) for partition in range(self.partitions)]


def produce(load: BulkLoad) -> Transfer:
    """Keep a few requests in flight until all is acknowledged; partitions take turns."""
    requests = load.requests()
    with Connection(load.endpoint.address) as connection:

        def run(batches: int) -> None:
            for sent in range(batches + _IN_FLIGHT):
                if sent >= _IN_FLIGHT and sent - _IN_FLIGHT < batches:
                    wire.acknowledged(connection.receive(), load.topic)
                if sent < batches:
                    connection.socket.sendall(requests[sent % len(requests)])

        run(load.batches(load.warmup_bytes))
        batches = load.batches(load.total_bytes)
        with Meter(load.endpoint.pid) as meter:
            run(batches)
    return Transfer(batches * load.payload_per_batch, meter.elapsed, meter.broker_cpu, meter.client_cpu)


def feed(load: BulkLoad) -> Transfer:
    """Send the bytes of the same requests to the floor program that receives, and wait until it has written them."""
    request = load.requests()[0]
    batches = load.batches(load.total_bytes)
    with open_socket(load.endpoint.address) as sock, Meter(load.endpoint.pid) as meter:
        for _ in range(batches):
            sock.sendall(request)
        sock.shutdown(socket.SHUT_WR)
        sock.recv(1)
    return Transfer(batches * load.payload_per_batch, meter.elapsed, meter.broker_cpu, meter.client_cpu)


def fetch(load: BulkLoad, passes: int = 1) -> Transfer:
    """Fetch from offset 0 until `total_bytes` of values were read, one Fetch after another, `passes` times over.

    Asks for 1 MiB a time, as clients do by default (fetch.message.max.bytes, max.partition.fetch.bytes).
    """
    request = wire.fetch(load.topic, 0, max_wait_ms=500, min_bytes=1, max_bytes=1 << 20)
    wanted = load.batches(load.total_bytes) * load.records_per_batch
    fetched = 0
    gc.disable()
    with Connection(load.endpoint.address) as connection, Meter(load.endpoint.pid) as meter:
        for _ in range(passes):
            offset = 0
            while offset < wanted:
                wire.set_fetch_offset(request, offset)
                before = offset
                for span in records.batch_spans(wire.fetched(connection.ask(request)).records):
                    offset = span.next_offset
                if offset == before:
                    raise wire.WireError(f"fetching {load.topic}: nothing at offset {offset} of {wanted}")
            fetched += offset
    return Transfer(fetched * load.value_size, meter.elapsed, meter.broker_cpu, meter.client_cpu)


def drain(load: BulkLoad, passes: int = 1) -> Transfer:
    """Receive all that the floor program that sends has, `passes` times over."""
    buffer = bytearray(1 << 20)
    received = 0
    with Meter(load.endpoint.pid) as meter:
        for _ in range(passes):
            with open_socket(load.endpoint.address) as sock:
                while size := sock.recv_into(buffer, 0, socket.MSG_WAITALL):
                    received += size
    payload = received * load.payload_per_batch // len(load.requests()[0])
    return Transfer(payload, meter.elapsed, meter.broker_cpu, meter.client_cpu)


def write_file(load: BulkLoad, path: str) -> None:
    """Write the bytes of the same requests to a file, for the floor program that sends."""
    request = load.requests()[0]
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for _ in range(load.batches(load.total_bytes)):
        os.write(file, request)
    os.close(file)
