"""Clients that have not said who they are: they cost little, learn nothing, and change nothing for others."""

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.cluster.users_file import hashed, write_users
from odradek.protocol.scram import ScramMechanism
from tests.support.process import open_descriptors, resident_bytes
from tests.support.sasl_brokers import PLAIN_USERS, SaslBroker
from tests.support.scram_users import set_scram_password
from tests.support.waiting import eventually
from tests.support.wire import ConnectionClosedError, WireClient
from tests.support.wire.client import request_frame

MEGABYTE = 1 << 20
STRANGERS = int(os.environ.get("ODRADEK_STRANGERS", "2000"))
DELAY_S = 0.1
SLOW_S = 0.5
"""Nobody waits as long for an answer."""


@pytest.fixture(scope="module")
def sasl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslBroker]:
    """A broker with a file of users beside those of its settings, and Kafka's delay."""
    directory = tmp_path_factory.mktemp("sasl")
    users = directory / "users"
    write_users(users, {"hashed": hashed("hashed", "pw", ScramMechanism.SCRAM_SHA_512, 16384)})
    overrides = {
        "odradek.sasl.users.file": str(users),
        "connection.failed.authentication.delay.ms": str(round(DELAY_S * 1000)),
    }
    broker = SaslBroker(directory / "broker", is_kafka=False, overrides=overrides)
    try:
        broker.process.start()
        set_scram_password(broker.process.bootstrap, "carol", "pw", "SCRAM-SHA-256")
        yield broker
    finally:
        broker.process.discard()


def plain(broker: SaslBroker, user: str, password: str) -> object:
    """Log in by PLAIN; return the error code."""
    with WireClient(broker.sasl_port, timeout=30) as wire:
        wire.ask("SaslHandshake", 1, mechanism="PLAIN")
        return wire.ask("SaslAuthenticate", 2, auth_bytes=f"\0{user}\0{password}".encode())["error_code"]


def log_in(broker: SaslBroker) -> WireClient:
    """Return the connection of a user."""
    wire = WireClient(broker.sasl_port, timeout=30)
    wire.ask("SaslHandshake", 1, mechanism="PLAIN")
    token = f"\0alice\0{PLAIN_USERS['alice']}".encode()
    assert wire.ask("SaslAuthenticate", 2, auth_bytes=token)["error_code"] == 0
    return wire


@pytest.mark.parametrize("size", [16 * 1024 + 1, 100 * MEGABYTE, 2**31 - 1, -1])
@pytest.mark.parametrize("is_after_handshake", [False, True])
def test_a_stranger_may_not_announce_much(sasl: SaslBroker, size: int, is_after_handshake: bool) -> None:
    """The connection ends with the size; whoever is known sends as much as ever."""
    with WireClient(sasl.sasl_port) as wire:
        if is_after_handshake:
            wire.ask("SaslHandshake", 1, mechanism="PLAIN")
        wire.send_bytes(struct.pack(">i", size))
        assert wire.is_closed_by_peer()
    with log_in(sasl) as wire:
        wire.send_bytes(struct.pack(">i", 30 * MEGABYTE) + b"\0")
        wire.socket.settimeout(0.3)
        assert not wire.is_closed_by_peer()


def test_thousands_of_strangers_change_nothing_for_others(sasl: SaslBroker) -> None:
    """Some say nothing, some begin to log in and leave it at that, some send half a token. Memory stays small, users
    are served as before, and all that the strangers had is free once they are gone."""
    process = sasl.process
    with log_in(sasl) as wire:
        wire.ask("Metadata", 12, topics=[])
        before, descriptors = resident_bytes(process.pid), open_descriptors(process.pid)
        handshake = request_frame("SaslHandshake", 1, 1, {"mechanism": "SCRAM-SHA-256"})
        beginnings = [
            b"",
            struct.pack(">i", len(handshake)) + handshake,
            struct.pack(">i", len(handshake)) + handshake + struct.pack(">i", 16_000) + bytes(8_000),
        ]
        strangers = []
        try:
            for number in range(STRANGERS):
                sock = socket.create_connection(("127.0.0.1", sasl.sasl_port), 30)
                strangers.append(sock)
                sock.sendall(beginnings[number % 3])
            eventually(lambda: open_descriptors(process.pid) >= descriptors + STRANGERS, "all are in", 60)
            slowest = 0.0
            for _ in range(200):
                began = time.monotonic()
                wire.ask("Metadata", 12, topics=[])
                slowest = max(slowest, time.monotonic() - began)
            assert slowest < SLOW_S
            grown = resident_bytes(process.pid) - before
            assert grown < STRANGERS * 24 * 1024, f"{grown / STRANGERS:.0f} bytes for a stranger"
            with log_in(sasl):
                pass
        finally:
            for sock in strangers:
                sock.close()
    eventually(lambda: open_descriptors(process.pid) <= descriptors + 20, "all are gone", 60)


