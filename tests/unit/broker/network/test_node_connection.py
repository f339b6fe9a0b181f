"""A connection to another node: requests out, answers in, and what becomes of them when it breaks."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from struct import pack, unpack_from

import pytest

from odradek.broker.network.node_connection import NodeConnectionOptions, SocketConnection, SocketConnector
from odradek.broker.network.receiving import FrameReader, ReceiveBuffers
from odradek.broker.network.transport import Transport
from odradek.broker.nodes.requests import Disconnected, NodeAddress
from odradek.broker.runtime.disk_threads import InPlace
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.headers import decode_request_header
from odradek.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from odradek.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from odradek.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.registry import ApiKey

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

VERSIONS = [
    ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=0, max_version=4),
    ApiVersion(api_key=ApiKey.HEARTBEAT, min_version=0, max_version=3),
    ApiVersion(api_key=ApiKey.DESCRIBE_CLUSTER, min_version=0, max_version=99),
]
REQUEST = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


async def read_request(reader: asyncio.StreamReader) -> tuple[int, int, int, bytes]:
    """Return API, version and correlation id of the next request, and its body."""
    (size,) = unpack_from(">i", await reader.readexactly(4))
    frame = await reader.readexactly(size)
    header, start = decode_request_header(frame)
    return header.api_key, header.api_version, header.correlation_id, frame[start:]


def answer(writer: asyncio.StreamWriter, correlation_id: int, body: bytes, tagged: bool = False) -> None:
    """Write an answer, with the empty tags of a flexible header if it has one."""
    frame = pack(">i", correlation_id) + (b"\0" if tagged else b"") + body
    writer.write(pack(">i", len(frame)) + frame)


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the first request, which asks for the versions."""
    key, version, correlation_id, _ = await read_request(reader)
    assert (key, version) == (ApiKey.API_VERSIONS, 3)
    answer(writer, correlation_id, encode(ApiVersionsResponse(api_keys=VERSIONS), 3))


