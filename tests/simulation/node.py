"""A node of the simulated cluster: the real servers on a host that is none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor, Future
from random import Random
from typing import Any, ParamSpec, TypeVar

from odradek.broker.network.admission import ConnectionLimits, ConnectionThrottle
from odradek.broker.network.listener import BoundListener
from odradek.broker.network.security import UNPROTECTED, NodeSecurity
from odradek.broker.nodes.requests import Connector, NodeAddress
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.disk_threads import ThreadPool
from odradek.broker.servers.host import NetworkParts, ServerNetwork
from odradek.storage.files import FileSystem
from tests.simulation.network import Serve, SimulatedNetwork
from tests.simulation.world import SimulatedClock, SimulatedLoop, SimulatedProcess, SimulatedThreads, World
from tests.support.memory_files import MemoryFiles

P = ParamSpec("P")
T = TypeVar("T")


class SimulatedExecutor(Executor):
    """Threads of a pool, as slow as those for the disk."""

    def __init__(self, threads: SimulatedThreads) -> None:
        self._threads = threads

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Do it after a while, unless nobody wants it any more by then."""
        future: Future[T] = Future()
        result: list[T] = []

        def do() -> None:
            if future.set_running_or_notify_cancel():
                result.append(fn(*args, **kwargs))

        def done(failed: BaseException | None) -> None:
            if failed is not None:
                future.set_exception(failed)
            elif result:
                future.set_result(result[0])

        self._threads.submit(do, done)
        return future


class SimulatedListeners:
    """`ServerNetwork` on the simulated network: a listener is a name and an address there."""

    def __init__(self, host: SimulatedHost, parts: NetworkParts) -> None:
        self.process = host.process
        self.all_closed = asyncio.Event()
        self.all_closed.set()
        self._host = host
        self._handle = parts.handle
        self._bound: list[tuple[str, NodeAddress]] = []

    def bind(self, name: str, host: str, port: int) -> BoundListener:
        """Remember a listener."""
        self._bound.append((name, NodeAddress(host, port)))
        return BoundListener(name, host, port)

    @property
    def connection_counts(self) -> Mapping[str, tuple[int, int]]:
        """Nobody looks."""
        return {}

    def start(self) -> None:
        """Be reachable from now on."""
        for name, address in self._bound:
            self._host.world_network.listen(address, _Listener(self, name, address))

    def change_limits(self, limits: ConnectionLimits) -> None:
        """Nobody is ever refused here."""

    def limit_connection_rates(self, rates: ConnectionThrottle | None) -> None:
        """Nor held back."""

    def stop_accepting(self) -> None:
        """Let nobody in any more."""
        for _, address in self._bound:
            self._host.world_network.unlisten(address, self.process)

    def stop_reading(self) -> None:
        """Answer nothing more that comes in."""
        self._host.world_network.ended(self.process)

    def close_connections(self) -> None:
        """There are none any more."""

    def serve(self, name: str, address: NodeAddress, client_id: str) -> Serve:
        """Return what answers a connection."""
        context = RequestContext("10.0.0.9:1", "10.0.0.9", name, address.host, address.port)
        context.client_id = client_id
        return lambda frame: self._handle(context, frame)


class _Listener:
    def __init__(self, listeners: SimulatedListeners, name: str, address: NodeAddress) -> None:
        self.process = listeners.process
        self._listeners = listeners
        self._name = name
        self._address = address

    def accept(self, client_id: str) -> Serve:
        return self._listeners.serve(self._name, self._address, client_id)


class _Pool(SimulatedThreads):
    def stop(self) -> None:
        """What is not done by now is not done."""


class SimulatedHost:
    """A `servers.host.Host` in a world."""

    def __init__(self, world: World, network: SimulatedNetwork, process: SimulatedProcess, files: MemoryFiles) -> None:
        self.process = process
        self.world_network = network
        self.clock: Clock = SimulatedClock(world, process)
        self.files: FileSystem = files
        self.processors = 1
        self.random = Random(world.random.randrange(1 << 32))
        self.pools: list[SimulatedThreads] = []
        self._world = world

    def threads(self, name: str, count: int) -> ThreadPool:
        """Return threads of which one works at a time."""
        pool = _Pool(self._world, self.process)
        self.pools.append(pool)
        return pool

    def executor(self, name: str, count: int) -> Executor:
        """Return a pool of such."""
        return SimulatedExecutor(self.threads(name, count))  # type: ignore[arg-type]  # it is one of this module's

    def network(self, parts: NetworkParts) -> ServerNetwork:
        """Return listeners on the simulated network."""
        return SimulatedListeners(self, parts)

    def connector(self, max_answer_bytes: int, security: NodeSecurity = UNPROTECTED) -> Connector:
        """Return what connects over the simulated network."""
        return self.world_network.connector(self.process)


def begin(world: World, loop: SimulatedLoop, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Begin a coroutine of a process; it goes on as time passes."""
    return loop.create_task(work)
