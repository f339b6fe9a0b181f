"""Clients that break the rules: each has a defined end, the others notice nothing, the log says it in one line."""

import contextlib
import random
import resource
import socket
import struct
import time
from collections.abc import Iterator, Mapping

import pytest

from tests.conftest import AGAINST_APACHE_KAFKA, BrokerFactory
from tests.support.broker import BrokerProcess
from tests.support.process import open_descriptors, resident_bytes
from tests.support.waiting import eventually
from tests.support.wire import ConnectionClosedError, Record, WireClient, build_batch
from tests.support.wire.client import request_frame
from tests.support.wire.schema import APIS

MEGABYTE = 1 << 20
ANSWER_LIMIT_S = 5.0
"""How long an honest client may wait for an answer while another one misbehaves; generous for a busy machine."""


class Bystander:
    """An honest client on one connection that is never replaced: it notices when anything happens to it."""

    def __init__(self, broker: BrokerProcess, topic: str) -> None:
        self._wire = WireClient(broker.port)
        self._topic = topic
        self._sent = 0
        created = self._wire.ask(
            "CreateTopics", 5, timeout_ms=5000, topics=[{"name": topic, "num_partitions": 1, "replication_factor": 1}]
        )
        assert created["topics"][0]["error_code"] == 0
        eventually(self._is_served, "the bystander's topic is served")
        self._socket = self._wire.socket

    def notices_nothing(self) -> None:
        """Produce a record and fetch it again, quickly and over the same connection."""
        before = time.monotonic()
        assert self._produce() == 0
        self._sent += 1
        partition = {"partition": 0, "fetch_offset": self._sent - 1, "partition_max_bytes": MEGABYTE}
        fetched = self._wire.ask(
            "Fetch",
            11,
            replica_id=-1,
            max_wait_ms=1000,
            min_bytes=1,
            max_bytes=MEGABYTE,
            session_epoch=-1,
            topics=[{"topic": self._topic, "partitions": [{**partition, "current_leader_epoch": -1}]}],
        )
        [answer] = fetched["responses"][0]["partitions"]
        assert (answer["error_code"], answer["high_watermark"]) == (0, self._sent)
        assert answer["records"]
        assert time.monotonic() - before < ANSWER_LIMIT_S
        assert self._wire.socket is self._socket, "the bystander was disconnected"

    def close(self) -> None:
        """Go away."""
        self._wire.close()

    def _is_served(self) -> bool:
        if self._produce() == 0:
            self._sent += 1
            return True
        return False

    def _produce(self) -> int:
        partition = {"index": 0, "records": build_batch([Record(None, b"honest")])}
        data = [{"name": self._topic, "partition_data": [partition]}]
        answer = self._wire.ask("Produce", 9, acks=-1, timeout_ms=5000, topic_data=data)
        code: int = answer["responses"][0]["partition_responses"][0]["error_code"]
        return code


@pytest.fixture
def limits() -> dict[str, str]:
    """Broker settings of the test, small enough to be reached."""
    return {"socket.request.max.bytes": str(MEGABYTE)}


@pytest.fixture
def victim(new_broker: BrokerFactory, limits: Mapping[str, str]) -> BrokerProcess:
    """A running broker of this test alone."""
    broker = new_broker(limits)
    broker.start()
    return broker


@pytest.fixture
def bystander(victim: BrokerProcess, topic: str) -> Iterator[Bystander]:
    """An honest client that works before the test, and after it."""
    client = Bystander(victim, topic)
    client.notices_nothing()
    yield client
    client.notices_nothing()
    client.close()


@pytest.fixture
def hostile(victim: BrokerProcess, bystander: Bystander) -> Iterator[WireClient]:
    """A connection for bad behaviour."""
    with WireClient(victim.port) as client:
        yield client


def _peer(client: WireClient) -> str:
    host, port = client.socket.getsockname()
    return f"{host}:{port}"


def _lines_about(broker: BrokerProcess, peer: str) -> list[str]:
    return [line for line in broker.log.splitlines() if peer in line]


def _assert_one_line(broker: BrokerProcess, peer: str) -> None:
    if not AGAINST_APACHE_KAFKA:
        eventually(lambda: _lines_about(broker, peer), f"a log line names {peer}")
        assert len(_lines_about(broker, peer)) == 1, _lines_about(broker, peer)


def _header(api: str, version: int) -> bytes:
    return struct.pack(">hhih", APIS[api].key, version, 1, 1) + b"x"


