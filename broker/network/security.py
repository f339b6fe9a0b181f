"""What stands between sockets and the requests on them: a transport, and who answers first.

Owns the seams that `Network` asks for each connection that it accepts, and that connections to other nodes ask. Must
not know: how TLS or SASL work.
"""

from __future__ import annotations

from collections.abc import Callable
from socket import socket
from typing import NamedTuple

from odradek.broker.network.transport import PlainTransport, Transport
from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.responses import Handle as FrameHandler


def plain_transport(sock: socket, _context: RequestContext) -> Transport:
    """Return a transport of bytes as they are."""
    return PlainTransport(sock)


def no_authentication(_context: RequestContext, handle: FrameHandler) -> FrameHandler:
    """Return what answers requests itself: nobody is asked who he is."""
    return handle


class ListenerSecurity(NamedTuple):
    """How the connections of one listener are protected. PLAINTEXT is what it is without arguments."""

    transport: Callable[[socket, RequestContext], Transport] = plain_transport
    """Makes the transport of a connection that was accepted. One that learns who the client is (a certificate) sets
    `context.principal` before it hands out the first byte."""
    handler: Callable[[RequestContext, FrameHandler], FrameHandler] = no_authentication
    """Makes what works on the frames of one connection, in front of `handle`, which works on requests."""
    max_first_frame_bytes: int | None = None
    """The largest frame before it is known who the client is; None where nobody is asked."""


PLAINTEXT = ListenerSecurity()


def plain_transport_to(sock: socket, _address: NodeAddress) -> Transport:
    """Return a transport of bytes as they are."""
    return PlainTransport(sock)


class NodeSecurity(NamedTuple):
    """How connections to other nodes are protected; without arguments they are not."""

    transport: Callable[[socket, NodeAddress], Transport] = plain_transport_to
    """Makes the transport of a connection that is being made; first used once it is there."""


UNPROTECTED = NodeSecurity()