async def serve_heartbeats(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every Heartbeat with its generation as the throttle time."""
    await greet(reader, writer)
    while True:
        try:
            _, version, correlation_id, body = await read_request(reader)
        except asyncio.IncompleteReadError:
            return
        asked = decode(HeartbeatRequest, body, version)[0]
        answer(writer, correlation_id, encode(HeartbeatResponse(throttle_time_ms=asked.generation_id), version))


@asynccontextmanager
async def connection_to(
    peer: Peer, max_answer_bytes: int = 10_000, memory: RequestMemory | None = None
) -> AsyncIterator[SocketConnection]:
    """Yield a connection to a node that behaves as `peer` does with each client."""
    served: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(current := asyncio.current_task())  # type: ignore[arg-type]  # it is the task of this call
        assert current is not None
        try:
            await peer(reader, writer)
        finally:
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = NodeAddress("127.0.0.1", server.sockets[0].getsockname()[1])
    connection = new_connection(address, max_answer_bytes, memory)
    try:
        yield connection
    finally:
        connection.close()
        server.close()
        await asyncio.gather(*served)


def new_connection(
    address: NodeAddress, max_answer_bytes: int = 10_000, memory: RequestMemory | None = None
) -> SocketConnection:
    loop = asyncio.get_running_loop()
    buffers = ReceiveBuffers(memory or RequestMemory(1 << 20, loop.call_soon))
    return SocketConnector(NodeConnectionOptions(loop, buffers, InPlace(), max_answer_bytes)).connect(address, "7")


def reads_counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return what tells how often connections have been read from since."""
    reads = 0
    receive = FrameReader.receive

    def counted(self: FrameReader, transport: Transport) -> int:
        nonlocal reads
        reads += 1
        return receive(self, transport)

    monkeypatch.setattr(FrameReader, "receive", counted)
    return lambda: reads


def large_answer(name_bytes: int, count: int) -> DescribeClusterResponse:
    """Return an answer with so many names of hosts of so many bytes."""
    brokers = [DescribeClusterBroker(broker_id=number, host="x" * name_bytes) for number in range(count)]
    return DescribeClusterResponse(brokers=brokers)


async def ask(connection: SocketConnection, request: Message = REQUEST, timeout_s: float = 30) -> object:
    return await connection.send(request, timeout_s)


async def test_answers_come_to_those_who_asked_in_order() -> None:
    async with connection_to(serve_heartbeats) as connection:
        requests = [HeartbeatRequest(generation_id=number) for number in range(40)]
        answers = await asyncio.gather(*(ask(connection, request) for request in requests))
    assert [one.throttle_time_ms for one in answers] == list(range(40))  # type: ignore[attr-defined]


async def test_a_request_has_the_newest_version_that_both_know_or_an_older_one_that_is_asked_for() -> None:
    versions: list[int] = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        for _ in range(2):
            _, version, correlation_id, _ = await read_request(reader)
            versions.append(version)
            answer(writer, correlation_id, encode(HeartbeatResponse(), version))

    async with connection_to(peer) as connection:
        await connection.send(REQUEST, 30)
        await connection.send(REQUEST, 30, version=1)
    assert versions == [3, 1]


async def test_the_tags_in_the_header_of_an_answer_are_passed_over() -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        _, version, correlation_id, _ = await read_request(reader)
        answer(writer, correlation_id, encode(DescribeClusterResponse(cluster_id="c"), version), tagged=True)

    async with connection_to(peer) as connection:
        found = await ask(connection, DescribeClusterRequest())
    assert isinstance(found, DescribeClusterResponse)
    assert found.cluster_id == "c"


async def test_a_large_answer_is_read_once_much_of_it_is_there_and_a_small_one_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A megabyte comes in dozens of pieces: a look at each of them costs more than the bytes."""
    reads, piece_bytes, pieces = reads_counted(monkeypatch), 30_000, 100

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        _, version, correlation_id, _ = await read_request(reader)
        body = encode(large_answer(piece_bytes, pieces), version)
        frame = pack(">i", correlation_id) + b"\0" + body
        frame = pack(">i", len(frame)) + frame
        for begin in range(0, len(frame), piece_bytes):
            writer.write(frame[begin : begin + piece_bytes])
            await writer.drain()
            await asyncio.sleep(0)
        _, version, correlation_id, _ = await read_request(reader)
        answer(writer, correlation_id, encode(HeartbeatResponse(throttle_time_ms=7), version))

    async with connection_to(peer, 1 << 24) as connection:
        large = await ask(connection, DescribeClusterRequest(), 30.0)
        reads_of_large = reads()
        small = await ask(connection, timeout_s=30.0)
    assert isinstance(large, DescribeClusterResponse)
    assert [len(one.host) for one in large.brokers] == [piece_bytes] * pieces
    assert reads_of_large < pieces / 3
    assert isinstance(small, HeartbeatResponse)


async def test_answers_that_are_cut_anywhere_are_taken_as_soon_as_they_are_whole() -> None:
    """Nothing more is waited for than the rest of the answer: nothing may follow it."""
    cuts = (1, 3, 4, 5, 9, 11)

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        for cut in cuts:
            _, version, correlation_id, _ = await read_request(reader)
            frame = pack(">i", correlation_id) + encode(HeartbeatResponse(throttle_time_ms=cut), version)
            frame = pack(">i", len(frame)) + frame
            writer.write(frame[:cut])
            await writer.drain()
            for _ in range(3):
                await asyncio.sleep(0)  # so that it is read
            writer.write(frame[cut:])

    async with connection_to(peer) as connection:
        answers = [await ask(connection, timeout_s=5.0) for _ in cuts]
    assert [one.throttle_time_ms for one in answers if isinstance(one, HeartbeatResponse)] == list(cuts)


async def test_an_answer_for_which_there_is_no_memory_is_not_looked_at_until_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rest of it stays with the kernel, and the event loop turns for others."""
    reads, size, count = reads_counted(monkeypatch), 30_000, 10
    memory = RequestMemory(1 << 20, asyncio.get_running_loop().call_soon)

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        _, version, correlation_id, _ = await read_request(reader)
        answer(writer, correlation_id, encode(large_answer(size, count), version), tagged=True)

    async with connection_to(peer, 1 << 20, memory) as connection:
        memory.hold(1 << 20)
        asked = asyncio.ensure_future(ask(connection, DescribeClusterRequest()))
        while not memory.waiting:
            await asyncio.sleep(0)
        reads_before = reads()
        for _ in range(100):
            await asyncio.sleep(0)
        assert reads() == reads_before
        memory.release(1 << 20)
        told = await asked
    assert isinstance(told, DescribeClusterResponse)
    assert [len(one.host) for one in told.brokers] == [size] * count


async def test_the_end_of_a_connection_within_a_large_answer_is_noticed_at_once() -> None:
    """Though more of it was waited for than ever came."""

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        await read_request(reader)
        writer.write(pack(">i", 1_000_000) + bytes(100_000))

    async with connection_to(peer, 1 << 24) as connection:
        lost = await ask(connection, timeout_s=30.0)
    assert isinstance(lost, Disconnected)
    assert "closed the connection" in lost.reason


async def test_a_request_that_the_node_does_not_know_is_not_sent_and_the_others_go_on() -> None:
    async with connection_to(serve_heartbeats) as connection:
        unknown, known = await asyncio.gather(ask(connection, FindCoordinatorRequest()), ask(connection))
    assert isinstance(unknown, Disconnected)
    assert unknown.is_unsupported
    assert not isinstance(unknown, FindCoordinatorResponse)
    assert isinstance(known, HeartbeatResponse)


async def test_after_the_connection_broke_everybody_learns_it_and_the_next_request_makes_a_new_one() -> None:
    connections = 0

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        if connections > 1:
            await serve_heartbeats(reader, writer)
            return
        await greet(reader, writer)
        await read_request(reader)

    async with connection_to(peer) as connection:
        lost = await asyncio.gather(ask(connection), ask(connection))
        again = await ask(connection)
    assert all(isinstance(one, Disconnected) and "closed the connection" in one.reason for one in lost)
    assert isinstance(again, HeartbeatResponse)


async def test_a_node_that_does_not_answer_in_time_loses_the_connection() -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        await reader.read()

    async with connection_to(peer) as connection:
        late = await ask(connection, timeout_s=0.05)
    assert isinstance(late, Disconnected)
    assert "did not answer Heartbeat within 0.05 s" in late.reason


async def test_where_nobody_listens_the_request_is_answered_and_not_raised() -> None:
    server = await asyncio.start_server(serve_heartbeats, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    connection = new_connection(NodeAddress("127.0.0.1", port))
    refused = await ask(connection)
    assert refused == Disconnected(f"no connection to 127.0.0.1:{port}: Connection refused")


async def test_a_name_that_nobody_knows_is_an_answer_too() -> None:
    unknown = await ask(new_connection(NodeAddress("no-such-host.invalid", 9092)))
    assert isinstance(unknown, Disconnected)
    assert "no-such-host.invalid:9092 cannot be looked up" in unknown.reason


@pytest.mark.parametrize(
    ("bytes_back", "reason"),
    [
        (pack(">ii", 4, 77), "answers request 77"),
        (pack(">i", 2) + b"ab", "cannot be read"),
        (pack(">i", 0x7FFF_FFFF), "announces 2147483647 bytes"),
        (pack(">iih", 6, 1, 35), "cannot be read"),
    ],
)
async def test_bytes_that_are_no_answer_end_the_connection(bytes_back: bytes, reason: str) -> None:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        await read_request(reader)
        writer.write(bytes_back)
        await reader.read()

    async with connection_to(peer) as connection:
        wrong = await ask(connection)
    assert isinstance(wrong, Disconnected)
    assert reason in wrong.reason


async def test_an_answer_that_nobody_asked_for_ends_the_connection_and_the_next_request_goes_over_a_new_one() -> None:
    connections = 0
    broken = asyncio.Event()

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await greet(reader, writer)
        _, version, correlation_id, _ = await read_request(reader)
        answer(writer, correlation_id, encode(HeartbeatResponse(), version))
        if connections == 1:
            answer(writer, correlation_id + 1, encode(HeartbeatResponse(), version))
            await reader.read()
            broken.set()

    async with connection_to(peer) as connection:
        await ask(connection)
        await broken.wait()
        assert isinstance(await ask(connection), HeartbeatResponse)
    assert connections == 2


async def test_who_closes_a_connection_within_an_answer_hears_nothing_more() -> None:
    heard: list[object] = []

    async with connection_to(serve_heartbeats) as connection:
        first, second = connection.send(REQUEST, 30), connection.send(REQUEST, 30)
        done = asyncio.Event()

        def on_first(result: object) -> None:
            heard.append(result)
            connection.close()
            done.set()

        first.on_done(on_first)
        second.on_done(heard.append)
        await done.wait()
        await asyncio.sleep(0)
    assert len(heard) == 1


async def test_a_connection_that_was_closed_makes_no_new_one() -> None:
    async with connection_to(serve_heartbeats) as connection:
        connection.close()
        assert isinstance(await ask(connection), Disconnected)
