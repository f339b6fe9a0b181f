"""What a node stands on: clocks, files, threads and the network of the machine that it runs on.

The only place where a broker takes any of them for itself. All else is given them, so that a cluster can also run in
one process, on files, a network and a time that a test decides on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from random import Random
from typing import NamedTuple, Protocol

from odradek.broker.network.admission import ConnectionLimits, ConnectionThrottle
from odradek.broker.network.listener import BoundListener, Network, NetworkLimits
from odradek.broker.network.receiving import ReceiveBuffers
from odradek.broker.network.security import UNPROTECTED, ListenerSecurity, NodeSecurity
from odradek.broker.nodes.requests import Connector
from odradek.broker.runtime.clock import Clock, SystemClock
from odradek.broker.runtime.disk_threads import DiskThreads, ThreadPool
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import Handle as FrameHandler
from odradek.storage.files import FileSystem, PosixFiles


class ServerNetwork(Protocol):
    """Listeners and the connections of clients (`network.listener.Network`)."""

    all_closed: asyncio.Event

    @property
    def connection_counts(self) -> Mapping[str, tuple[int, int]]: ...

    def bind(self, name: str, host: str, port: int) -> BoundListener: ...

    def start(self) -> None: ...

    def change_limits(self, limits: ConnectionLimits) -> None: ...

    def limit_connection_rates(self, rates: ConnectionThrottle | None) -> None: ...

    def stop_accepting(self) -> None: ...

    def stop_reading(self) -> None: ...

    def close_connections(self) -> None: ...


class NetworkParts(NamedTuple):
    """What listeners are made from."""

    limits: NetworkLimits
    connection_limits: ConnectionLimits
    handle: FrameHandler
    threads: Executor
    """Where files are read that are sent and not in memory."""
    memory: RequestMemory
    security: Mapping[str, ListenerSecurity]
    """How each listener is protected, by name."""


class Host(Protocol):
    """A machine, or what stands for one."""

    @property
    def clock(self) -> Clock:
        """Its clocks."""

    @property
    def files(self) -> FileSystem:
        """Its file systems."""

    @property
    def random(self) -> Random:
        """Where chance comes from; a test can repeat it."""

    @property
    def processors(self) -> int:
        """How many threads it can run at once."""

    def threads(self, name: str, count: int) -> ThreadPool:
        """Return threads for what is done often and takes little but waiting."""

    def executor(self, name: str, count: int) -> Executor:
        """Return threads for all else."""

    def network(self, parts: NetworkParts) -> ServerNetwork:
        """Return what clients connect to."""

    def connector(self, max_answer_bytes: int, security: NodeSecurity = UNPROTECTED) -> Connector:
        """Return what connects to other nodes, and takes answers up to that size."""


class Machine:
    """The machine that this process runs on."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.clock: Clock = SystemClock()
        self.files: FileSystem = PosixFiles()
        self.random = Random()
        self.processors = os.cpu_count() or 1

    def threads(self, name: str, count: int) -> ThreadPool:
        """Return threads that hand their results to the event loop."""
        return DiskThreads(self._loop, name, count)

    def executor(self, name: str, count: int) -> Executor:
        """Return a pool of threads."""
        return ThreadPoolExecutor(count, name)

    def network(self, parts: NetworkParts) -> ServerNetwork:
        """Return listeners on sockets."""
        limits, connection_limits, handle, threads, memory, security = parts
        return Network(self._loop, limits, connection_limits, handle, threads, memory, security)

    def connector(self, max_answer_bytes: int, security: NodeSecurity = UNPROTECTED) -> Connector:
        """Return what connects over sockets; what arrives has a budget of its own, so that clients that fill that for
        requests do not cut the node off from the cluster."""
        from odradek.broker.network import node_connection  # a node that is alone connects to nobody

        buffers = ReceiveBuffers(RequestMemory(max_answer_bytes, self._loop.call_soon))
        threads = DiskThreads(self._loop, "odradek-names", 1)
        options = node_connection.NodeConnectionOptions(self._loop, buffers, threads, max_answer_bytes, security)
        return node_connection.SocketConnector(options)
