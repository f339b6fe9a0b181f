"""What stands between sockets and the requests on them: a transport, and who answers first.

Owns the seams that `Network` asks for each connection that it accepts, and that connections to other nodes ask. Must
not know: how TLS or SASL work.
"""

from __future__ import annotations

from collections.abc import Callable
from socket import socket
from typing import TYPE_CHECKING, NamedTuple, Protocol

from odradek.broker.network.transport import Transport
from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.responses import Handle as FrameHandler

if TYPE_CHECKING:
    from odradek.broker.network.node_login import LoginParts


def no_authentication(_context: RequestContext, handle: FrameHandler) -> FrameHandler:
    """Return what answers requests itself: nobody is asked who he is."""
    return handle


Established = Callable[[Transport | str], None]
"""Called once with the transport of a connection that may be used now, or with why there is none; the socket is closed
then."""


class OpeningConnection(Protocol):
    """A connection on its way: what has to be said on it before its first byte counts."""

    def close(self) -> None:
        """End it, the socket with it; nobody is told."""


class ListenerSecurity(NamedTuple):
    """How the connections of one listener are protected. PLAINTEXT is what it is without arguments."""

    open: Callable[[socket, RequestContext, Established], OpeningConnection] | None = None
    """Begins what has to be said before the first byte counts; None where bytes count from the start. What learns who
    the client is (a certificate) sets `context.principal`."""
    handler: Callable[[RequestContext, FrameHandler], FrameHandler] = no_authentication
    """Makes what works on the frames of one connection, in front of `handle`, which works on requests."""
    max_first_frame_bytes: int | None = None
    """The largest frame before it is known who the client is; None where nobody is asked."""


PLAINTEXT = ListenerSecurity()


class NodeSecurity(NamedTuple):
    """How connections to other nodes are protected; without arguments they are not."""

    open: Callable[[socket, NodeAddress, Established], OpeningConnection] | None = None
    """As that of a listener, on a socket that is connected."""
    login: LoginParts | None = None
    """How this node says who it is; None where nobody asks."""


UNPROTECTED = NodeSecurity()
