"""What a node asks another one, as those see it who ask: a request goes out, its answer comes later.

Owns: the interface between them and whatever carries requests: sockets (`network.node_connection`), or a network in
memory. Must not know: either.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.codec import Message


class NodeAddress(NamedTuple):
    """Where a node is reached."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Disconnected(NamedTuple):
    """A request has no answer, and it is not known whether the node has done what it asks."""

    reason: str
    """A part of a sentence that names the node."""
    is_unsupported: bool = False
    """The node knows no version of the request that this one knows; asking again does not help. Nothing was sent."""


class NodeConnection(Protocol):
    """A connection to one node, made when the first request goes out, and made again by the first one after it broke.

    Who asks again after a Disconnected waits a while before.
    """

    @property
    def address(self) -> NodeAddress:
        """Where it leads."""

    def send(self, request: Message, timeout_s: float, version: int | None = None) -> Deferred[Message | Disconnected]:
        """Send a request; its answer, a message of the response's class, comes later, those of several in their order.

        Bytes in the answer (records) are views that are valid while the callback runs, and not after it. The version is
        the newest that both know, or `version` where that is lower. A node that does not answer within `timeout_s`
        loses the connection, and all that was asked over it is answered with Disconnected.
        """

    def close(self) -> None:
        """End it for good; requests that wait for an answer are forgotten, as if they had been cancelled."""


class Connector(Protocol):
    """What makes connections."""

    def connect(self, address: NodeAddress, client_id: str) -> NodeConnection:
        """Return a connection to a node; nothing is sent yet."""
