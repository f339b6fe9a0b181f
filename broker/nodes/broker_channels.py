"""Requests to other brokers of the cluster: one connection for each, made when something is asked of it.

Owns: the connections, and that one goes whose broker has another address now. Must not know: what is asked, where the
addresses come from. Retries are up to who asks.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable
from typing import Protocol

from odradek.broker.nodes.requests import Connector, Disconnected, NodeAddress, NodeConnection
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.codec import Message


class RequestsToBrokers(Protocol):
    """Something that puts requests to brokers."""

    def send(self, broker_id: int, request: Message, timeout_s: float) -> Deferred[Message | Disconnected]:
        """Send a request; the answer, of the response's class, comes later: never while this is called."""


class _Channel:
    """The connection to one broker, and who waits for its answers."""

    __slots__ = ("connection", "waiting")

    def __init__(self, connection: NodeConnection) -> None:
        self.connection = connection
        self.waiting: dict[Deferred[Message | Disconnected], None] = {}


class BrokerChannels:
    """A `RequestsToBrokers` over connections of its own."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        connector: Connector | None,
        address_of: Callable[[int], NodeAddress | None],
        client_id: str,
    ) -> None:
        """`connector` is None for a node that is alone, which asks nobody; `address_of` tells where a broker is reached
        now, None while it is not."""
        self._loop = loop
        self._connector = connector
        self._address_of = address_of
        self._client_id = client_id
        self._channels: dict[int, _Channel] = {}
        self._is_closed = False

    def send(self, broker_id: int, request: Message, timeout_s: float) -> Deferred[Message | Disconnected]:
        """Send a request; see `RequestsToBrokers.send`."""
        answer: Deferred[Message | Disconnected] = Deferred()
        address = self._address_of(broker_id)
        channel = self._channels.get(broker_id)
        if channel is not None and channel.connection.address != address:
            self._leave(broker_id, channel)
            channel = None
        if address is None or self._connector is None or self._is_closed:
            self._refuse(answer, f"broker {broker_id} is not reachable at present")
            return answer
        if channel is None:
            channel = self._channels[broker_id] = _Channel(self._connector.connect(address, self._client_id))
        waiting = channel.waiting
        waiting[answer] = None

        def arrived(result: Message | Disconnected) -> None:
            waiting.pop(answer, None)
            answer.resolve(result)

        channel.connection.send(request, timeout_s).on_done(arrived)
        return answer

    def close(self) -> None:
        """Ask nobody any more; who waits is not told."""
        self._is_closed = True
        for channel in self._channels.values():
            channel.connection.close()
        self._channels.clear()

    def _leave(self, broker_id: int, channel: _Channel) -> None:
        """End a connection that leads nowhere any more; who waits for an answer learns that there will be none."""
        del self._channels[broker_id]
        channel.connection.close()
        for answer in channel.waiting:
            self._refuse(answer, f"broker {broker_id} has another address now")

    def _refuse(self, answer: Deferred[Message | Disconnected], reason: str) -> None:
        self._loop.call_soon(answer.resolve, Disconnected(reason))
