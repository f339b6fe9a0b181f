"""Listeners on real sockets: who is accepted, who waits, who has to go."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from odradek.broker.network import listener
from odradek.broker.network.admission import ConnectionLimits, ListenerLimits
from odradek.broker.network.listener import Network, NetworkLimits
from odradek.broker.network.security import PLAINTEXT
from odradek.broker.runtime.request_memory import RequestMemory

MANY = 2**31 - 1
FRAME = b"\0\0\0\4ping"


class Listening:
    """A network that answers each frame with itself."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.loop = asyncio.get_running_loop()
        self.threads = ThreadPoolExecutor(1)
        network_limits = NetworkLimits(1 << 20, 600_000)
        memory = RequestMemory(1 << 24, self.loop.call_soon)
        self.network = Network(
            self.loop,
            network_limits,
            limits,
            lambda _context, frame: bytes(frame),
            self.threads,
            memory,
            {"PLAIN": PLAINTEXT, "INTERNAL": PLAINTEXT},
        )
        self.ports = {name: self.network.bind(name, "127.0.0.1", 0).port for name in ("PLAIN", "INTERNAL")}
        self.network.start()
        self.clients: list[socket.socket] = []

    async def connect(self, listener: str) -> socket.socket:
        """Connect and send a request."""
        client = socket.socket()
        self.clients.append(client)
        client.setblocking(False)
        await self.loop.sock_connect(client, ("127.0.0.1", self.ports[listener]))
        await self.loop.sock_sendall(client, FRAME)
        return client

    async def answer(self, client: socket.socket) -> bytes:
        """What comes back."""
        return await asyncio.wait_for(self.loop.sock_recv(client, 100), 10)

    async def is_ended(self, client: socket.socket) -> bool:
        """Whether the connection was ended without an answer."""
        try:
            return await self.answer(client) == b""
        except ConnectionError:
            return True

    async def is_kept_waiting(self, client: socket.socket) -> bool:
        """Whether nothing comes, while the network answers others."""
        for _ in range(20):
            await asyncio.sleep(0)
        try:
            client.recv(1)
        except BlockingIOError:
            return True
        return False

    def close(self) -> None:
        self.network.stop_accepting()
        self.network.close_connections()
        self.threads.shutdown()
        for client in self.clients:
            client.close()


@pytest.fixture
async def listen() -> AsyncIterator[Callable[[ConnectionLimits], Listening]]:
    made: list[Listening] = []

    def make(limits: ConnectionLimits) -> Listening:
        made.append(Listening(limits))
        return made[-1]

    yield make
    for one in made:
        one.close()


Listen = Callable[[ConnectionLimits], Listening]


class EverySecond:
    """Lets every second connection in, and keeps the others for a moment."""

    def __init__(self) -> None:
        self.came = 0

    def throttle_ms(self, address: str) -> int:
        assert address == "127.0.0.1"
        self.came += 1
        return 0 if self.came % 2 else 30


class Never:
    """Lets nobody in."""

    def throttle_ms(self, address: str) -> int:
        return 1_000_000


async def test_who_comes_too_fast_is_kept_silent_and_then_cut_off(listen: Listen) -> None:
    """As in Kafka (KIP-612); without a limit everybody is let in again."""
    listening = listen(ConnectionLimits(ListenerLimits(MANY, MANY), MANY))
    listening.network.limit_connection_rates(EverySecond())
    first, second = await listening.connect("PLAIN"), await listening.connect("PLAIN")
    assert await listening.answer(first) == FRAME
    assert await listening.is_kept_waiting(second)
    assert await listening.is_ended(second)
    listening.network.limit_connection_rates(None)
    for _ in range(3):
        assert await listening.answer(await listening.connect("PLAIN")) == FRAME


async def test_those_who_are_kept_are_few_and_end_with_the_network(
    listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes a descriptor."""
    monkeypatch.setattr(listener, "MOST_HELD_BACK", 1)
    listening = listen(ConnectionLimits(ListenerLimits(MANY, MANY), MANY))
    listening.network.limit_connection_rates(Never())
    kept = await listening.connect("PLAIN")
    assert await listening.is_kept_waiting(kept)
    assert await listening.is_ended(await listening.connect("PLAIN"))
    assert await listening.is_kept_waiting(kept)
    listening.network.close_connections()
    assert await listening.is_ended(kept)


async def test_who_is_too_much_for_a_listener_is_served_when_another_leaves(listen: Listen) -> None:
    """As in Kafka: neither refused nor answered before; another listener serves meanwhile."""
    net = listen(ConnectionLimits(ListenerLimits(MANY, MANY), MANY, {}, {"PLAIN": ListenerLimits(1, MANY)}))
    first = await net.connect("PLAIN")
    assert await net.answer(first) == FRAME
    second = await net.connect("PLAIN")
    other = await net.connect("INTERNAL")
    assert await net.answer(other) == FRAME
    assert await net.is_kept_waiting(second)
    first.close()
    assert await net.answer(second) == FRAME


async def test_higher_limits_let_those_in_who_wait(listen: Listen) -> None:
    """A limit that is raised while the broker runs helps at once."""
    net = listen(ConnectionLimits(ListenerLimits(1, MANY), MANY))
    assert await net.answer(await net.connect("PLAIN")) == FRAME
    second = await net.connect("PLAIN")
    assert await net.is_kept_waiting(second)
    net.network.change_limits(ConnectionLimits(ListenerLimits(2, MANY), MANY))
    assert await net.answer(second) == FRAME


async def test_the_least_active_client_makes_room_for_another_broker(listen: Listen) -> None:
    """Over max.connections a connection on the listener between brokers costs one of another listener."""
    net = listen(ConnectionLimits(ListenerLimits(2, MANY), MANY, {}, {}, inter_broker_listener="INTERNAL"))
    idle, busy = await net.connect("PLAIN"), await net.connect("PLAIN")
    assert await net.answer(idle) == FRAME
    assert await net.answer(busy) == FRAME
    before = net.loop.time()
    while net.loop.time() == before:
        await asyncio.sleep(0)
    await net.loop.sock_sendall(busy, FRAME)
    assert await net.answer(busy) == FRAME
    broker = await net.connect("INTERNAL")
    assert await net.answer(broker) == FRAME
    assert await net.answer(idle) == b""
    await net.loop.sock_sendall(busy, FRAME)
    assert await net.answer(busy) == FRAME
