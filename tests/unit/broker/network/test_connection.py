"""A connection on a real socket pair: order, parking, slow readers, hostile peers, file regions."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from struct import pack, unpack

import pytest

from odradek.broker.network.connection import ClientConnection, ConnectionServices
from odradek.broker.network.receiving import ReceiveBuffers
from odradek.broker.network.transport import PlainTransport
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import (
    CloseConnectionError,
    FileRegion,
    HandOver,
    LastAnswer,
    Response,
    Throttled,
)
from tests.unit.broker.network.opened_file import OpenedFile

MIB = 1024 * 1024


class Peer:
    """The client's end and what the broker's end does with a frame."""

    def __init__(self, memory_bytes: int = 400 * MIB) -> None:
        self.starved: list[bool] = []
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.theirs.setblocking(False)
        self.answers: Callable[[bytes], Response | Deferred[Response]] = lambda frame: b"re:" + frame
        self.seen: list[bytes] = []
        self.closed: list[ClientConnection] = []
        self.loop = asyncio.get_running_loop()
        self.threads = ThreadPoolExecutor(1)
        self.memory = RequestMemory(memory_bytes, self.loop.call_soon)
        buffers = ReceiveBuffers(self.memory)
        shared = ConnectionServices(
            buffers, 100 * MIB, self.threads, self.closed.append, lambda: self.starved.append(True)
        )
        context = RequestContext("client:1", "client", "PLAINTEXT", "127.0.0.1", 9092)
        self.connection = ClientConnection(self.loop, PlainTransport(self.ours), context, self._handle, shared)
        self.connection.start()

    def _handle(self, _context: RequestContext, frame: memoryview) -> Response | Deferred[Response]:
        body = bytes(frame)
        self.seen.append(body)
        return self.answers(body)

    async def send(self, *bodies: bytes) -> None:
        await self.loop.sock_sendall(self.theirs, b"".join(pack(">i", len(body)) + body for body in bodies))

    async def receive(self) -> bytes:
        (size,) = unpack(">i", await self._exactly(4))
        return await self._exactly(size)

    async def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = await asyncio.wait_for(self.loop.sock_recv(self.theirs, size - len(data)), 10)
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0)

    def close(self) -> None:
        self.connection.close()
        self.theirs.close()
        self.threads.shutdown()


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    peer = Peer()
    yield peer
    peer.close()


async def test_pipelined_requests_are_answered_in_order(peer: Peer) -> None:
    """Answers come back in the order of the requests, also for more than one turn of them."""
    requests = [b"%d" % i for i in range(1000)]
    await peer.send(*requests)
    assert [await peer.receive() for _ in requests] == [b"re:" + request for request in requests]


async def test_requests_behind_a_parked_one_wait_for_it(peer: Peer) -> None:
    """One request at a time per connection: the next is not even looked at."""
    promise: Deferred[Response] = Deferred()
    peer.answers = lambda frame: promise if frame == b"park" else b"re:" + frame
    await peer.send(b"park", b"after")
    await peer.until(lambda: peer.connection.is_busy)
    await peer.send(b"later")
    assert peer.seen == [b"park"]
    promise.resolve(b"parked answer")
    assert [await peer.receive() for _ in range(3)] == [b"parked answer", b"re:after", b"re:later"]


async def test_a_client_that_leaves_while_parked_cancels_its_request(peer: Peer) -> None:
    """A long poll does not outlive its connection."""
    left: list[bool] = []
    promise: Deferred[Response] = Deferred(lambda: left.append(True))
    peer.answers = lambda _: promise
    await peer.send(b"park")
    await peer.until(lambda: peer.connection.is_busy)
    peer.theirs.close()
    await peer.until(lambda: bool(left))
    assert peer.closed == [peer.connection]
    promise.resolve(b"too late")


async def test_no_answer_means_no_bytes(peer: Peer) -> None:
    """acks=0: the connection goes on with the next request."""
    peer.answers = lambda frame: None if frame == b"quiet" else b"loud"
    await peer.send(b"quiet", b"x")
    assert await peer.receive() == b"loud"


async def test_file_regions_arrive_between_bytes(peer: Peer, tmp_path: Path) -> None:
    """Bytes and file regions of one answer arrive in order and complete, large and small ones."""
    content = os.urandom(3 * MIB)
    (tmp_path / "data").write_bytes(content)
    opened = OpenedFile(tmp_path / "data")
    peer.answers = lambda _: [
        b"head",
        FileRegion(opened, 10, 2 * MIB),
        b"middle",
        FileRegion(opened, 5, 7),
        b"tail",
    ]
    await peer.send(b"fetch")
    assert await peer.receive() == b"head" + content[10 : 10 + 2 * MIB] + b"middle" + content[5:12] + b"tail"


async def test_a_region_of_a_deleted_file_is_still_sent(peer: Peer, tmp_path: Path) -> None:
    """Retention may delete a segment while a client reads it: the answer arrives whole."""
    content = os.urandom(8 * MIB)
    (tmp_path / "data").write_bytes(content)
    peer.answers = lambda _: [b"head", FileRegion(OpenedFile(tmp_path / "data"), 0, len(content))]
    await peer.send(b"fetch")
    await peer.until(lambda: bool(peer.seen))
    (tmp_path / "data").unlink()
    assert await peer.receive() == b"head" + content


async def test_a_region_beyond_the_end_of_its_file_closes_the_connection(peer: Peer, tmp_path: Path) -> None:
    """A response whose data is gone cannot be completed; the client sees a cut, never wrong bytes."""
    (tmp_path / "data").write_bytes(b"x" * MIB)
    peer.answers = lambda _: [b"head", FileRegion(OpenedFile(tmp_path / "data"), 0, 2 * MIB)]
    await peer.send(b"fetch")
    with pytest.raises(ConnectionError):
        await peer.receive()


async def test_a_client_that_does_not_read_is_not_read_either(peer: Peer) -> None:
    """Answers do not pile up: with the socket full, further requests are not worked on."""
    peer.answers = lambda _: b"x" * MIB
    for _ in range(40):
        await peer.send(b"more")
    await peer.until(lambda: peer.connection.is_busy)
    for _ in range(200):
        await asyncio.sleep(0)
    assert len(peer.seen) < 40
    for _ in range(40):
        assert len(await peer.receive()) == MIB


async def test_a_refused_request_ends_the_connection_after_the_answers_before_it(peer: Peer) -> None:
    """What was answered before arrives, then the connection closes."""

    def answers(frame: bytes) -> Response:
        if frame == b"bad":
            raise CloseConnectionError("it is bad")
        return b"fine"

    peer.answers = answers
    await peer.send(b"good", b"bad", b"never")
    assert await peer.receive() == b"fine"
    with pytest.raises(ConnectionError):
        await peer.receive()
    assert peer.seen == [b"good", b"bad"]


async def test_a_parked_request_may_end_in_closing(peer: Peer) -> None:
    """A handler that can only close says so also when it took its time."""
    promise: Deferred[Response] = Deferred()
    peer.answers = lambda _: promise
    await peer.send(b"park")
    await peer.until(lambda: peer.connection.is_busy)
    promise.resolve(CloseConnectionError("no place for an error"))
    with pytest.raises(ConnectionError):
        await peer.receive()


async def test_a_dribbling_sender_is_told_from_a_slow_start() -> None:
    """Within the grace nobody is slow; after it, only who sent less than the rate asks for."""
    peer = Peer()
    try:
        await peer.loop.sock_sendall(peer.theirs, pack(">i", 10 * MIB) + b"begin")
        await peer.until(lambda: peer.connection._frames.held_bytes > 0)
        now = peer.loop.time()
        assert not peer.connection.is_slow_sender(now + 1)
        assert peer.connection.is_slow_sender(now + 60)
        await peer.loop.sock_sendall(peer.theirs, bytes(10 * MIB - 5))
        assert await peer.receive() == b"re:begin" + bytes(10 * MIB - 5)
        assert not peer.connection.is_slow_sender(now + 60)
    finally:
        peer.close()


async def test_a_sender_that_stalls_is_found_however_fast_it_was() -> None:
    """Each stretch of time is judged alone: what arrived before it does not count."""
    peer = Peer()
    try:
        await peer.loop.sock_sendall(peer.theirs, pack(">i", 10 * MIB) + bytes(9 * MIB))
        await peer.until(lambda: peer.connection._frames.rest_bytes == 9 * MIB + 4)
        now = peer.loop.time()
        assert not peer.connection.is_slow_sender(now + 10)
        assert not peer.connection.is_slow_sender(now + 11)
        assert peer.connection.is_slow_sender(now + 20)
    finally:
        peer.close()


async def test_a_request_over_the_memory_limit_waits_and_says_so() -> None:
    """Reading pauses, the network is told, and it goes on when memory is given back."""
    peer = Peer(memory_bytes=MIB)
    try:
        peer.memory.hold(MIB)
        await peer.loop.sock_sendall(peer.theirs, pack(">i", MIB) + bytes(5_000))
        await peer.until(lambda: bool(peer.starved))
        assert peer.memory.is_short
        peer.memory.release(MIB)
        await peer.loop.sock_sendall(peer.theirs, bytes(MIB - 5_000))
        assert len(await peer.receive()) == MIB + 3
    finally:
        peer.close()


async def test_an_answer_that_is_not_read_counts_until_it_is(peer: Peer) -> None:
    """Unread answers are memory of the broker's, and nothing of them once the client has read, or is gone."""
    peer.answers = lambda _: bytes(8 * MIB)
    await peer.send(b"x")
    await peer.until(lambda: peer.memory.held_bytes > 0)
    assert peer.memory.held_bytes <= 8 * MIB + 4
    assert len(await peer.receive()) == 8 * MIB
    await peer.until(lambda: peer.memory.held_bytes == 0)
    await peer.send(b"x")
    await peer.until(lambda: peer.memory.held_bytes > 0)
    peer.connection.close()
    assert peer.memory.held_bytes == 0


