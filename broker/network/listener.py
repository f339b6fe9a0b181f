"""The listening sockets: accept connections within the limits, close the idle ones, stop in order."""

from __future__ import annotations

import errno
import socket
from asyncio import AbstractEventLoop, Event, TimerHandle
from collections.abc import Mapping
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

from odradek.broker.network.admission import UNTIL_ONE_ENDS, Admission, ConnectionLimits, ConnectionThrottle
from odradek.broker.network.connection import ClientConnection, ConnectionServices
from odradek.broker.network.opening_failures import OpeningFailures
from odradek.broker.network.receiving import ReceiveBuffers
from odradek.broker.network.security import ListenerSecurity, OpeningConnection
from odradek.broker.network.transport import PlainTransport, Transport
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import Handle as FrameHandler

log = get_logger("network")

ACCEPTS_PER_TURN = 64
"""Connections accepted before others get their turn."""

OUT_OF_DESCRIPTORS_PAUSE_S = 1.0
"""Pause in accepting after the process ran out of descriptors: trying on at once would only burn CPU."""

RELIEF_INTERVAL_S = 1.0
"""How often slow senders are looked for while memory for arriving requests is short."""

FULL_LOG_INTERVAL_S = 60.0
"""How often it is said of a listener that its clients wait for a place."""

MOST_HELD_BACK = 1_000
"""Connections that came too fast and are kept for a moment: more are ended at once, since each takes a descriptor."""

IDLE_CHECKS_PER_LIMIT = 10
"""How often per idle limit connections are looked at: they are closed at most a tenth of the limit late."""


class NetworkLimits(NamedTuple):
    """What the network allows a client; names are Kafka's configs."""

    socket_request_max_bytes: int
    connections_max_idle_ms: int
    socket_send_buffer_bytes: int = -1
    socket_receive_buffer_bytes: int = -1
    backlog: int = 50


class BoundListener(NamedTuple):
    """A listener that is bound: its name and the address it really has."""

    name: str
    host: str
    port: int