def test_guessing_passwords_is_slow(sasl: SaslBroker) -> None:
    """One connection has one guess, and hears of it after the delay."""
    began = time.monotonic()
    for number in range(5):
        assert plain(sasl, "alice", f"guess{number}") == 58
    assert time.monotonic() - began >= 5 * DELAY_S


def test_who_sends_on_after_a_wrong_guess_is_not_heard(sasl: SaslBroker) -> None:
    """The right password behind the wrong one lets nobody in."""
    with WireClient(sasl.sasl_port) as wire:
        wire.ask("SaslHandshake", 1, mechanism="PLAIN")
        right = f"\0alice\0{PLAIN_USERS['alice']}".encode()
        for token in (b"\0alice\0no", right, right):
            wire.send("SaslAuthenticate", 2, auth_bytes=token)
        wire.send("Metadata", 12, topics=[])
        frames = 0
        with contextlib.suppress(ConnectionClosedError):
            while frames < 5:
                wire.receive_frame()
                frames += 1
        assert frames == 1


def test_passwords_that_cost_time_hold_up_nobody(sasl: SaslBroker) -> None:
    """Hashes of a file take tens of milliseconds each, on threads: others are answered meanwhile."""
    stop = threading.Event()

    def attack() -> None:
        while not stop.is_set():
            plain(sasl, "hashed", "guess")

    attackers = [threading.Thread(target=attack) for _ in range(20)]
    for attacker in attackers:
        attacker.start()
    try:
        with log_in(sasl) as wire:
            times = []
            for _ in range(100):
                began = time.monotonic()
                wire.ask("Metadata", 12, topics=[])
                times.append(time.monotonic() - began)
        assert sorted(times)[len(times) // 2] < SLOW_S / 10
        assert plain(sasl, "hashed", "pw") == 0
    finally:
        stop.set()
        for attacker in attackers:
            attacker.join()


def test_a_user_and_a_stranger_take_the_same_time(sasl: SaslBroker) -> None:
    """Of the file or unknown: both cost a hash, so that time does not tell who is a user. Not a precise measurement:
    without the hash it would be nothing against tens of milliseconds."""

    def median(user: str) -> float:
        times = []
        for _ in range(7):
            began = time.monotonic()
            plain(sasl, user, "guess")
            times.append(time.monotonic() - began - DELAY_S)
        return sorted(times)[3]

    known, unknown, listed = median("hashed"), median("nobody"), median("alice")
    assert unknown > known / 4
    assert listed > known / 4


def test_users_of_the_file_follow_it(sasl: SaslBroker, tmp_path: Path) -> None:
    """A new user logs in without a restart; a file that is damaged leaves those that are known."""
    overrides = {"odradek.sasl.users.file": str(tmp_path / "users")}
    write_users(tmp_path / "users", {"a": hashed("a", "pw", ScramMechanism.SCRAM_SHA_256, 4096)})
    broker = SaslBroker(tmp_path / "broker", is_kafka=False, overrides=overrides)
    try:
        broker.process.start()
        assert plain(broker, "a", "pw") == 0
        assert plain(broker, "b", "pw") == 58
        users = {name: hashed(name, "pw", ScramMechanism.SCRAM_SHA_256, 4096) for name in "ab"}
        write_users(tmp_path / "users", users)
        assert plain(broker, "b", "pw") == 0
        (tmp_path / "users").write_text("damaged\n")
        assert plain(broker, "b", "pw") == 0
        assert "those known so far count" in broker.process.log
        write_users(tmp_path / "users", {"b": users["b"]})
        assert plain(broker, "a", "pw") == 58
    finally:
        broker.process.discard()