def _fetch_frame(topic: str, max_bytes: int, min_bytes: int = 1, max_wait_ms: int = 500) -> bytes:
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": max_bytes, "current_leader_epoch": -1}
    fields = {
        "replica_id": -1,
        "max_wait_ms": max_wait_ms,
        "min_bytes": min_bytes,
        "max_bytes": max_bytes,
        "session_epoch": -1,
        "topics": [{"topic": topic, "partitions": [partition]}],
    }
    return request_frame("Fetch", 11, 1, fields)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(struct.pack(">i", MEGABYTE + 1), id="frame larger than socket.request.max.bytes"),
        pytest.param(struct.pack(">i", 2**31 - 1), id="frame as large as a length can say"),
        pytest.param(struct.pack(">i", -1), id="negative size"),
        pytest.param(struct.pack(">i", -(2**31)), id="most negative size"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", id="HTTP"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), id="TLS"),
    ],
)
def test_a_frame_of_impossible_size_ends_the_connection(
    victim: BrokerProcess, hostile: WireClient, data: bytes
) -> None:
    """A size below zero or over the limit closes the connection before any of the frame is read."""
    peer = _peer(hostile)
    hostile.send_bytes(data)
    assert hostile.is_closed_by_peer()
    _assert_one_line(victim, peer)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"", id="empty frame"),
        pytest.param(b"\0\1", id="two bytes"),
        pytest.param(struct.pack(">hhih", 999, 0, 1, 1) + b"x", id="unknown api key"),
        pytest.param(struct.pack(">hhih", -1, 0, 1, 1) + b"x", id="negative api key"),
        pytest.param(_header("Metadata", 99), id="unknown version"),
        pytest.param(_header("Produce", 99), id="unknown produce version"),
        pytest.param(_header("Metadata", 1) + b"\x7f\xff\xff\xff", id="array of two thousand million"),
        pytest.param(_header("Metadata", 12) + b"\0\xff\xff\xff\xff\x0f", id="compact array of four thousand million"),
        pytest.param(_header("Metadata", 1) + b"\0\0\0\1\x7f\xffshort", id="string longer than the frame"),
        pytest.param(_header("Fetch", 12) + b"\xff" * 60, id="varints without end"),
        pytest.param(_header("Produce", 9) + random.Random(1).randbytes(200), id="noise"),
        pytest.param(struct.pack(">hhih", 3, 1, 1, -7), id="client id of negative length"),
    ],
)
def test_a_request_that_does_not_parse_ends_the_connection(
    victim: BrokerProcess, hostile: WireClient, frame: bytes
) -> None:
    """What cannot be understood cannot be answered: the connection is closed, with one line in the log."""
    peer = _peer(hostile)
    before = resident_bytes(victim.pid)
    hostile.send_frame(frame)
    assert hostile.is_closed_by_peer()
    _assert_one_line(victim, peer)
    if not AGAINST_APACHE_KAFKA:
        assert resident_bytes(victim.pid) - before < 20 * MEGABYTE


def test_api_versions_of_the_future_is_answered(hostile: WireClient) -> None:
    """A client newer than the broker is told UNSUPPORTED_VERSION in version 0 and may go on (KIP-511)."""
    hostile.send_frame(_header("ApiVersions", 99) + b"\0\1\2\3")
    answer = hostile.receive_frame()
    assert struct.unpack_from(">ih", answer) == (1, 35)
    hostile.ask("ApiVersions", 3, client_software_name="test", client_software_version="1")


@pytest.mark.parametrize("limits", [{"connections.max.idle.ms": "1000"}])
@pytest.mark.parametrize("part", [0, 3, 100])
def test_half_a_frame_and_silence_is_an_idle_connection(victim: BrokerProcess, topic: str, part: int) -> None:
    """A connection on which nothing happens is closed after connections.max.idle.ms, whatever it had begun to send."""
    with WireClient(victim.port) as client:
        client.send_bytes((struct.pack(">i", 500) + bytes(500))[:part])
        peer = _peer(client)
        assert client.is_closed_by_peer()
    _assert_one_line(victim, peer)
    late = Bystander(victim, topic)
    late.notices_nothing()
    late.close()


@pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka lets such a connection live")
@pytest.mark.parametrize("limits", [{"connections.max.idle.ms": "1000"}])
def test_a_byte_now_and_then_does_not_keep_a_connection(victim: BrokerProcess, bystander: Bystander) -> None:
    """Only whole requests count as activity: a client that sends a byte now and then is closed as idle."""
    with WireClient(victim.port) as client:
        peer = _peer(client)
        client.send_bytes(struct.pack(">i", 100_000))

        def closed() -> bool:
            bystander.notices_nothing()
            try:
                client.send_bytes(b"x")
            except ConnectionClosedError:
                return True
            return False

        eventually(closed, "the connection is closed")
    _assert_one_line(victim, peer)


