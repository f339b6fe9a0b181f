"""Clients that do not read, do not finish what they send, or are too many: memory stays bounded, others are served."""

import contextlib
import resource
import socket
import struct
from collections.abc import Iterator

import pytest

from tests.fault.talk import (
    MEGABYTE,
    STORAGE_ERROR,
    assert_quiet,
    create_topic,
    fetch,
    fetch_fields,
    produce,
    read_all,
    send_batch,
)
from tests.support.broker import BrokerProcess
from tests.support.process import open_descriptors, resident_bytes
from tests.support.waiting import eventually
from tests.support.wire import Record, WireClient, build_batch
from tests.support.wire.client import request_frame

ANNOUNCED_BYTES = 100 * MEGABYTE
"""Just below socket.request.max.bytes."""


@pytest.fixture
def sockets(running: BrokerProcess) -> Iterator[list[socket.socket]]:
    """Connections that are closed after the test."""
    opened: list[socket.socket] = []
    yield opened
    for sock in opened:
        sock.close()


def _connect(broker: BrokerProcess, sockets: list[socket.socket]) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", broker.port), 10)
    sockets.append(sock)
    return sock


def _send_what_is_taken(sock: socket.socket, data: bytes) -> int:
    """Send until the broker takes no more; returns how much it took."""
    sent = 0
    sock.settimeout(0.2)
    with contextlib.suppress(TimeoutError, ConnectionError):
        while sent < len(data):
            sent += sock.send(data[sent : sent + MEGABYTE])
    return sent


def test_large_requests_that_were_only_announced(
    running: BrokerProcess, sockets: list[socket.socket], topic: str
) -> None:
    """Announcing 100 MB costs the broker nothing; whoever sends large requests in earnest is served soon."""
    with WireClient(running.port, timeout=20) as wire:
        assert create_topic(wire, topic) == 0
        before = resident_bytes(running.pid)
        for size in [ANNOUNCED_BYTES] * 10 + [10 * MEGABYTE] * 30:
            _connect(running, sockets).sendall(struct.pack(">i", size) + bytes(1_000))
        for number in range(5):
            assert produce(wire, topic, b"x" * 900_000) == (0, number)
        assert resident_bytes(running.pid) - before < 32 * MEGABYTE
    assert_quiet(running)


def test_many_requests_that_were_only_announced(
    running: BrokerProcess, sockets: list[socket.socket], topic: str
) -> None:
    """Announcing a quarter of a megabyte a thousand times costs a few kilobytes each time."""
    with WireClient(running.port, timeout=20) as wire:
        assert create_topic(wire, topic) == 0
        before = resident_bytes(running.pid)
        for _ in range(900):
            _connect(running, sockets).sendall(struct.pack(">i", 262_000) + b"x")
        assert produce(wire, topic, b"x") == (0, 0)
        assert resident_bytes(running.pid) - before < 24 * MEGABYTE
    assert_quiet(running)


def test_large_requests_that_never_end(running: BrokerProcess, sockets: list[socket.socket], topic: str) -> None:
    """Clients that send most of a large request and then stall take no more than the bound, nor keep others out."""
    with WireClient(running.port, timeout=30) as wire:
        assert create_topic(wire, topic) == 0
        before = resident_bytes(running.pid)
        for size in (ANNOUNCED_BYTES, ANNOUNCED_BYTES, 55 * MEGABYTE, ANNOUNCED_BYTES, ANNOUNCED_BYTES):
            part = struct.pack(">i", size) + bytes(size - MEGABYTE)
            _send_what_is_taken(_connect(running, sockets), part)
            assert resident_bytes(running.pid) - before < 300 * MEGABYTE
        for number in range(5):
            assert produce(wire, topic, b"x" * 900_000) == (0, number)
        for sock in sockets:
            sock.close()
        eventually(lambda: resident_bytes(running.pid) - before < 64 * MEGABYTE, "the memory is given back")
    assert_quiet(running)


