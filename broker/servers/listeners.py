"""The listeners of a role: their sockets, and what those who come in through them are told to connect to.

Owns: binding with a sentence where it fails, and the limits of the settings that hold for every listener.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Sequence

from odradek.broker.network.listener import BoundListener, NetworkLimits
from odradek.broker.runtime.context import RequestContext
from odradek.broker.servers.host import ServerNetwork
from odradek.config.listeners import Listener
from odradek.config.settings import BrokerSettings

REQUEST_MEMORY_BYTES = 256 * 1024 * 1024
"""Either half of the memory for requests (`RequestMemory`), unless queued.max.request.bytes says otherwise."""


class ServerListeners:
    """The open listeners of one role, by name."""

    def __init__(self, listeners: Sequence[Listener], settings: Callable[[], BrokerSettings]) -> None:
        """`settings` are those in force: where clients are to connect to may change."""
        self._listeners = listeners
        self._settings = settings
        self._bound: dict[str, BoundListener] = {}

    def bind(self, network: ServerNetwork) -> None:
        """Open the sockets.

        Raises:
            OSError: one cannot be opened; the message says which, why, and what to do.
        """
        for listener in self._listeners:
            try:
                self._bound[listener.name] = network.bind(listener.name, listener.host, listener.port)
            except OSError as failed:
                raise OSError(f"listener {listener} cannot be opened: {_why_not_opened(failed)}") from failed

    def advertised_for(self, context: RequestContext) -> tuple[str, int]:
        """Return the host and port to tell who came in this way."""
        bound = self._bound[context.listener]
        return self._settings().advertised_for(context.listener, context.local_host, context.local_port, bound.port)

    def port_of(self, listener: Listener) -> int:
        """Return the port that was opened."""
        return self._bound[listener.name].port

    def bound_text(self) -> str:
        """Return what is open, for the line printed at start."""
        return ",".join(f"{one.name}://{one.host or '*'}:{one.port}" for one in self._bound.values())

    def advertised_text(self) -> str:
        """Return what clients are told, likewise."""
        settings = self._settings()
        return ",".join(settings.advertised_text(one, self.port_of(one)) for one in self._listeners)


def network_limits(settings: BrokerSettings) -> NetworkLimits:
    """Return the limits of requests and sockets."""

    def explicit(key: str, value: int) -> int:
        # Kafka's default of 100 KiB switches the kernel's own sizing off, which is better on every network there is now
        return value if settings.origin(key) is not None else -1

    return NetworkLimits(
        socket_request_max_bytes=settings.socket_request_max_bytes,
        connections_max_idle_ms=settings.connections_max_idle_ms,
        socket_send_buffer_bytes=explicit("socket.send.buffer.bytes", settings.socket_send_buffer_bytes),
        socket_receive_buffer_bytes=explicit("socket.receive.buffer.bytes", settings.socket_receive_buffer_bytes),
        backlog=settings.socket_listen_backlog_size,
    )


def request_memory_bytes(settings: BrokerSettings) -> int:
    """Return the budget of requests that arrive."""
    queued = settings.queued_max_request_bytes
    return queued if queued > 0 else REQUEST_MEMORY_BYTES


def _why_not_opened(failed: OSError) -> str:
    """Return why a listener cannot be opened, and what to do."""
    from odradek.config.bind_errors import why_not_opened  # hardly a start fails

    if isinstance(failed, socket.gaierror) or failed.errno == errno.EADDRNOTAVAIL:
        return (
            f"{failed.strerror or failed}; give in listeners an address of this machine, or none for all of them, and"
            " the name for clients in advertised.listeners"
        )
    return why_not_opened(failed)
