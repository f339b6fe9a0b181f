"""TLS on real sockets: frames both ways, who is let in as whom, and what becomes of those who do not behave."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from struct import pack, unpack

import pytest

from odradek.broker.network.admission import ConnectionLimits, ListenerLimits
from odradek.broker.network.listener import Network, NetworkLimits
from odradek.broker.network.opening_failures import OpeningFailures
from odradek.broker.network.security import ListenerSecurity
from odradek.broker.network.sending import SendQueue
from odradek.broker.network.tls_handshake import HandshakeServices
from odradek.broker.network.tls_transport import TlsSession, TlsTransport
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import FileRegion, Response
from odradek.broker.servers.tls import ListenerTls
from odradek.config.loading import load_settings
from tests.support.certificates import LOCAL, Authority, Identity, client_context

MANY = 2**31 - 1
AUTHORITY = Authority()
SERVER = AUTHORITY.issue("CN=localhost", LOCAL)
CLIENT = AUTHORITY.issue("CN=Client,OU=tests,O=Example Org,L=Paris,C=FR")
MEGABYTE = 1 << 20


class _File:
    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDONLY)


class Listening:
    """A TLS listener that answers each frame with itself, `who` with the user and `region` with 8 MiB of a file."""

    def __init__(self, directory: Path, timeout_s: float = 30.0, **overrides: str) -> None:
        self.loop = asyncio.get_running_loop()
        self.directory = directory
        self.read_threads = ThreadPoolExecutor(1)
        self.tls_threads = DiskThreads(self.loop, "tls", 1)
        given = {
            "listeners": "SSL://127.0.0.1:0",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": SERVER.write(directory, "server"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": AUTHORITY.write(directory / "ca.pem"),
            **{key.replace("_", "."): value for key, value in overrides.items()},
        }
        self.settings = load_settings(None, [f"{key}={value}" for key, value in given.items()])
        services = HandshakeServices(self.loop, self.tls_threads, timeout_s)
        self.tls = ListenerTls("SSL", "SSL", self.settings, services)
        self.content = os.urandom(8 * MEGABYTE)
        (directory / "file").write_bytes(self.content)
        self.file = _File(directory / "file")
        self.network = Network(
            self.loop,
            NetworkLimits(64 * MEGABYTE, 600_000),
            ConnectionLimits(ListenerLimits(MANY, MANY), MANY),
            self._handle,
            self.read_threads,
            RequestMemory(64 * MEGABYTE, self.loop.call_soon),
            {"SSL": ListenerSecurity(open=self.tls.open)},
        )
        self.port = self.network.bind("SSL", "127.0.0.1", 0).port
        self.network.start()

    def _handle(self, context: RequestContext, frame: memoryview) -> Response:
        data = bytes(frame)
        if data == b"who":
            return str(context.principal).encode()
        if data == b"region":
            return [b"head", FileRegion(self.file, 0, len(self.content)), b"tail"]
        return data

    def connect(self, identity: Identity | None = None, context: ssl.SSLContext | None = None) -> ssl.SSLSocket:
        """Connect, in a thread."""
        context = context or client_context(AUTHORITY, self.directory, identity)
        plain = socket.create_connection(("127.0.0.1", self.port), 30)
        return context.wrap_socket(plain, server_hostname="localhost")

    async def ask(self, *frames: bytes, identity: Identity | None = None) -> list[bytes]:
        """Connect and send all frames at once; return what is answered to each."""

        def run() -> list[bytes]:
            with self.connect(identity) as client:
                return exchange(client, *frames)

        return await asyncio.to_thread(run)

    def close(self) -> None:
        self.network.stop_accepting()
        self.network.stop_reading()
        self.network.close_connections()
        self.tls_threads.stop()
        self.read_threads.shutdown()
        os.close(self.file.fd)


def exchange(client: socket.socket, *frames: bytes) -> list[bytes]:
    """Send frames and return the answers."""
    client.sendall(b"".join(pack(">i", len(frame)) + frame for frame in frames))
    return [receive(client, unpack(">i", receive(client, 4))[0]) for _ in frames]


def receive(client: socket.socket, size: int) -> bytes:
    """Receive exactly so much."""
    data = bytearray()
    while len(data) < size:
        piece = client.recv(size - len(data))
        assert piece, "closed"
        data += piece
    return bytes(data)


Listen = Callable[..., Listening]


@pytest.fixture
async def listen(tmp_path: Path) -> AsyncIterator[Listen]:
    """Makes a listener."""
    made: list[Listening] = []

    def make(**options: object) -> Listening:
        made.append(Listening(tmp_path, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.close()


async def test_frames_of_all_sizes_go_both_ways(listen: Listen) -> None:
    """One byte, a record, more than a record, megabytes; several that are sent at once are answered in order."""
    frames = [b"x", os.urandom(16 * 1024), b"", os.urandom(16 * 1024 + 1), os.urandom(5 * MEGABYTE), b"end"]
    assert await listen().ask(*frames) == frames


async def test_many_small_frames_in_one_record_are_all_answered(listen: Listen) -> None:
    """What is decrypted and not yet handed out waits where no selector sees it."""
    frames = [b"%d" % number for number in range(3000)]
    assert await listen().ask(*frames) == frames


async def test_regions_of_files_are_sent_encrypted(listen: Listen) -> None:
    """Between other bytes, in pieces, to a client that reads slowly at first."""
    listening = listen()
    answer = (await listening.ask(b"region", b"after"))[0]
    assert answer == b"head" + listening.content + b"tail"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_the_user_is_the_name_in_the_certificate(listen: Listen, version: ssl.TLSVersion) -> None:
    """With both versions of TLS, also where a session is resumed; without a certificate nobody is known."""
    listening = listen(ssl_client_auth="requested")
    context = client_context(AUTHORITY, listening.directory, CLIENT)
    context.maximum_version = version

    def run() -> list[bytes]:
        with listening.connect(context=context) as client:
            answers = exchange(client, b"who")
            session = client.session
        plain = socket.create_connection(("127.0.0.1", listening.port), 30)
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as again:
            assert again.session_reused
            return answers + exchange(again, b"who")

    assert await asyncio.to_thread(run) == [b"User:CN=Client,OU=tests,O=Example Org,L=Paris,C=FR"] * 2
    assert await listening.ask(b"who") == [b"User:ANONYMOUS"]


async def test_rules_make_users_of_names(listen: Listen) -> None:
    """The first rule that matches; who matches none is closed without an answer."""
    listening = listen(ssl_client_auth="required", ssl_principal_mapping_rules="RULE:^CN=(.*?),OU=tests.*$/$1/L")
    assert await listening.ask(b"who", identity=CLIENT) == [b"User:client"]
    with pytest.raises((OSError, AssertionError)):
        await listening.ask(b"who", identity=AUTHORITY.issue("CN=other"))


@pytest.mark.parametrize(
    ("identity", "reason"),
    [
        (None, "showed no certificate"),
        (Authority("Other CA").issue("CN=stranger"), "is not trusted"),
        (AUTHORITY.issue("CN=expired", days=-1), "is not trusted: certificate has expired"),
    ],
    ids=["none", "stranger", "expired"],
)
async def test_who_has_no_certificate_that_is_trusted_is_refused(
    listen: Listen, identity: Identity | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ssl.client.auth=required; one line of the log says who and why, and others are served."""
    said: list[str] = []
    monkeypatch.setattr(OpeningFailures, "log", lambda _self, _context, text: said.append(text))
    listening = listen(ssl_client_auth="required")
    with pytest.raises((OSError, AssertionError)):
        await listening.ask(b"x", identity=identity)
    while not said:
        await asyncio.sleep(0)
    assert len(said) == 1
    assert reason in said[0]
    assert await listening.ask(b"x", identity=CLIENT) == [b"x"]