def test_readers_that_never_read(running: BrokerProcess, sockets: list[socket.socket], topic: str) -> None:
    """A gigabyte of record data asked for and not read waits in files, not in memory."""
    with WireClient(running.port) as wire:
        assert create_topic(wire, topic) == 0
        for _ in range(50):
            assert produce(wire, topic, b"x" * 1_000_000).error_code == 0
        before = resident_bytes(running.pid)
        frame = request_frame("Fetch", 11, 1, fetch_fields(topic, 0, 0, max_bytes=50 * MEGABYTE))
        for _ in range(25):
            sock = _connect(running, sockets)
            sock.sendall((struct.pack(">i", len(frame)) + frame) * 3)
        for number in range(50, 60):
            assert produce(wire, topic, b"y" * 1_000) == (0, number)
        assert resident_bytes(running.pid) - before < 32 * MEGABYTE
        size = 0
        while size < 3 * 50_000_000:
            size += len(sockets[7].recv(MEGABYTE))
    assert_quiet(running)


def test_requests_without_end_and_no_answer_read(
    running: BrokerProcess, sockets: list[socket.socket], topic: str
) -> None:
    """Who sends on and on and reads nothing is stopped by TCP, not by memory; when he reads, all answers are there."""
    with WireClient(running.port) as wire:
        assert create_topic(wire, topic, 50) == 0
        before = resident_bytes(running.pid)
        names = [{"name": topic}] * 30
        requests = b"".join(
            struct.pack(">i", len(frame)) + frame
            for frame in (request_frame("Metadata", 4, number, {"topics": names}) for number in range(20_000))
        )
        sock = _connect(running, sockets)
        sent = _send_what_is_taken(sock, requests)
        assert sent < len(requests)
        assert produce(wire, topic, b"x") == (0, 0)
        assert resident_bytes(running.pid) - before < 32 * MEGABYTE
        sock.settimeout(10)
        sock.shutdown(socket.SHUT_WR)
        with sock.makefile("rb") as answers:
            for number in range(1_000):
                size, correlation_id = struct.unpack(">ii", answers.read(8))
                assert correlation_id == number
                answers.read(size - 4)
    assert_quiet(running)


def test_all_descriptors_are_taken(running: BrokerProcess, sockets: list[socket.socket], topic: str) -> None:
    """With no descriptor left, those who are connected are served as far as possible; later all is as before."""
    new = topic + "-new"
    with WireClient(running.port) as wire:
        assert create_topic(wire, topic, 2) == 0
        assert produce(wire, topic, b"0") == (0, 0)
        # the broker has just begun: without descriptors it could not open the modules of a request that nobody made yet
        assert fetch(wire, topic, 0)["error_code"] == 0
        resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (256, 256))
        for _ in range(300):
            _connect(running, sockets)
        eventually(lambda: "cannot accept connections" in running.log, "the broker says so")
        assert open_descriptors(running.pid) <= 256
        assert produce(wire, topic, b"1") == (0, 1)
        assert fetch(wire, topic, 0)["error_code"] == 0
        created = create_topic(wire, new, 3)
        assert created in (0, STORAGE_ERROR)
        for sock in sockets:
            sock.close()
        eventually(lambda: open_descriptors(running.pid) < 100, "the descriptors come back")
        if created:
            assert create_topic(wire, new, 3) == 0
        for partition in range(3):
            eventually(
                lambda partition=partition: produce(wire, new, b"x", partition=partition).error_code == 0,  # type: ignore[misc]
                "the new topic is served",
            )
    with WireClient(running.port) as late:
        assert [value for _, value in read_all(late, topic)] == [b"0", b"1"]
    assert running.stop() == 0
    assert_quiet(running)


def test_a_batch_byte_by_byte(running: BrokerProcess, topic: str) -> None:
    """Senders of single bytes are slow, and served: each of twenty batches arrives whole, once."""
    batch = build_batch([Record(None, b"slow")])
    with WireClient(running.port) as wire, contextlib.ExitStack() as stack:
        assert create_topic(wire, topic) == 0
        assert produce(wire, topic, b"first") == (0, 0)
        senders = [stack.enter_context(WireClient(running.port)) for _ in range(20)]
        fields = {"acks": -1, "timeout_ms": 5_000}
        data = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
        frame = request_frame("Produce", 9, 1, {**fields, "topic_data": data})
        for byte in struct.pack(">i", len(frame)) + frame:
            for sender in senders:
                sender.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sender.send_bytes(bytes([byte]))
        for sender in senders:
            sender.receive_frame()
        assert [value for _, value in read_all(wire, topic)] == [b"first", *[b"slow"] * 20]
        send_batch(wire, topic, batch, acks=0)
        eventually(lambda: len(read_all(wire, topic)) == 22, "acks=0 is appended, too")
    assert_quiet(running)