async def test_a_handler_that_fails_ends_its_connection(peer: Peer) -> None:
    """An error that nobody foresaw leaves no client without an answer and without an end."""

    def fail(_body: bytes) -> Response:
        raise ZeroDivisionError

    peer.answers = fail
    await peer.send(b"x")
    with pytest.raises(ConnectionError):
        await peer.receive()
    assert peer.closed == [peer.connection]


async def test_a_throttled_client_is_answered_and_then_not_read_for_a_while(peer: Peer) -> None:
    """What it sends meanwhile waits, in order; nothing of it is looked at before the time is over."""
    peer.answers = lambda frame: Throttled(b"slow", 0.05) if frame == b"much" else b"re:" + frame
    await peer.send(b"first", b"much", b"after")
    assert [await peer.receive() for _ in range(2)] == [b"re:first", b"slow"]
    muted_at = peer.loop.time()
    await peer.send(b"later")
    assert peer.seen == [b"first", b"much"]
    assert not peer.connection.is_busy
    assert [await peer.receive() for _ in range(2)] == [b"re:after", b"re:later"]
    assert peer.loop.time() - muted_at >= 0.04


async def test_a_request_that_waited_mutes_too_and_one_without_an_answer(peer: Peer) -> None:
    """The time begins with the answer, or where there would be one."""
    promise: Deferred[Response] = Deferred()
    outcomes: dict[bytes, Response | Deferred[Response]] = {b"park": promise, b"acks=0": Throttled(None, 0.01)}
    peer.answers = lambda frame: outcomes.get(frame, b"re:" + frame)
    await peer.send(b"park", b"acks=0", b"after")
    await peer.until(lambda: peer.connection.is_busy)
    promise.resolve(Throttled(b"parked", 0.01))
    assert [await peer.receive() for _ in range(2)] == [b"parked", b"re:after"]


