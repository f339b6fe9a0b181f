"""The limits of connections in force: from the settings, with the names of hosts in them looked up.

A name server may take seconds to answer, so after the start that is done on a thread.
"""

from __future__ import annotations

import socket
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from concurrent.futures import Executor

from odradek.broker.network.admission import ConnectionLimits, ListenerLimits
from odradek.broker.runtime.logging import get_logger
from odradek.config.settings import BrokerSettings

log = get_logger("config")


def connection_limits(settings: BrokerSettings) -> ConnectionLimits:
    """Return the limits that the settings ask for; waits for the name server where they name hosts."""
    overrides: dict[str, int] = {}
    for host, limit in settings.max_connections_per_ip_overrides.items():
        try:
            overrides[socket.gethostbyname(host)] = limit
        except OSError as failed:
            log.warning("config", key="max.connections.per.ip.overrides", warning=f"{host} is no known host: {failed}")
    return ConnectionLimits(
        broker=ListenerLimits(settings.max_connections, settings.max_connection_creation_rate),
        max_connections_per_ip=settings.max_connections_per_ip,
        max_connections_per_ip_overrides=overrides,
        listeners={
            one.name: ListenerLimits(one.max_connections, one.max_connection_creation_rate)
            for one in (*settings.listeners, *settings.controller_listeners)
        },
        inter_broker_listener=settings.inter_broker_listener_name if len(settings.listeners) > 1 else None,
    )


class ConnectionLimitsFollower:
    """Follows settings that change while the broker runs."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        threads: Executor,
        in_force: BrokerSettings,
        change: Callable[[ConnectionLimits], None],
    ) -> None:
        """`change` is called on the loop with the limits that hold from then on."""
        self._loop = loop
        self._threads = threads
        self._change = change
        self._wanted = _relevant(in_force)

    def follow(self, settings: BrokerSettings) -> None:
        """Put the limits of these settings in force, as soon as the hosts that they name are looked up."""
        wanted = _relevant(settings)
        if wanted == self._wanted:
            return
        self._wanted = wanted
        if not settings.max_connections_per_ip_overrides:
            self._change(connection_limits(settings))
            return

        def found(done: Future[ConnectionLimits]) -> None:
            if self._wanted is wanted:  # else they were changed again
                self._change(done.result())

        self._loop.run_in_executor(self._threads, connection_limits, settings).add_done_callback(found)


def _relevant(settings: BrokerSettings) -> tuple[object, ...]:
    """Return the settings that limits come from."""
    return (
        settings.max_connections,
        settings.max_connection_creation_rate,
        settings.max_connections_per_ip,
        settings.max_connections_per_ip_overrides,
        settings.listeners,
    )
