"""One life of a cluster that a seed decides on: clients at work, faults, and what must hold all the while and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from odradek.broker.nodes.requests import Disconnected
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.simulation.checks import ClusterChecks
from tests.simulation.clients import (
    TOPIC,
    BrokenPromiseError,
    Ledger,
    SimulatedClient,
    SimulatedConsumer,
    SimulatedProducer,
)
from tests.simulation.cluster import CONTROLLER, SESSION_MS, SimulatedCluster, SimulatedNode
from tests.simulation.world import World

PARTITIONS = 2
REPLICAS = 3
FAULTS_S = 25.0
"""How long things go wrong."""
HEAL_S = 60.0
"""Until when a cluster must be whole again once nothing is wrong any more."""
START_S = 30.0
CHECK_EVERY = 50
"""Events between two looks at all replicas."""


class Scenario:
    """A cluster of three brokers, its clients, and what happens to them."""

    def __init__(self, seed: int, overrides: Mapping[str, str] | None = None) -> None:
        self.world = World(seed)
        self.cluster = SimulatedCluster(self.world, REPLICAS, overrides)
        self.ledger = Ledger()
        self.checks = ClusterChecks(self.ledger)
        self.story: list[str] = []
        self._looked_at = 0
        self._without_power: SimulatedNode | None = None
        self.producers: list[SimulatedProducer] = []
        self.consumers: list[SimulatedConsumer] = []

    def run(self) -> None:
        """Live through all of it; raises BrokenPromiseError with the story for what must not be."""
        try:
            self._begin()
            end = self.world.now + FAULTS_S
            while self.world.now < end:
                self._let_go_wrong()
                self._pass(self.world.random.uniform(0.1, 2.0))
            self._heal()
            self._end()
        except BrokenPromiseError as broken:
            story = "\n  ".join(self.story)
            raise BrokenPromiseError(
                f"seed {self.world.seed}, at {self.world.now:.3f} s: {broken}\n  {story}"
            ) from broken

    # before

    def _begin(self) -> None:
        for node in self.cluster.nodes.values():
            node.start()
        if not self.world.run_until(lambda: all(node.partitions is not None for node in self.cluster.brokers), START_S):
            raise BrokenPromiseError(f"the cluster does not start: {self._failures()}")
        self._create_topic()
        for partition in range(PARTITIONS):
            for idempotent in (True, False):
                name = f"{'once' if idempotent else 'plain'}-{partition}"
                self.producers.append(
                    SimulatedProducer(
                        self.cluster.network, name, self.cluster.bootstrap, self.ledger, partition, idempotent
                    )
                )
            name = f"reader-{partition}"
            self.consumers.append(
                SimulatedConsumer(self.cluster.network, name, self.cluster.bootstrap, self.ledger, partition)
            )
        for producer in self.producers:
            producer.start()
        for consumer in self.consumers:
            consumer.start()
        self._pass(1.0)

    def _create_topic(self) -> None:
        admin = SimulatedClient(self.cluster.network, "admin", self.cluster.bootstrap, self.ledger)
        topic = CreatableTopic(
            name=TOPIC,
            num_partitions=PARTITIONS,
            replication_factor=REPLICAS,
            configs=[CreatableTopicConfig(name="min.insync.replicas", value="2")],
        )
        created: list[bool] = []

        def ask() -> None:
            request = CreateTopicsRequest(topics=[topic], timeout_ms=5000)
            admin.ask(self.world.random.choice(self.cluster.bootstrap), request, 5, answered)

        def answered(found: Message | Disconnected | None) -> None:
            codes = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
            if isinstance(found, CreateTopicsResponse) and found.topics[0].error_code in codes:
                created.append(True)
            else:
                admin.later(ask)

        ask()
        if not self.world.run_until(lambda: bool(created), START_S):
            raise BrokenPromiseError("no topic can be made")

    # what goes wrong

    def _let_go_wrong(self) -> None:
        random = self.world.random
        node = random.choice(self.cluster.brokers)
        other = random.choice([one for one in self.cluster.nodes.values() if one is not node])
        fault = random.choice(
            (
                self._kill,
                self._kill,
                self._lose_power,
                self._lose_power,
                self._stand_still,
                self._slow_disk,
                self._slow_network,
                self._jump,
                self._end_controller,
            )
        )
        if random.random() < 0.4:
            self._cut(node, other)
            return
        fault(node)

    def _kill(self, node: SimulatedNode) -> None:
        if node.is_alive and not self._is_one_without_power():
            self._tell(f"{node.name} is killed")
            node.kill()
            self._start_later(node)

    def _lose_power(self, node: SimulatedNode) -> None:
        """One machine at a time, and nothing else ends until it is in sync again: Kafka, too, loses what two lose, and
        takes each that did not stop in order for one that may have lost something."""
        if not node.is_alive or not self._all_in_sync():
            return
        self._without_power = node
        self._tell(f"{node.name} loses power")
        node.kill(kept=None)
        self._start_later(node)

    def _is_one_without_power(self) -> bool:
        """Whether one has lost power and may still have less than it has acknowledged."""
        if self._without_power is not None and self._all_in_sync():
            self._without_power = None
        return self._without_power is not None

    def _stand_still(self, node: SimulatedNode) -> None:
        seconds = self.world.random.choice((0.3, 1.0, SESSION_MS / 1000 + 2))
        self._tell(f"{node.name} stands still for {seconds:g} s")
        node.process.stopped_until = self.world.now + seconds

    def _slow_disk(self, node: SimulatedNode) -> None:
        self._tell(f"the disk of {node.name} is slow")
        node.slow_disk(self.world.random.choice((1, 20, 200)))

    def _slow_network(self, _node: SimulatedNode) -> None:
        slowness = self.world.random.choice((1, 1, 20, 100))
        self._tell(f"the network is {slowness} times as slow as usual")
        self.cluster.network.faults.slowness = slowness

    def _jump(self, node: SimulatedNode) -> None:
        milliseconds = self.world.random.choice((-60_000, -1000, 1000, 60_000))
        self._tell(f"the clock of {node.name} jumps by {milliseconds} ms")
        node.process.clock_offset_ms += milliseconds

    def _end_controller(self, _node: SimulatedNode) -> None:
        controller = self.cluster.nodes[CONTROLLER]
        if controller.is_alive:
            self._tell("the controller loses power")
            controller.kill(kept=None)
            self._start_later(controller)

    def _cut(self, node: SimulatedNode, other: SimulatedNode) -> None:
        ways = self.world.random.choice(
            ([(node.name, other.name)], [(other.name, node.name)], [(node.name, other.name), (other.name, node.name)])
        )
        self._tell(" and ".join(f"nothing arrives from {sender} at {receiver}" for sender, receiver in ways))
        self.cluster.network.faults.cut.update(ways)

        def heal() -> None:
            self._tell("healed: " + " and ".join(f"{sender} to {receiver}" for sender, receiver in ways))
            self.cluster.network.faults.cut.difference_update(ways)

        self.world.after(self.world.random.uniform(0.2, SESSION_MS / 1000 + 3), heal)

    def _start_later(self, node: SimulatedNode) -> None:
        def start() -> None:
            if not node.is_alive:
                self._tell(f"{node.name} starts")
                node.start()

        self.world.after(self.world.random.choice((0.05, 1.0, SESSION_MS / 1000 + 2)), start)

    def _all_in_sync(self) -> bool:
        image = self.cluster.nodes[CONTROLLER].image
        topic = image.topic(TOPIC) if image is not None else None
        if topic is None or not all(node.partitions is not None for node in self.cluster.brokers):
            return False
        return all(part.leader >= 0 and len(part.isr) == REPLICAS for part in topic.partitions)

    # after

    def _heal(self) -> None:
        self._tell("nothing is wrong any more")
        self.cluster.network.faults.cut.clear()
        self.cluster.network.faults.slowness = 1.0
        for node in self.cluster.nodes.values():
            node.slow_disk(1)
            node.process.stopped_until = 0.0
            if not node.is_alive:
                node.start()
        self._until(self._all_in_sync, "all replicas are in sync")
        before = {partition: len(promises) for partition, promises in self.ledger.acknowledged.items()}
        self._until(
            lambda: all(
                len(self.ledger.acknowledged.get(partition, ())) > before.get(partition, 0)
                for partition in range(PARTITIONS)
            ),
            "every partition takes records",
        )

    def _end(self) -> None:
        for client in (*self.producers, *self.consumers):
            client.is_stopping = True
        self._until(lambda: all(producer.is_done for producer in self.producers), "everything is acknowledged")
        self._until(self._replicas_are_level, "all replicas have the whole log, and know that all have it")
        self.checks.at_the_end(self.cluster.replicas(), PARTITIONS)

    def _replicas_are_level(self) -> bool:
        marks: dict[int, set[tuple[int, int]]] = {}
        for replica in self.cluster.replicas():
            partition = replica.partition
            marks.setdefault(partition.index, set()).add((partition.log.log_end_offset, partition.high_watermark))
        return all(len(found) == 1 and all(end == mark for end, mark in found) for found in marks.values())

    # time

    def _pass(self, seconds: float) -> None:
        self.world.run(seconds, self._look)

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        end = self.world.now + HEAL_S
        while not condition():
            if self.world.now > end:
                raise BrokenPromiseError(f"not within {HEAL_S:g} s of quiet: {what}; {self._failures()}")
            self._pass(0.1)

    def _look(self) -> None:
        self._looked_at += 1
        if self._looked_at % CHECK_EVERY == 0:
            self.checks.after_step(self.cluster.replicas())
            for node in self.cluster.nodes.values():
                if node.failure is not None:
                    raise BrokenPromiseError(f"{node.name} cannot start: {node.failure!r}") from node.failure

    def _failures(self) -> str:
        return ", ".join(
            f"{node.name}: {'alive' if node.is_alive else 'dead'} {node.failure!r}"
            for node in self.cluster.nodes.values()
        )

    def _tell(self, what: str) -> None:
        self.story.append(f"{self.world.now:8.3f} s  {what}")