async def test_a_certificate_with_ten_thousand_names_holds_nobody_up(listen: Listen) -> None:
    """It is a valid certificate, and costs a moment on a thread."""
    names = [f"host-{number}.example.org" for number in range(10_000)]
    many = AUTHORITY.issue("CN=many", names)
    listening = listen(ssl_client_auth="requested")
    try:
        assert await listening.ask(b"who", identity=many) == [b"User:CN=many"]
    except OSError:  # OpenSSL takes no certificates of more than a hundred kilobytes
        assert await listening.ask(b"x") == [b"x"]


async def test_plain_bytes_are_answered_as_kafka_does(listen: Listen) -> None:
    """An alert, internal_error, and the end: seen on Apache Kafka 4.3."""
    listening = listen()

    def run() -> bytes:
        with socket.create_connection(("127.0.0.1", listening.port), 30) as client:
            client.sendall(pack(">i", 4) + b"ping")
            return receive(client, 7) + client.recv(1)

    assert (await asyncio.to_thread(run)).hex() == "15030300020250"


async def test_who_says_nothing_is_closed_in_time(listen: Listen) -> None:
    """Silent from the start, or in the middle of the handshake."""
    listening = listen(timeout_s=0.05)

    def run(begin: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", listening.port), 30) as client:
            client.sendall(begin)
            return client.recv(1)

    for begin in (b"", bytes.fromhex("160301020001")):
        assert await asyncio.to_thread(run, begin) == b""


async def test_old_versions_and_suites_are_refused(listen: Listen) -> None:
    """TLS 1.1 is not spoken; where ssl.enabled.protocols has only TLS 1.3, neither is 1.2."""
    listening = listen(ssl_enabled_protocols="TLSv1.3")
    context = client_context(AUTHORITY, listening.directory)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        await asyncio.to_thread(listening.connect, None, context)


async def test_a_new_certificate_is_taken_over_without_dropping_connections(listen: Listen) -> None:
    """The file is replaced: new handshakes show the new certificate, an open connection goes on."""
    listening = listen()

    def serial(client: ssl.SSLSocket) -> object:
        certificate = client.getpeercert()
        assert certificate is not None
        return certificate["serialNumber"]

    old = await asyncio.to_thread(listening.connect)
    AUTHORITY.issue("CN=localhost", LOCAL).write(listening.directory, "server")
    listening.tls.live.look()
    new = await asyncio.to_thread(listening.connect)
    assert serial(old) != serial(new)
    for client in (old, new):
        assert await asyncio.to_thread(exchange, client, b"x") == [b"x"]
        client.close()


@pytest.mark.parametrize(
    ("subject", "names", "allowed", "is_taken"),
    [
        ("CN=localhost", ("localhost",), {}, False),
        ("CN=localhost", ("localhost",), {"ssl_allow_san_changes": "true"}, True),
        ("CN=other", LOCAL, {}, False),
        ("CN=other", LOCAL, {"ssl_allow_dn_changes": "true"}, True),
        ("CN=localhost", (*LOCAL, "more.example.org"), {}, True),
    ],
)
async def test_a_certificate_of_another_name_is_taken_over_only_where_that_is_allowed(
    listen: Listen, subject: str, names: tuple[str, ...], allowed: dict[str, str], is_taken: bool
) -> None:
    """Kafka's rule: the same subject, and no alternative name less."""
    listening = listen(**allowed)
    before = listening.tls.live.context
    AUTHORITY.issue(subject, names).write(listening.directory, "server")
    listening.tls.live.look()
    assert (listening.tls.live.context is not before) is is_taken


async def test_a_file_that_cannot_be_used_leaves_the_old_key_in_force(listen: Listen) -> None:
    """It is said once, and looked at again when it changes again."""
    listening = listen()
    path = listening.directory / "server.pem"
    before = listening.tls.live.context
    path.write_text("nothing")
    listening.tls.live.look()
    path.unlink()
    listening.tls.live.look()
    assert listening.tls.live.context is before
    SERVER.write(listening.directory, "server")
    listening.tls.live.look()
    assert listening.tls.live.context is not before


async def test_what_is_decrypted_is_asked_for_again(tmp_path: Path) -> None:
    """A buffer smaller than a record: the rest waits in OpenSSL, and whoever watches is called for it."""
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(SERVER.write(tmp_path, "server"))

    session = TlsSession(server)

    def accept() -> None:
        while True:
            try:
                session.tls.do_handshake()
                ours.sendall(session.outgoing.read())
                return
            except ssl.SSLWantReadError:
                ours.sendall(session.outgoing.read())
                session.incoming.write(ours.recv(10_000))

    def handshake() -> ssl.SSLSocket:
        with ThreadPoolExecutor(1) as threads:
            accepted = threads.submit(accept)
            client = client_context(AUTHORITY, tmp_path).wrap_socket(theirs, server_hostname="localhost")
            accepted.result()
            return client

    client = await asyncio.to_thread(handshake)
    ours.setblocking(False)
    transport = TlsTransport(ours, session, loop)
    client.sendall(b"0123456789" * 100)
    received, done = bytearray(), asyncio.Event()
    room = memoryview(bytearray(7))

    def read() -> None:
        received.extend(room[: transport.recv_into(room)])
        if len(received) == 1000:
            done.set()

    transport.watch_reading(loop, read)
    await asyncio.wait_for(done.wait(), 30)
    transport.unwatch_reading(loop)
    assert bytes(received) == b"0123456789" * 100
    transport.close()
    client.close()


async def test_handshakes_under_way_end_with_the_listener(listen: Listen) -> None:
    """A stop does not wait for those who have not even said hello."""
    listening = listen()
    with socket.create_connection(("127.0.0.1", listening.port), 30) as client:
        for _ in range(20):
            await asyncio.sleep(0)
        listening.network.stop_accepting()
        listening.network.stop_reading()
        assert listening.network.all_closed.is_set()
        assert await asyncio.to_thread(client.recv, 1) == b""


class _Sluggish:
    """A socket that takes what chance allows of what is sent."""

    def __init__(self, taken: bytearray, source: random.Random) -> None:
        self._taken = taken
        self._source = source

    def fileno(self) -> int:
        return -1

    def send(self, data: bytes | memoryview) -> int:
        count = self._source.choice([0, 0, 1, 2, 5, 100, 16_000, 70_000, len(data)])
        if not count and len(data):
            raise BlockingIOError
        count = min(count, len(data))
        self._taken += data[:count]
        return count


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_the_socket_takes_every_byte_is_sent_once(tmp_path: Path, seed: int) -> None:
    """Answers of all sizes, and regions of files, through a socket that takes them in crumbs."""
    source = random.Random(seed)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(SERVER.write(tmp_path, "server"))
    ours = TlsSession(server)
    theirs = TlsSession(client_context(AUTHORITY, tmp_path), "localhost")
    for _ in range(4):
        for here, there in ((theirs, ours), (ours, theirs)):
            with suppress(ssl.SSLWantReadError):
                here.tls.do_handshake()
            there.incoming.write(here.outgoing.read())
    path = tmp_path / "file"
    path.write_bytes(source.randbytes(900_000))
    file, taken = _File(path), bytearray()
    transport = TlsTransport(_Sluggish(taken, source), ours, asyncio.get_running_loop())  # type: ignore[arg-type]
    queue, expected = SendQueue(transport), bytearray()
    for _ in range(6):
        data = source.randbytes(source.choice([1, 2, 60, 5_000, 70_000, 300_000]))
        length = source.choice([1, 1000, 400_000, 900_000])
        queue.add([data, FileRegion(file, 0, length), b"", b"z"])
        expected += data + path.read_bytes()[:length] + b"z"
    while queue.pieces:
        with suppress(BlockingIOError):
            queue.write_some()
    os.close(file.fd)
    theirs.incoming.write(taken)
    found = bytearray()
    with suppress(ssl.SSLWantReadError):
        while True:
            found += theirs.tls.read(100_000)
    assert found == expected
