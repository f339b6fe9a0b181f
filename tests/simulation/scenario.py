"""One life of a cluster that a seed decides on: clients at work, faults, and what must hold all the while and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.simulation.administrator import Administrator
from tests.simulation.checks import ClusterChecks
from tests.simulation.clients import PASSING, TOPIC, BrokenPromiseError, Ledger, SimulatedConsumer, SimulatedProducer
from tests.simulation.cluster import CONTROLLER, SimulatedCluster
from tests.simulation.copiers import COPIES, COPY_PARTITIONS, NUMBERS
from tests.simulation.copying import Copying
from tests.simulation.faults import Faults
from tests.simulation.shape import Fault, Shape, shape_of
from tests.simulation.world import SimulatedProcess, World

HEAL_S = 60.0
"""Until when a cluster must be whole again once nothing is wrong any more."""
START_S = 30.0


class Scenario:
    """A cluster, its clients, and what happens to them."""

    def __init__(self, seed: int, shape: Shape | None = None) -> None:
        """Without a shape, the seed decides on that, too."""
        self.world = World(seed)
        self.shape = shape = shape or shape_of(seed)
        self.cluster = SimulatedCluster(self.world, shape.brokers, shape.replicas, shape.settings)
        self.ledger = Ledger()
        self.checks = ClusterChecks(self.ledger, shape.deletes)
        self.administrator = Administrator(self.cluster.network, "admin", self.cluster.bootstrap, self.ledger)
        self.faults = Faults(self.cluster, shape, self.administrator)
        self.producers: list[SimulatedProducer] = []
        self.consumers: list[SimulatedConsumer] = []
        self.copying: Copying | None = None

    def run(self) -> None:
        """Live through all of it; raises BrokenPromiseError with the story for what must not be."""
        try:
            self._begin()
            end = self.world.now + self.shape.faults_s
            while self.world.now < end:
                self.faults.one()
                self._pass(self.world.random.uniform(*self.shape.rest_s))
            self._heal()
            self._end()
        except BrokenPromiseError as broken:
            story = "\n  ".join(self.faults.story)
            raise BrokenPromiseError(
                f"seed {self.world.seed}, at {self.world.now:.3f} s: {broken}\n  {story}"
            ) from broken

    # before

    def _begin(self) -> None:
        for node in self.cluster.nodes.values():
            node.start()
        if not self.world.run_until(lambda: all(node.partitions is not None for node in self.cluster.brokers), START_S):
            raise BrokenPromiseError(f"the cluster does not start: {self._failures()}")
        self._create(TOPIC, self.shape.partitions, self.shape.configs)
        for partition in range(self.shape.partitions):
            self._produce(f"once-{partition}", partition, idempotent=True)
            self._produce(f"plain-{partition}", partition, idempotent=False)
            self._consume(f"reader-{partition}", partition)
        if Fault.RECREATE in self.shape.faults:
            self._create(PASSING, 1, self.shape.configs)
            self._produce("passing", 0, idempotent=False, topic=PASSING)
        if self.shape.copiers:
            self._begin_copying()
        for producer in self.producers:
            producer.start()
        for consumer in self.consumers:
            consumer.start()
        self._pass(self.world.random.uniform(0.0, 0.5))

    def _begin_copying(self) -> None:
        shape = self.shape
        configs = {"min.insync.replicas": "2", "internal.segment.bytes": "1000"}  # nothing of it is deleted
        self._create(NUMBERS, shape.copiers, configs)
        self._create(COPIES, COPY_PARTITIONS, configs)
        self.copying = Copying(self.cluster, self.ledger, shape.copiers, shape.produce_pause_s, self.faults.tell)
        self.copying.start()

    def _create(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        created: list[bool] = []
        self.administrator.create(topic, partitions, self.shape.replicas, configs, lambda: created.append(True))
        if not self.world.run_until(lambda: bool(created), START_S):
            raise BrokenPromiseError(f"the topic {topic} cannot be made")

    def _produce(self, name: str, partition: int, idempotent: bool, topic: str = TOPIC) -> None:
        cluster, pause_s = self.cluster, self.shape.produce_pause_s
        self.producers.append(
            SimulatedProducer(
                cluster.network, name, cluster.bootstrap, self.ledger, partition, idempotent, pause_s, topic
            )
        )

    def _consume(self, name: str, partition: int) -> None:
        cluster, old_ones_go = self.cluster, self.shape.deletes
        self.consumers.append(
            SimulatedConsumer(cluster.network, name, cluster.bootstrap, self.ledger, partition, old_ones_go)
        )

    # after

    def _heal(self) -> None:
        self.faults.end()
        if self.copying is not None:
            self.copying.let_live()
        self._until(self.cluster.all_in_sync, "all replicas are in sync")
        before = {partition: len(promises) for partition, promises in self.ledger.acknowledged.items()}
        self._until(
            lambda: all(
                len(self.ledger.acknowledged.get(partition, ())) > before.get(partition, 0)
                for partition in range(self.shape.partitions)
            ),
            "every partition takes records",
        )

    def _end_copying(self, copying: Copying) -> None:
        within = self.shape.transactions_end_s
        copying.stop_feeding()
        self._until(copying.are_fed, "all numbers are acknowledged")
        self._until(copying.are_copied, "all numbers are copied", within)
        copying.stop_copying()
        self._until(copying.have_stopped, "the group tells how far it has come")
        copying.read_again()
        self._until(
            copying.are_read, "readers of committed records come to the end of the logs", self.shape.transactions_end_s
        )
        copying.check()

    def _end(self) -> None:
        if self.copying is not None:
            self._end_copying(self.copying)
        for client in (*self.producers, *self.consumers):
            client.is_stopping = True
        self._until(lambda: all(producer.is_done for producer in self.producers), "everything is acknowledged")
        self._until(self._replicas_are_level, "all replicas have the whole log, and know that all have it")
        self.checks.at_the_end(self.cluster.replicas(), self.shape.partitions)

    def _replicas_are_level(self) -> bool:
        marks: dict[int, set[tuple[int, int]]] = {}
        for replica in self.cluster.replicas():
            partition = replica.partition
            marks.setdefault(partition.index, set()).add((partition.log.log_end_offset, partition.high_watermark))
        return all(len(found) == 1 and all(end == mark for end, mark in found) for found in marks.values())

    # time

    def _pass(self, seconds: float) -> None:
        self.world.run(seconds, self._look)

    def _until(self, condition: Callable[[], bool], what: str, within: float = HEAL_S) -> None:
        end = self.world.now + within
        while not condition():
            if self.world.now > end:
                raise BrokenPromiseError(f"not within {within:g} s of quiet: {what}; {self._failures()}")
            self._pass(0.1)

    def _look(self, process: SimulatedProcess) -> None:
        node = self.cluster.by_name.get(process.name)
        if node is None:
            return
        partitions = node.partitions
        if partitions is not None:
            self.checks.after_step(node.name, partitions)
            if not node.is_stopping:
                self.checks.check_coordinated(node.name, node.coordinated)
        if partitions is None or node.is_stopping:
            failure = node.failure
            if failure is not None:
                raise BrokenPromiseError(f"{node.name} cannot start or stop: {failure!r}") from failure

    def _failures(self) -> str:
        nodes = ", ".join(
            f"{node.name}: {'alive' if node.is_alive else 'dead'} {node.failure!r}"
            for node in self.cluster.nodes.values()
        )
        image = self.cluster.nodes[CONTROLLER].image
        topic = None if image is None else image.topic(TOPIC)
        partitions = "" if topic is None else "; ".join(map(str, topic.partitions))
        replicas = "; ".join(
            f"{node} {one.role.name} of {one.leader_id} in epoch {one.leader_epoch}, partition {one.index} up to"
            f" {one.log.log_end_offset}, high watermark {one.high_watermark}"
            for node, one in self.cluster.replicas()
        )
        return f"{nodes}\n  {partitions}\n  {replicas}"
