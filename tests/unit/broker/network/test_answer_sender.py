"""Answers on their way to a client: what the socket does not take, and what is not in the page cache."""

import asyncio
import gc
import socket
import weakref
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from odradek.broker.network import answer_sender
from odradek.broker.network.answer_sender import AnswerSender
from odradek.broker.network.transport import PlainTransport
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import FileRegion
from tests.unit.broker.network.opened_file import OpenedFile

MIB = 1024 * 1024


class Connection:
    """A connection that sends and does nothing else, with the client's end of it."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        ours, self.client = socket.socketpair()
        ours.setblocking(False)
        self.client.setblocking(False)
        self.ours = ours
        self.threads = ThreadPoolExecutor(1)
        self.memory = RequestMemory(400 * MIB, self.loop.call_soon)
        self.sender = AnswerSender(self.loop, PlainTransport(ours), self.memory, self.threads, self)
        self.advanced: list[bool] = []
        self.reasons: list[str | None] = []

    def advance(self, has_read: bool = False) -> None:
        self.advanced.append(has_read)
        self.sender.flush()

    def close(self, reason: str | None = None) -> None:
        self.reasons.append(reason)
        self.sender.close()
        self.ours.close()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0)

    async def received(self, size: int) -> bytes:
        data = bytearray()
        async with asyncio.timeout(10):
            while len(data) < size:
                more = await self.loop.sock_recv(self.client, size - len(data))
                assert more, "closed"
                data += more
        return bytes(data)


@pytest.fixture
async def connection() -> AsyncIterator[Connection]:
    """A connection to whose client everything can be sent."""
    made = Connection()
    yield made
    made.close()
    made.client.close()
    made.threads.shutdown()


@pytest.fixture
def region(tmp_path: Path) -> FileRegion:
    """A region that the tests take for one that is not in the page cache."""
    (tmp_path / "data").write_bytes(bytes(range(256)) * 16)
    return FileRegion(OpenedFile(tmp_path / "data"), 0, 4096)


async def test_what_the_socket_takes_is_gone_at_once(connection: Connection) -> None:
    """Nothing is queued, counted or waited for."""
    connection.sender.send(b"answer")
    assert not connection.sender.queue.pieces
    assert await connection.received(6) == b"answer"
    assert connection.memory.held_bytes == 0
    assert connection.advanced == []


async def test_the_rest_waits_in_order_and_counts_until_it_is_read(connection: Connection) -> None:
    """The connection hears that its client reads."""
    connection.sender.send(bytes(8 * MIB))
    connection.sender.send(b"behind")
    connection.sender.flush()
    left = connection.sender.queue.held_bytes
    assert 0 < left <= 8 * MIB + 6
    assert connection.memory.uses["answers"] == left
    assert await connection.received(8 * MIB + 6) == bytes(8 * MIB) + b"behind"
    assert connection.memory.held_bytes == 0
    assert connection.advanced
    assert all(connection.advanced)


async def test_a_cold_region_is_read_on_a_thread_before_it_is_sent(
    connection: Connection, region: FileRegion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is behind it waits, too, and afterwards nobody asks again whether it is cold: it must go on."""
    read, may_read = list[FileRegion](), Event()

    def read_through(wanted: FileRegion) -> None:
        assert may_read.wait(10)
        read.append(wanted)

    monkeypatch.setattr(answer_sender, "is_cold", lambda _: True)
    monkeypatch.setattr(answer_sender, "read_through", read_through)
    connection.sender.queue.add([region, b"tail"])
    connection.sender.flush()
    connection.sender.flush()
    assert connection.sender.is_warming
    assert len(connection.sender.queue.pieces) == 2
    may_read.set()
    assert await connection.received(4100) == bytes(range(256)) * 16 + b"tail"
    assert read == [region]
    assert connection.advanced == [False], "the disk is no sign of the client"


async def test_a_connection_that_ends_while_the_disk_is_waited_for_hears_nothing(
    connection: Connection, region: FileRegion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread ends its work, the file is let go, and nothing is sent any more."""
    may_read = Event()
    monkeypatch.setattr(answer_sender, "is_cold", lambda _: True)
    monkeypatch.setattr(answer_sender, "read_through", lambda _: may_read.wait(10))
    connection.sender.queue.add([region])
    connection.sender.flush()
    connection.close("it left")
    assert not connection.sender.queue.pieces
    may_read.set()
    await connection.until(lambda: not connection.sender.is_warming)
    assert connection.advanced == []
    assert connection.reasons == ["it left"]


@pytest.mark.parametrize("is_queued", [False, True])
async def test_a_broken_connection_ends_with_the_reason(connection: Connection, is_queued: bool) -> None:
    """Once, however often something is sent after that."""
    connection.client.close()
    for _ in range(2):
        if is_queued:
            connection.sender.queue.add_answer(b"answer")
        else:
            connection.sender.send(b"answer")
        connection.sender.flush()
    [reason] = connection.reasons
    assert reason is not None
    assert reason.startswith("sending failed: ")


async def test_a_file_that_ends_too_early_ends_the_connection(connection: Connection, region: FileRegion) -> None:
    """The answer cannot be completed, and its client must not take other bytes for it."""
    connection.sender.queue.add([region._replace(length=5000)])
    connection.sender.flush()
    assert await connection.received(4096) == bytes(range(256)) * 16
    await connection.until(lambda: bool(connection.reasons))
    assert connection.reasons == ["sending failed: a file ended at byte 4096, 904 bytes short of the response"]


async def test_a_connection_that_ended_is_no_circle() -> None:
    """It goes without a look for garbage, of which a broker with many clients would need more otherwise."""
    gone = Connection()
    gone.sender.send(bytes(8 * MIB))
    gone.sender.flush()
    gc.disable()
    try:
        gone.close()
        gone.client.close()
        gone.threads.shutdown()
        released: Callable[[], object] = weakref.ref(gone)
        del gone
        assert released() is None
    finally:
        gc.enable()
