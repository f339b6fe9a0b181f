"""A cluster in a world: a controller and brokers, which end, come back, stand still and are cut off as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from odradek.broker.metadata.image import MetadataImage
from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.servers.broker import BrokerServer
from odradek.broker.servers.controller import ControllerServer
from odradek.broker.servers.roles import server_of_roles
from odradek.broker.servers.shared import SharedServer
from odradek.config.settings import BrokerSettings, build_settings
from tests.simulation.checks import Replica
from tests.simulation.clients import PASSING, TOPIC
from tests.simulation.network import SimulatedNetwork
from tests.simulation.node import SimulatedHost
from tests.simulation.world import SimulatedLoop, SimulatedProcess, World
from tests.support.memory_files import UNLIMITED, MemoryFiles

CONTROLLER = 100
CONTROLLER_ADDRESS = NodeAddress("10.0.0.100", 9093)
COMMON = {
    "controller.quorum.voters": f"{CONTROLLER}@{CONTROLLER_ADDRESS}",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "log.dirs": "/data",
    "log.cleaner.enable": "false",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "num.recovery.threads.per.data.dir": "1",
    "replica.fetch.max.bytes": "1024",
}


def address_of(node_id: int) -> NodeAddress:
    """Return where clients reach a broker, and others the controller."""
    return CONTROLLER_ADDRESS if node_id == CONTROLLER else NodeAddress(f"10.0.0.{node_id}", 9092)


@cache
def settings_of(node_id: int, overrides: tuple[tuple[str, str], ...]) -> BrokerSettings:
    """Return the settings of a node."""
    role = "controller" if node_id == CONTROLLER else "broker"
    listener = "CONTROLLER" if node_id == CONTROLLER else "PLAINTEXT"
    own = {"node.id": str(node_id), "process.roles": role, "listeners": f"{listener}://{address_of(node_id)}"}
    return build_settings({**COMMON, **own, **dict(overrides)}, {})


class SimulatedNode:
    """A node over all its lives: the files stay."""

    def __init__(self, world: World, network: SimulatedNetwork, node_id: int, overrides: Mapping[str, str]) -> None:
        self.node_id = node_id
        self.name = f"node-{node_id}"
        self.files = MemoryFiles(world.random.randrange(1 << 32))
        self._world = world
        self._network = network
        self._settings = settings_of(node_id, tuple(overrides.items()))
        self.process = SimulatedProcess(self.name)
        self.process.is_alive = False
        self._server: BrokerServer | ControllerServer | None = None
        self._starting: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._host: SimulatedHost | None = None
        self._shared: SharedServer | None = None
        self.partitions: PartitionTable | None = None
        """What a broker has of partitions, once it has begun to serve."""
        self.is_stopping = False
        """Whether it was told to stop, and still lives."""

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""
        return self.process.is_alive

    @property
    def image(self) -> MetadataImage | None:
        """The metadata that is durable at a controller."""
        return self._shared.metadata.image if self.is_alive and self._server is not None and self._shared else None

    @property
    def coordinated(self) -> Iterator[Partition]:
        """The partitions of internal topics that its coordinators serve, or are about to."""
        server = self._server
        if isinstance(server, BrokerServer) and self.partitions is not None:
            for services in (server._groups, server._transactions):
                if services._made is not None:
                    for each in services._made._runtime._partitions.values():
                        yield each.partition

    def start(self) -> None:
        """Begin a new life on the files of the last one."""
        self.process = SimulatedProcess(self.name)
        self.process.clock_offset_ms = self._world.random.randrange(-2000, 2000)
        loop = SimulatedLoop(self._world, self.process)
        host = self._host = SimulatedHost(self._world, self._network, self.process, self.files)
        self.is_stopping, self._stopping = False, None
        shared = self._shared = SharedServer(loop, self._settings, host)
        self._starting = loop.create_task(self._serve(shared))

    async def _serve(self, shared: SharedServer) -> None:
        shared.start()
        self._server = server_of_roles(shared)
        await self._server.start()
        if isinstance(self._server, BrokerServer):
            self.partitions = self._server.partitions

    @property
    def failure(self) -> BaseException | None:
        """Why it could not start or stop, None if it could or may yet."""
        for task in (self._starting, self._stopping):
            if self.is_alive and task is not None and task.done() and task.exception() is not None:
                return task.exception()
        return None

    def stop(self, stopped: Callable[[], None]) -> None:
        """Let it stop in order, and call back when its process has ended."""
        server, shared = self._server, self._shared
        assert server is not None
        assert shared is not None
        self.is_stopping = True

        async def work() -> None:
            await server.stop()
            shared.stop()
            self.kill()
            stopped()

        self._stopping = shared.loop.create_task(work())

    def kill(self, kept: float | None = 1.0) -> None:
        """End its process; `kept` is how likely each change that was not synced survives, None for chance: the power
        failed."""
        if self.is_alive:
            self.process.is_alive = False
            self.is_stopping = False
            self.files = self.files.handed_on() if kept == 1.0 else self.files.crash(kept)
            self._network.ended(self.process)
            self._server = self.partitions = None

    def replace_disk(self) -> None:
        """Let its next life begin with an empty disk."""
        self.files = MemoryFiles(self._world.random.randrange(1 << 32))

    def slow_disk(self, slowness: float) -> None:
        """Let its disk be so many times as slow as usual."""
        for pool in self._host.pools if self._host is not None else ():
            pool.slowness = slowness

    def fill_disk(self, room: int) -> None:
        """Let so many bytes be free on its disk."""
        self.files.capacity = self.files.used + room

    def room_on_disk(self) -> None:
        """Let there be room again."""
        self.files.capacity = UNLIMITED


class SimulatedCluster:
    """All nodes."""

    def __init__(self, world: World, brokers: int, replicas: int, settings: Mapping[str, str]) -> None:
        self.world = world
        self.network = SimulatedNetwork(world)
        self._replicas = replicas
        self.nodes = {
            node_id: SimulatedNode(world, self.network, node_id, settings)
            for node_id in (CONTROLLER, *range(1, brokers + 1))
        }
        self.by_name = {node.name: node for node in self.nodes.values()}

    @property
    def brokers(self) -> list[SimulatedNode]:
        """All but the controller."""
        return [node for node_id, node in self.nodes.items() if node_id != CONTROLLER]

    @property
    def bootstrap(self) -> list[NodeAddress]:
        """Where clients begin."""
        return [address_of(node.node_id) for node in self.brokers]

    def replicas(self) -> Iterator[Replica]:
        """Yield the replicas of the topic whose brokers are alive."""
        for node in self.brokers:
            for partition in node.partitions or ():
                if partition.topic == TOPIC:
                    yield Replica(node.name, partition)

    def all_in_sync(self) -> bool:
        """Whether all brokers serve, and all replicas there are to be are in sync, as is durable."""
        image = self.nodes[CONTROLLER].image
        if image is None or image.topic(TOPIC) is None:
            return False
        if not all(node.partitions is not None and not node.is_stopping for node in self.brokers):
            return False
        return all(
            part.leader >= 0
            and len(part.isr) == len(part.replicas)
            and (len(part.replicas) == self._replicas or topic.name == PASSING)
            and not part.adding_replicas
            and not part.removing_replicas
            for topic in image.topics_by_name.values()
            for part in topic.partitions
        )