def test_a_frame_cut_off_by_a_disconnect_changes_nothing(
    victim: BrokerProcess, bystander: Bystander, topic: str
) -> None:
    """A produce request that never arrives whole appends nothing."""
    batch = build_batch([Record(None, b"x" * 10_000)])
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
    frame = request_frame("Produce", 9, 1, {"acks": -1, "timeout_ms": 5000, "topic_data": data})
    for cut in (4, 50, len(frame) // 2, len(frame) - 1):
        with WireClient(victim.port) as client:
            client.send_bytes((struct.pack(">i", len(frame)) + frame)[:cut])
    bystander.notices_nothing()  # which also checks that the log has just its own records


def test_one_byte_at_a_time_is_slow_but_legal(bystander: Bystander, hostile: WireClient) -> None:
    """A request that arrives byte by byte is answered when its last byte is there, without holding anybody up."""
    frame = request_frame("ApiVersions", 0, 5, {})
    hostile.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for position, byte in enumerate(struct.pack(">i", len(frame)) + frame):
        hostile.send_bytes(bytes([byte]))
        if position % 4 == 0:
            bystander.notices_nothing()
    assert hostile.receive_frame()[:4] == struct.pack(">i", 5)


def test_requests_sent_all_at_once_are_answered_in_order(hostile: WireClient) -> None:
    """Hundreds of requests sent without waiting get their answers, one by one, in the order they were sent."""
    frames = [request_frame("ApiVersions", 0, number, {}) for number in range(500)]
    hostile.send_bytes(b"".join(struct.pack(">i", len(frame)) + frame for frame in frames))
    answers = [struct.unpack_from(">i", hostile.receive_frame())[0] for _ in frames]
    assert answers == list(range(500))


@pytest.mark.parametrize("limits", [{"connections.max.idle.ms": "3000"}])
def test_a_client_that_never_reads_its_answers_is_closed(victim: BrokerProcess, topic: str) -> None:
    """Answers that are not read wait in bounded memory, and the connection ends after the idle time-out."""
    reader = Bystander(victim, topic)
    with WireClient(victim.port) as filler:
        batch = build_batch([Record(None, b"x" * 900_000)])
        for _ in range(20):
            data = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
            filler.ask("Produce", 9, acks=-1, timeout_ms=5000, topic_data=data)
    memory = resident_bytes(victim.pid)
    fetch = _fetch_frame(topic, 20 * MEGABYTE)
    with WireClient(victim.port) as greedy:
        peer = _peer(greedy)
        with contextlib.suppress(ConnectionClosedError):
            for _ in range(100):
                greedy.send_frame(fetch)
        connected = open_descriptors(victim.pid)

        def closed() -> bool:
            assert AGAINST_APACHE_KAFKA or resident_bytes(victim.pid) - memory < 64 * MEGABYTE
            return open_descriptors(victim.pid) < connected

        eventually(closed, "the connection is closed", 60)
    _assert_one_line(victim, peer)
    reader.close()
    after = Bystander(victim, topic + "-after")
    after.notices_nothing()
    after.close()


def test_a_thousand_idle_connections(victim: BrokerProcess, bystander: Bystander) -> None:
    """A thousand clients that say nothing cost little memory, and their descriptors are given back when they go."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2_000:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4_000, hard), hard))
    descriptors, memory = open_descriptors(victim.pid), resident_bytes(victim.pid)
    with contextlib.ExitStack() as connections:
        for _ in range(1_000):
            connections.enter_context(socket.create_connection(("127.0.0.1", victim.port), 10))
        eventually(lambda: open_descriptors(victim.pid) >= descriptors + 1_000, "all connections are accepted")
        bystander.notices_nothing()
        if not AGAINST_APACHE_KAFKA:
            assert resident_bytes(victim.pid) - memory < 32 * MEGABYTE
    eventually(lambda: open_descriptors(victim.pid) <= descriptors + 2, "all descriptors are given back")


def test_any_bytes_at_all(victim: BrokerProcess, bystander: Bystander) -> None:
    """Hundreds of frames of noise, with true headers and without, leave the broker as it was."""
    noise = random.Random(2_024)
    for _ in range(300):
        api = noise.choice(list(APIS))
        body = noise.randbytes(noise.choice([0, 1, 7, 40, 300, 3_000]))
        frame = noise.choice([body, _header(api, noise.randint(0, 13)) + body])
        with WireClient(victim.port, timeout=10) as client, contextlib.suppress(ConnectionClosedError):
            client.send_frame(frame)
            client.socket.shutdown(socket.SHUT_WR)
            client.read_to_end()
    bystander.notices_nothing()


def test_clients_that_vanish_while_they_wait(victim: BrokerProcess, bystander: Bystander, topic: str) -> None:
    """Long polls whose client is gone are dropped: their descriptors come back and later appends are not disturbed."""
    descriptors = open_descriptors(victim.pid)
    for _ in range(50):
        with WireClient(victim.port) as client:
            client.send_frame(_fetch_frame(topic, MEGABYTE, min_bytes=MEGABYTE, max_wait_ms=2_000))
    bystander.notices_nothing()
    eventually(lambda: open_descriptors(victim.pid) <= descriptors + 2, "all descriptors are given back")
