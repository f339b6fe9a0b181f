"""Connections to other nodes over TLS: whom they trust, and what is said of the others."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from odradek.broker.network.node_connection import NodeConnectionOptions, SocketConnector
from odradek.broker.network.receiving import ReceiveBuffers
from odradek.broker.network.security import NodeSecurity
from odradek.broker.network.tls_handshake import HandshakeServices
from odradek.broker.nodes.requests import Disconnected, NodeAddress
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.servers.tls import NodeTls
from odradek.config.loading import load_settings
from odradek.protocol.messages.heartbeat import HeartbeatResponse
from tests.support.certificates import LOCAL, Authority, Identity
from tests.unit.broker.network.test_node_connection import REQUEST, serve_heartbeats

AUTHORITY = Authority()


@asynccontextmanager
async def node(directory: Path, identity: Identity, *, wants_certificate: bool = False) -> AsyncIterator[NodeAddress]:
    """A node that answers heartbeats over TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.write(directory, "node"))
    if wants_certificate:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=AUTHORITY.pem)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve_heartbeats(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield NodeAddress("127.0.0.1", server.sockets[0].getsockname()[1])
    finally:
        server.close()


async def ask(address: NodeAddress, directory: Path, **more: str) -> object:
    """Ask over a connection that trusts the authority; return the answer."""
    loop = asyncio.get_running_loop()
    threads = DiskThreads(loop, "tls", 1)
    given = {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": AUTHORITY.write(directory / "ca.pem"),
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    settings = load_settings(None, [f"{key}={value}" for key, value in given.items()])
    tls = NodeTls("INNER", "SSL", settings, HandshakeServices(loop, threads, 5.0))
    buffers = ReceiveBuffers(RequestMemory(1 << 20, loop.call_soon))
    options = NodeConnectionOptions(loop, buffers, threads, 10_000, NodeSecurity(open=tls.open))
    connection = SocketConnector(options).connect(address, "7")
    try:
        return await connection.send(REQUEST, 10)
    finally:
        connection.close()
        threads.stop()


async def test_requests_are_answered_over_tls(tmp_path: Path) -> None:
    async with node(tmp_path, AUTHORITY.issue("CN=node", LOCAL)) as address:
        assert isinstance(await ask(address, tmp_path), HeartbeatResponse)


@pytest.mark.parametrize(
    ("identity", "reason"),
    [
        (AUTHORITY.issue("CN=node", ["elsewhere.example.com"]), "is not trusted: IP address mismatch"),
        (Authority("Other CA").issue("CN=node", LOCAL), "is not trusted: "),
        (AUTHORITY.issue("CN=node", LOCAL, days=-1), "is not trusted: certificate has expired"),
    ],
    ids=["other host", "other authority", "expired"],
)
async def test_a_node_that_does_not_prove_who_it_is_is_asked_nothing(
    tmp_path: Path, identity: Identity, reason: str
) -> None:
    """For another host, of another authority, or at its end."""
    async with node(tmp_path, identity) as address:
        answer = await ask(address, tmp_path)
    assert isinstance(answer, Disconnected)
    assert reason in answer.reason


async def test_names_are_not_checked_where_that_is_switched_off(tmp_path: Path) -> None:
    """ssl.endpoint.identification.algorithm without a value, as in Kafka."""
    async with node(tmp_path, AUTHORITY.issue("CN=node", ["elsewhere.example.com"])) as address:
        answer = await ask(address, tmp_path, ssl_endpoint_identification_algorithm="")
    assert isinstance(answer, HeartbeatResponse)


async def test_a_node_shows_its_certificate_where_it_is_asked_for_one(tmp_path: Path) -> None:
    own = AUTHORITY.issue("CN=me").write(tmp_path, "me")
    async with node(tmp_path, AUTHORITY.issue("CN=node", LOCAL), wants_certificate=True) as address:
        answer = await ask(address, tmp_path, ssl_keystore_type="PEM", ssl_keystore_location=own)
        assert isinstance(answer, HeartbeatResponse)
        assert isinstance(await ask(address, tmp_path), Disconnected)
