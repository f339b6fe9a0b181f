"""Handshakes of TLS, one connection after another: whole ones, and those that go on from an earlier session."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass

from benchmarks.clients.figures import Meter, Requests
from benchmarks.target import Endpoint

_DEADLINE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class HandshakeLoad:
    """So many connections to a TLS listener; `resumed` ones show the ticket of the first."""

    endpoint: Endpoint
    authority: str
    """The path of the certificate that is trusted."""
    count: int
    warmup: int
    resumed: bool


def connect(load: HandshakeLoad) -> Requests:
    """Connect, shake hands, close, and again."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(load.authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # in 1.3 a ticket comes with the first answer, not before

    def one(session: ssl.SSLSession | None) -> ssl.SSLSession | None:
        with (
            socket.create_connection(load.endpoint.address, _DEADLINE_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname="localhost", session=session) as client,
        ):
            if session is not None and not client.session_reused:
                raise ConnectionError("the session was not resumed")
            return client.session

    first = one(None) if load.resumed else None
    for _ in range(load.warmup):
        one(first)
    with Meter(load.endpoint.pid) as meter:
        for _ in range(load.count):
            one(first)
    return Requests(load.count, load.count + load.warmup, meter.elapsed, meter.broker_cpu, meter.client_cpu)
