"""Clients of a TLS listener that mean harm: they stall, flood, send garbage and ask for more than there is."""

from __future__ import annotations

import os
import random
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import BrokerFactory
from tests.fault.talk import MEGABYTE, create_topic, fetch_fields, produce
from tests.support.broker import BrokerProcess
from tests.support.certificates import LOCAL, Authority, client_context
from tests.support.ports import free_ports
from tests.support.process import resident_bytes
from tests.support.waiting import eventually
from tests.support.wire import WireClient
from tests.support.wire.client import request_frame

AUTHORITY = Authority()
SERVER = AUTHORITY.issue("CN=localhost", LOCAL)
WAIT_S = 60
MANY = int(os.environ.get("ODRADEK_STRANGERS", "500"))
SLOW_S = 0.5
"""Nobody waits as long for an answer."""


class Target:
    """A broker with a TLS listener beside its plain one."""

    def __init__(self, broker: BrokerProcess, port: int, directory: Path) -> None:
        self.broker = broker
        self.port = port
        self.directory = directory
        self.context = client_context(AUTHORITY, directory)

    def connect(self) -> socket.socket:
        """Connect, and say nothing."""
        return socket.create_connection(("127.0.0.1", self.port), WAIT_S)

    def tls(self) -> ssl.SSLSocket:
        """Connect and do the handshake."""
        return self.context.wrap_socket(self.connect(), server_hostname="localhost")

    def hello(self) -> bytes:
        """The first message of a handshake."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        with suppress(ssl.SSLWantReadError):
            self.context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
        return outgoing.read()

    def slowest_answer_s(self, seconds: float) -> float:
        """How long somebody at the plain listener waits at the most, for so long."""
        slowest, end = 0.0, time.monotonic() + seconds
        with WireClient(self.broker.port, timeout=WAIT_S) as wire:
            while time.monotonic() < end:
                began = time.monotonic()
                wire.ask("ApiVersions", 0)
                slowest = max(slowest, time.monotonic() - began)
        return slowest

    def assert_serves(self) -> None:
        """A client that behaves is let in, and nothing unforeseen is in the log."""
        with self.tls() as client:
            assert client.version() == "TLSv1.3"
        assert "Traceback" not in self.broker.log, self.broker.log


@pytest.fixture
def target(new_broker: BrokerFactory, tmp_path: Path) -> Target:
    plain, port = free_ports(2)
    broker = new_broker(
        {
            "listeners": f"PLAINTEXT://127.0.0.1:{plain},SSL://127.0.0.1:{port}",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": SERVER.write(tmp_path / "tls", "server"),
        }
    )
    broker.port = plain
    broker.start()
    return Target(broker, port, tmp_path / "tls")


@pytest.fixture
def sockets() -> Iterator[list[socket.socket]]:
    """Connections that are closed after the test."""
    opened: list[socket.socket] = []
    yield opened
    for sock in opened:
        sock.close()


@pytest.mark.parametrize(("begin", "kilobytes"), [("nothing", 8), ("half", 100), ("hello", 100)])
def test_handshakes_that_stall(target: Target, sockets: list[socket.socket], begin: str, kilobytes: int) -> None:
    """Those who say nothing cost next to nothing, those in the middle of a handshake little; others are served."""
    hello = target.hello()
    sent = {"nothing": b"", "half": hello[: len(hello) // 2], "hello": hello}[begin]
    before = resident_bytes(target.broker.pid)
    for _ in range(MANY):
        sockets.append(target.connect())
        sockets[-1].sendall(sent)
    assert target.slowest_answer_s(0.2) < SLOW_S
    target.assert_serves()
    assert resident_bytes(target.broker.pid) - before < MANY * kilobytes * 1024 + 8 * MEGABYTE


def test_those_who_stall_are_closed(target: Target, sockets: list[socket.socket]) -> None:
    """After ten seconds."""
    sockets.extend(target.connect() for _ in range(20))
    assert all(sock.recv(1) == b"" for sock in sockets)
    eventually(lambda: "no TLS handshake within 10 s" in target.broker.log, "the log says so", WAIT_S)


def test_a_flood_of_handshakes_holds_nobody_up(target: Target) -> None:
    """As many as this machine can make: who is connected goes on being answered at once."""
    end = time.monotonic() + 4
    done = [0, 0]

    def flood(number: int) -> None:
        while time.monotonic() < end:
            with suppress(OSError):
                target.tls().close()
                done[number] += 1

    threads = [threading.Thread(target=flood, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    slowest = target.slowest_answer_s(3)
    for thread in threads:
        thread.join()
    assert sum(done) > 100
    assert slowest < SLOW_S
    target.assert_serves()


def test_noise_instead_of_a_handshake(target: Target) -> None:
    """Records that are none, hellos that are damaged, what is much too long: closed, and nothing else."""
    source, hello = random.Random(5), target.hello()
    for number in range(300):
        data = bytearray(hello)
        if number % 3 == 0:
            data = bytearray(b"\x16\x03\x01" + source.randbytes(source.randrange(1, 40_000)))
        else:
            for _ in range(source.randrange(1, 8)):
                data[source.randrange(len(data))] = source.randrange(256)
        with target.connect() as sock, suppress(OSError):
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(4096):
                pass
    target.assert_serves()


def test_damaged_records_end_their_connection_alone(target: Target) -> None:
    """Bytes changed under way, after the handshake: a record that cannot be decrypted is the end."""
    for _ in range(20):
        client = target.tls()
        with socket.socket(fileno=client.detach()) as plain, suppress(OSError):
            plain.sendall(b"\x17\x03\x03\x00\x20" + b"x" * 32)
            while plain.recv(4096):
                pass
    target.assert_serves()


def test_who_does_not_read_holds_no_memory(target: Target, sockets: list[socket.socket]) -> None:
    """Megabytes were asked for by many and are not fetched: they are encrypted when somebody takes them."""
    with WireClient(target.broker.port, timeout=WAIT_S) as wire:
        assert create_topic(wire, "t") == 0
        for number in range(40):
            assert produce(wire, "t", b"x" * 900_000) == (0, number)
    body = request_frame("Fetch", 11, 1, fetch_fields("t", 0, 0, max_bytes=50 * MEGABYTE))
    frame = struct.pack(">i", len(body)) + body
    before = resident_bytes(target.broker.pid)
    for _ in range(50):
        sockets.append(target.tls())
        sockets[-1].sendall(frame)
    target.assert_serves()
    assert resident_bytes(target.broker.pid) - before < 48 * MEGABYTE


@pytest.mark.parametrize(("version", "command"), [("-tls1_2", "R"), ("-tls1_3", "K")])
def test_new_handshakes_and_keys_are_not_to_be_had_for_nothing(target: Target, version: str, command: str) -> None:
    """Renegotiation is refused; a client that asks for new keys again and again holds nobody up."""
    openssl = ["openssl", "s_client", "-connect", f"127.0.0.1:{target.port}", version]
    process = subprocess.Popen(openssl, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    try:
        for _ in range(30):
            with suppress(OSError):
                process.stdin.write(f"{command}\n".encode())
                process.stdin.flush()
            assert target.slowest_answer_s(0.02) < SLOW_S
    finally:
        process.kill()
        process.communicate()
    target.assert_serves()