class Network:
    """All listeners of the broker and the connections they accepted."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        limits: NetworkLimits,
        connection_limits: ConnectionLimits,
        handle: FrameHandler,
        threads: Executor,
        memory: RequestMemory,
        security: Mapping[str, ListenerSecurity],
    ) -> None:
        """`security` says of each listener, by name, how its connections are protected."""
        self._loop = loop
        self._limits = limits
        self._admission = Admission(connection_limits)
        self._rates: ConnectionThrottle | None = None
        self._held_back: dict[socket.socket, TimerHandle] = {}
        """Connections that came too fast, with what ends them."""
        self._handle = handle
        self._security = security
        self._listeners: dict[int, tuple[socket.socket, str]] = {}
        self._connections: set[ClientConnection] = set()
        self._openings: dict[int, OpeningConnection] = {}
        """Connections on which something has to be said first, by the id of their context: a client may come again from
        the same port before it is noticed that it has gone."""
        self._failures = OpeningFailures(loop.time)
        self._refused_logged: set[str] = set()
        self._full: dict[str, socket.socket] = {}
        """The listeners that accept nothing until a connection ends, by name."""
        self._full_logged: dict[str, float] = {}
        """When that was said last."""
        self._idle_timer: TimerHandle | None = None
        self._stopping = False
        self.all_closed = Event()
        self._memory = memory
        self._relief: TimerHandle | None = None
        self._shared = ConnectionServices(
            ReceiveBuffers(memory), limits.socket_request_max_bytes, threads, self._forget, self._relieve_later
        )

    def bind(self, name: str, host: str, port: int) -> BoundListener:
        """Bind a listener, not accepting yet; an empty host means all interfaces, port 0 any free port.

        Raises:
            OSError: the address is taken or not this machine's.
        """
        asked = host.encode() if host.isascii() else host  # as text it costs the import of IDNA at start
        found = socket.getaddrinfo(asked or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # all interfaces means IPv4 and IPv6, on one socket; a machine without IPv6 takes the next best
        found.sort(key=lambda candidate: not host and candidate[0] != socket.AF_INET6)
        for place, (family, _, _, _, address) in enumerate(found, 1):
            try:
                sock = self._open(family, address, dual=not host)
                break
            except OSError as failed:
                if host or place == len(found) or failed.errno == errno.EADDRINUSE:
                    raise
        self._listeners[sock.fileno()] = (sock, name)
        return BoundListener(name, host, sock.getsockname()[1])

    def _open(self, family: int, address: tuple[object, ...], dual: bool) -> socket.socket:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not dual)
            if self._limits.socket_receive_buffer_bytes > 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._limits.socket_receive_buffer_bytes)
            if self._limits.socket_send_buffer_bytes > 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._limits.socket_send_buffer_bytes)
            sock.setblocking(False)
            sock.bind(address)
        except OSError:
            sock.close()
            raise
        return sock

    def start(self) -> None:
        """Listen and accept."""
        for fd, (sock, name) in self._listeners.items():
            sock.listen(max(self._limits.backlog, 128))
            self._loop.add_reader(fd, self._accept, sock, name)
        self._check_idle_later()

    def change_limits(self, limits: ConnectionLimits) -> None:
        """Let connections in by other limits from now on; those that are open stay."""
        self._admission.limits = limits
        self._go_on_accepting()

    def limit_connection_rates(self, rates: ConnectionThrottle | None) -> None:
        """Hold back connections that come too fast from their address from now on; None lets all in."""
        self._rates = rates

    @property
    def connection_counts(self) -> Mapping[str, tuple[int, int]]:
        """How many connections each listener has, and has let in since the start, by name."""
        none = dict.fromkeys((name for _, name in self._listeners.values()), (0, 0))
        return {**none, **self._admission.counts}

    def stop_accepting(self) -> None:
        """Close the listening sockets; connections stay."""
        for fd, (sock, _) in self._listeners.items():
            self._loop.remove_reader(fd)
            sock.close()
        self._listeners.clear()

    def stop_reading(self) -> None:
        """Close the connections that ask for nothing; the others finish the request that is in work.

        `all_closed` is set when the last one is gone.
        """
        self._stopping = True
        for opening in self._openings.values():
            opening.close()
        self._openings.clear()
        for connection in list(self._connections):
            connection.finish()
        if not self._connections:
            self.all_closed.set()

    def close_connections(self) -> None:
        """Close every connection at once."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        for connection in list(self._connections):
            connection.close()
        for sock, timer in self._held_back.items():
            timer.cancel()
            sock.close()
        self._held_back.clear()

    def _accept(self, listening: socket.socket, name: str) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            wait_s = self._admission.wait_s(name, self._loop.time())
            if wait_s == UNTIL_ONE_ENDS:
                self._wait_for_place(listening, name)
                return
            if wait_s > 0:
                self._pause_accepting(listening, name, wait_s)
                return
            try:
                sock, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as failed:
                exhausted = failed.errno in (errno.EMFILE, errno.ENFILE)
                log.error(
                    "cannot accept connections; trying again in a second",
                    listener=name,
                    reason=failed.strerror or str(failed),
                    hint="raise the limit of open files (ulimit -n)" if exhausted else None,
                )
                self._pause_accepting(listening, name, OUT_OF_DESCRIPTORS_PAUSE_S)
                return
            self._admit(sock, address, name)

    def _admit(self, sock: socket.socket, address: tuple[str, int], name: str) -> None:
        client_host, client_port = _plain_host(address[0]), address[1]
        refusal = self._admission.refusal(client_host)
        if refusal is not None:
            sock.close()
            if refusal not in self._refused_logged:
                self._refused_logged.add(refusal)
                log.warning("connection refused", peer=f"{client_host}:{client_port}", reason=refusal)
            return
        if self._rates is not None:
            throttle_ms = self._rates.throttle_ms(client_host)
            if throttle_ms > 0:
                self._hold_back(sock, throttle_ms / 1000)
                return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        local_host, local_port = sock.getsockname()[:2]
        context = RequestContext(
            peer=f"{client_host}:{client_port}",
            client_host=client_host,
            listener=name,
            local_host=_plain_host(local_host),
            local_port=local_port,
        )
        security = self._security[name]
        self._admission.entered(name, client_host, self._loop.time())
        if security.open is None:
            self._begin(PlainTransport(sock), context, security)
        else:
            self._openings[id(context)] = security.open(sock, context, partial(self._opened, context, security))
        if self._admission.is_exceeded:
            self._close_least_active()

    def _opened(self, context: RequestContext, security: ListenerSecurity, outcome: Transport | str) -> None:
        """A connection on which something had to be said first may be used now, or is over."""
        del self._openings[id(context)]
        if not isinstance(outcome, str):
            self._begin(outcome, context, security)
        else:
            self._failures.log(context, outcome)
            self._left(context)

    def _begin(self, transport: Transport, context: RequestContext, security: ListenerSecurity) -> None:
        handler = security.handler(context, self._handle)
        connection = ClientConnection(self._loop, transport, context, handler, self._shared)
        self._connections.add(connection)
        connection.start(security.max_first_frame_bytes)

    def _hold_back(self, sock: socket.socket, seconds: float) -> None:
        """Keep a connection that came too fast, silent, and then end it (KIP-612)."""

        def end() -> None:
            del self._held_back[sock]
            sock.close()

        if len(self._held_back) < MOST_HELD_BACK:
            self._held_back[sock] = self._loop.call_later(seconds, end)
        else:
            sock.close()

    def _close_least_active(self) -> None:
        """A connection between brokers came over the limit of all: one of the others makes room, as in Kafka."""
        spared = self._admission.limits.inter_broker_listener
        others = [connection for connection in self._connections if connection.context.listener != spared]
        if others:
            least = min(others, key=lambda connection: connection.last_active)
            least.close("max.connections are open, and another broker needs one")

    def _wait_for_place(self, listening: socket.socket, name: str) -> None:
        """Leave those who come in the queue of the listener until a connection ends."""
        self._loop.remove_reader(listening.fileno())
        self._full[name] = listening
        now = self._loop.time()
        if now - self._full_logged.get(name, -FULL_LOG_INTERVAL_S) >= FULL_LOG_INTERVAL_S:
            self._full_logged[name] = now
            reason = f"{self._admission.what_is_full(name)} are open"
            log.warning("connections wait until others end", listener=name, reason=reason)

    def _go_on_accepting(self) -> None:
        """There may be a place: look at those who wait for one."""
        waiting, self._full = self._full, {}
        for name, listening in waiting.items():
            if listening.fileno() in self._listeners:
                self._loop.add_reader(listening.fileno(), self._accept, listening, name)

    def _pause_accepting(self, listening: socket.socket, name: str, wait_s: float) -> None:
        fd = listening.fileno()
        self._loop.remove_reader(fd)

        def resume() -> None:
            if fd in self._listeners:
                self._loop.add_reader(fd, self._accept, listening, name)

        self._loop.call_later(wait_s, resume)

    def _forget(self, connection: ClientConnection) -> None:
        self._connections.discard(connection)
        self._left(connection.context)

    def _left(self, context: RequestContext) -> None:
        self._admission.left(context.listener, context.client_host)
        self._refused_logged.clear()
        if self._full:
            self._go_on_accepting()
        if self._stopping and not self._connections:
            self.all_closed.set()

    def _relieve_later(self) -> None:
        """A connection waits for memory: look now and then for those that hold it and hardly send."""
        if self._relief is None:
            self._relief = self._loop.call_later(RELIEF_INTERVAL_S, self._relieve)

    def _relieve(self) -> None:
        self._relief = None
        now = self._loop.time()
        for connection in list(self._connections):
            if connection.is_slow_sender(now):
                connection.close("its request arrives too slowly while others wait for memory")
        if self._memory.is_short:
            self._relieve_later()

    def _check_idle_later(self) -> None:
        limit = self._limits.connections_max_idle_ms / 1000
        if limit > 0:
            self._idle_timer = self._loop.call_later(max(limit / IDLE_CHECKS_PER_LIMIT, 0.05), self._close_idle, limit)

    def _close_idle(self, limit: float) -> None:
        oldest = self._loop.time() - limit
        for connection in list(self._connections):
            if connection.last_active < oldest and connection.waits_for_client:
                connection.close(f"no complete request for {limit:g} s (connections.max.idle.ms)")
        self._check_idle_later()


def _plain_host(host: str) -> str:
    """An IPv4 address that came in over an IPv6 socket, in its usual form."""
    return host.removeprefix("::ffff:") if "." in host else host