async def test_a_client_that_is_throttled_for_long_takes_no_more_than_the_socket_has(peer: Peer) -> None:
    """It sends on and on: TCP makes it wait, the broker keeps nothing."""
    peer.answers = lambda _: Throttled(b"wait", 1e12)
    await peer.send(b"x")
    assert await peer.receive() == b"wait"
    data = pack(">i", MIB) + bytes(MIB)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(peer.loop.sock_sendall(peer.theirs, data * 20), 0.05)
    assert peer.seen == [b"x"]
    assert peer.memory.held_bytes == 0
    assert peer.connection.waits_for_client, "so connections.max.idle.ms ends it"


async def test_a_throttled_client_does_not_keep_the_broker_from_stopping(peer: Peer) -> None:
    """Neither one that is muted, nor one whose last answer is on its way."""
    peer.answers = lambda _: Throttled(b"wait", 1e6)
    await peer.send(b"x")
    assert await peer.receive() == b"wait"
    peer.connection.finish()
    assert peer.closed == [peer.connection]
    other = Peer()
    promise: Deferred[Response] = Deferred()
    other.answers = lambda _: promise
    await other.send(b"x")
    await other.until(lambda: other.connection.is_busy)
    other.connection.finish()
    promise.resolve(Throttled(b"last", 1e6))
    assert await other.receive() == b"last"
    await other.until(lambda: bool(other.closed))
    other.close()


