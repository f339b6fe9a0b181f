"""A cluster in a world: a controller and brokers, which end, come back, stand still and are cut off as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from odradek.broker.metadata.image import MetadataImage
from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.servers.broker import BrokerServer
from odradek.broker.servers.controller import ControllerServer
from odradek.broker.servers.roles import server_of_roles
from odradek.broker.servers.shared import SharedServer
from odradek.config.settings import BrokerSettings, build_settings
from tests.simulation.checks import Replica
from tests.simulation.network import SimulatedNetwork
from tests.simulation.node import SimulatedHost
from tests.simulation.world import SimulatedLoop, SimulatedProcess, World
from tests.support.memory_files import MemoryFiles

CONTROLLER = 100
CONTROLLER_ADDRESS = NodeAddress("10.0.0.100", 9093)
SESSION_MS = 3000
COMMON = {
    "controller.quorum.voters": f"{CONTROLLER}@{CONTROLLER_ADDRESS}",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "log.dirs": "/data",
    "log.cleaner.enable": "false",
    "broker.session.timeout.ms": str(SESSION_MS),
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "2000",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "num.recovery.threads.per.data.dir": "1",
}


def address_of(node_id: int) -> NodeAddress:
    """Return where clients reach a broker, and others the controller."""
    return CONTROLLER_ADDRESS if node_id == CONTROLLER else NodeAddress(f"10.0.0.{node_id}", 9092)


def settings_of(node_id: int, overrides: Mapping[str, str]) -> BrokerSettings:
    """Return the settings of a node."""
    role = "controller" if node_id == CONTROLLER else "broker"
    listener = "CONTROLLER" if node_id == CONTROLLER else "PLAINTEXT"
    own = {"node.id": str(node_id), "process.roles": role, "listeners": f"{listener}://{address_of(node_id)}"}
    return build_settings({**COMMON, **own, **overrides}, {})


class SimulatedNode:
    """A node over all its lives: the files stay."""

    def __init__(self, world: World, network: SimulatedNetwork, node_id: int, overrides: Mapping[str, str]) -> None:
        self.node_id = node_id
        self.name = f"node-{node_id}"
        self.files = MemoryFiles(world.random.randrange(1 << 32))
        self._world = world
        self._network = network
        self._settings = settings_of(node_id, overrides)
        self.process = SimulatedProcess(self.name)
        self.process.is_alive = False
        self._server: BrokerServer | ControllerServer | None = None
        self._starting: asyncio.Task[None] | None = None
        self._host: SimulatedHost | None = None
        self._shared: SharedServer | None = None

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""
        return self.process.is_alive

    @property
    def partitions(self) -> PartitionTable | None:
        """What a broker has of partitions, once it has begun to serve."""
        server = self._server
        task = self._starting
        serves = self.is_alive and task is not None and task.done() and task.exception() is None
        return server.partitions if serves and isinstance(server, BrokerServer) else None

    @property
    def image(self) -> MetadataImage | None:
        """The metadata that is durable at a controller."""
        return self._shared.metadata.image if self.is_alive and self._server is not None and self._shared else None

    def start(self) -> None:
        """Begin a new life on the files of the last one."""
        self.process = SimulatedProcess(self.name)
        self.process.clock_offset_ms = self._world.random.randrange(-2000, 2000)
        loop = SimulatedLoop(self._world, self.process)
        host = self._host = SimulatedHost(self._world, self._network, self.process, self.files)
        shared = self._shared = SharedServer(loop, self._settings, host)
        self._starting = loop.create_task(self._serve(shared))

    async def _serve(self, shared: SharedServer) -> None:
        shared.start()
        self._server = server_of_roles(shared)
        await self._server.start()

    @property
    def failure(self) -> BaseException | None:
        """Why it could not start, None if it could or may yet."""
        task = self._starting
        return task.exception() if task is not None and task.done() and self.is_alive else None

    def kill(self, kept: float | None = 1.0) -> None:
        """End its process; `kept` is how likely each change that was not synced survives, None for chance: the power
        failed."""
        if self.is_alive:
            self.process.is_alive = False
            self.files = self.files.crash(kept)
            self._network.ended(self.process)
            self._server = None

    def slow_disk(self, slowness: float) -> None:
        """Let its disk be so many times as slow as usual."""
        for pool in self._host.pools if self._host is not None else ():
            pool.slowness = slowness


class SimulatedCluster:
    """All nodes."""

    def __init__(self, world: World, brokers: int = 3, overrides: Mapping[str, str] | None = None) -> None:
        self.world = world
        self.network = SimulatedNetwork(world)
        self.nodes = {
            node_id: SimulatedNode(world, self.network, node_id, overrides or {})
            for node_id in (CONTROLLER, *range(1, brokers + 1))
        }

    @property
    def brokers(self) -> list[SimulatedNode]:
        """All but the controller."""
        return [node for node_id, node in self.nodes.items() if node_id != CONTROLLER]

    @property
    def bootstrap(self) -> list[NodeAddress]:
        """Where clients begin."""
        return [address_of(node.node_id) for node in self.brokers]

    def replicas(self) -> Iterator[Replica]:
        """Yield the replicas whose brokers are alive."""
        for node in self.brokers:
            for partition in node.partitions or ():
                if partition.topic == "values":
                    yield Replica(node.name, partition)
