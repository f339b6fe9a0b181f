"""What carries a fetcher's requests to its leader, one after the other: connection, pauses, reconnection.

Must not know: what is asked and answered (`fetcher`).
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable

from odradek.broker.nodes.requests import Connector, Disconnected, NodeAddress, NodeConnection
from odradek.broker.replication.fetcher import Fetcher, FetchSettings
from odradek.broker.replication.follower_session import ReplicaId
from odradek.broker.replication.following import Following
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.codec import Message
from odradek.protocol.messages.fetch import FetchRequest

log = get_logger("replication")

INTERRUPT_S = 0.02
"""How long a new partition waits for others, before a fetch that waits at the leader without them is given up."""


class FetcherDriver:
    """One fetcher at work."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        connector: Connector,
        fetcher: Fetcher,
        settings: FetchSettings,
        client_id: str,
        address: Callable[[], NodeAddress | None],
    ) -> None:
        """`address` tells where the leader is reached now; None while it is not."""
        self._loop = loop
        self._connector = connector
        self._fetcher = fetcher
        self._settings = settings
        self._client_id = client_id
        self._address = address
        self._connection: NodeConnection | None = None
        self._under_way: Deferred[Message | Disconnected] | None = None
        self._is_fetch = False
        self._timer: TimerHandle | None = None
        self._interruption: TimerHandle | None = None
        self._problem = ""
        self._is_stopped = False
        fetcher.on_written = lambda: self._run_in(0)

    def __len__(self) -> int:
        return len(self._fetcher)

    def add(self, following: Following) -> None:
        """Fetch a partition from now on, without waiting for what others wait for."""
        self._fetcher.add(following)
        if self._under_way is None:
            self._run_in(0)
        elif self._interruption is None:
            self._interruption = self._loop.call_later(INTERRUPT_S, self._interrupt)

    def remove(self, replica: ReplicaId) -> None:
        """Fetch a partition no more."""
        self._fetcher.remove(replica)

    def stop(self) -> None:
        """Ask for nothing any more; what is under way is dropped."""
        self._is_stopped = True
        for timer in (self._timer, self._interruption):
            if timer is not None:
                timer.cancel()
        self._disconnect()

    def _interrupt(self) -> None:
        """Give up a fetch that began before new partitions came: they would wait as long as it does."""
        self._interruption = None
        if self._under_way is not None and self._is_fetch:
            self._disconnect()
            self._fetcher.interrupted()
            self._run_in(0)

    def _disconnect(self) -> None:
        self._under_way = None
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _run_in(self, delay_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(delay_s, self._run)

    def _run(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._is_stopped or self._under_way is not None or self._fetcher.waits_for_disk:
            return
        now = self._loop.time()
        connection = self._connected() if len(self._fetcher) else None
        request = self._fetcher.next_request(now) if connection is not None else None
        if connection is None or request is None:
            rest_s = self._fetcher.rest_s(now)
            if rest_s is not None:
                self._run_in(rest_s)
            return
        self._is_fetch = isinstance(request, FetchRequest)
        sent = self._under_way = connection.send(request, self._settings.replica_socket_timeout_ms / 1000)
        sent.on_done(lambda answer: self._answered(sent, answer))

    def _connected(self) -> NodeConnection | None:
        address = self._address()
        if self._connection is not None and self._connection.address != address:
            self._disconnect()
            self._fetcher.interrupted()
        if self._connection is None and address is not None:
            self._connection = self._connector.connect(address, self._client_id)
        return self._connection

    def _answered(self, sent: Deferred[Message | Disconnected], answer: Message | Disconnected) -> None:
        if self._under_way is not sent or self._is_stopped:
            return
        self._under_way = None
        if self._interruption is not None:
            self._interruption.cancel()
            self._interruption = None
        now = self._loop.time()
        if isinstance(answer, Disconnected):
            if answer.reason != self._problem:
                log.warning("the leader does not answer", fetcher=self._client_id, reason=answer.reason)
            self._problem = answer.reason
            self._fetcher.failed(now, self._is_fetch)
        else:
            self._problem = ""
            self._fetcher.answered(answer, now, self._run)
        self._run()