async def test_a_hand_over_lets_something_else_work_on_the_frames(peer: Peer) -> None:
    """From the next one on, also where that has arrived already; and frames may be as large as ever."""
    peer.connection.start(100)

    def after(_context: RequestContext, frame: memoryview) -> Response:
        return b"after:" + bytes(frame)

    peer.answers = lambda frame: HandOver(b"welcome", after) if frame == b"me" else b"before:" + frame
    await peer.send(b"who", b"me", b"x" * 50)
    assert [await peer.receive() for _ in range(3)] == [b"before:who", b"welcome", b"after:" + b"x" * 50]
    await peer.send(b"y" * 5000)
    assert await peer.receive() == b"after:" + b"y" * 5000


async def test_a_frame_that_is_too_large_for_a_stranger_ends_the_connection(peer: Peer) -> None:
    """With its size, before it has arrived."""
    peer.connection.start(100)
    await peer.loop.sock_sendall(peer.theirs, pack(">i", 101))
    await peer.until(lambda: bool(peer.closed))


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_last_answer_arrives_and_the_connection_ends(peer: Peer, is_late: bool) -> None:
    """What was sent behind the request is not answered, and does not take the answer away."""
    later: Deferred[Response] = Deferred()
    last = LastAnswer(b"no")
    peer.answers = lambda frame: later if is_late else last
    await peer.send(b"one", b"two", b"three" * 1000)
    if is_late:
        await peer.until(lambda: peer.connection.is_busy)
        later.resolve(last)
    assert await peer.receive() == b"no"
    with pytest.raises(ConnectionError):
        await peer.receive()
    assert peer.seen == [b"one"]
    assert peer.closed == [peer.connection]


async def test_a_client_that_leaves_before_its_last_answer_costs_nothing_more(peer: Peer) -> None:
    """What would have told it is cancelled."""
    left: list[bool] = []
    later: Deferred[Response] = Deferred(lambda: left.append(True))
    peer.answers = lambda _: later
    await peer.send(b"one")
    await peer.until(lambda: peer.connection.is_busy)
    peer.theirs.close()
    await peer.until(lambda: bool(peer.closed))
    assert left == [True]


async def test_without_a_last_answer_the_connection_just_ends(peer: Peer) -> None:
    """Tokens without a header have none."""
    peer.answers = lambda _: LastAnswer(None)
    await peer.send(b"one")
    await peer.until(lambda: bool(peer.closed))
