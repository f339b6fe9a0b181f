"""What goes wrong in a simulated cluster, at the seed's chance, and what of it nobody could survive.

Apache Kafka, too, loses what all that were in sync lose at once, and takes each broker that did not stop in order for
one that may have lost something (KIP-966). So while one that has lost power is not in sync again, no other one ends.
"""

from __future__ import annotations

from collections.abc import Callable

from odradek.broker.metadata.image import TopicImage
from tests.simulation.administrator import Administrator
from tests.simulation.clients import PASSING, TOPIC
from tests.simulation.cluster import CONTROLLER, SimulatedCluster, SimulatedNode
from tests.simulation.shape import Fault, Shape


class Faults:
    """Lets things go wrong."""

    def __init__(self, cluster: SimulatedCluster, shape: Shape, administrator: Administrator) -> None:
        self.story: list[str] = []
        """What happened, and when."""
        self._cluster = cluster
        self._world = cluster.world
        self._shape = shape
        self._administrator = administrator
        self._ended: set[int] = set()
        """Brokers that did not stop in order since all were in sync."""
        self._without_power: set[int] = set()
        """Those of them that may have lost something."""
        self._is_recreating = False
        self._kinds = list(shape.faults)
        self._weights = list(shape.faults.values())
        self._deeds: dict[Fault, Callable[[SimulatedNode], None]] = {
            Fault.KILL: self._kill,
            Fault.LOSE_POWER: self._lose_power,
            Fault.STOP: self._stop,
            Fault.REPLACE_DISK: self._replace_disk,
            Fault.STAND_STILL: self._stand_still,
            Fault.CUT: self._cut,
            Fault.SLOW_DISK: self._slow_disk,
            Fault.FULL_DISK: self._full_disk,
            Fault.SLOW_NETWORK: self._slow_network,
            Fault.JUMP: self._jump,
            Fault.END_CONTROLLER: self._end_controller,
            Fault.REASSIGN: self._reassign,
            Fault.CANCEL: self._cancel,
            Fault.ELECT: self._elect,
            Fault.CONFIGURE: self._configure,
            Fault.RECREATE: self._recreate,
        }

    def one(self) -> None:
        """Let one thing go wrong, to some broker."""
        random = self._world.random
        [fault] = random.choices(self._kinds, self._weights)
        self._deeds[fault](random.choice(self._cluster.brokers))

    def end(self) -> None:
        """Let nothing be wrong any more."""
        self.tell("nothing is wrong any more")
        network = self._cluster.network.faults
        network.cut.clear()
        network.slowness = 1.0
        for node in self._cluster.nodes.values():
            node.slow_disk(1)
            node.room_on_disk()
            node.process.stopped_until = 0.0
            node.process.clock_offset_ms = 0
            if not node.is_alive:
                node.start()

    def tell(self, what: str) -> None:
        """Add to the story."""
        self.story.append(f"{self._world.now:8.3f} s  {what}")

    # brokers that end

    def _kill(self, node: SimulatedNode) -> None:
        self._look_who_is_in_sync()
        if node.is_alive and self._without_power <= {node.node_id}:
            self._ended.add(node.node_id)
            self.tell(f"{node.name} is killed")
            node.kill()
            self._start_later(node)

    def _lose_power(self, node: SimulatedNode) -> None:
        self._look_who_is_in_sync()
        if node.is_alive and self._ended <= {node.node_id}:
            self._ended.add(node.node_id)
            self._without_power.add(node.node_id)
            self.tell(f"{node.name} loses power")
            node.kill(kept=None)
            self._start_later(node)

    def _stop(self, node: SimulatedNode) -> None:
        """Until it has stopped it may be killed, so the same holds for it."""
        self._look_who_is_in_sync()
        if self._can_stop(node) and self._without_power <= {node.node_id}:
            self._ended.add(node.node_id)
            self.tell(f"{node.name} is told to stop")

            def stopped() -> None:
                self.tell(f"{node.name} has stopped")
                self._start_later(node)

            node.stop(stopped)

    def _replace_disk(self, node: SimulatedNode) -> None:
        """It has lost all, as it may have when the power failed."""
        self._look_who_is_in_sync()
        if self._can_stop(node) and self._ended <= {node.node_id}:
            self._ended.add(node.node_id)
            self._without_power.add(node.node_id)
            self.tell(f"{node.name} is told to stop, and gets a new disk")

            def stopped() -> None:
                self.tell(f"{node.name} has stopped, and its disk is empty")
                node.replace_disk()
                self._start_later(node)

            node.stop(stopped)

    def _can_stop(self, node: SimulatedNode) -> bool:
        return node.is_alive and node.partitions is not None and not node.is_stopping

    def _end_controller(self, _node: SimulatedNode) -> None:
        controller = self._cluster.nodes[CONTROLLER]
        if controller.is_alive:
            self.tell("the controller loses power")
            controller.kill(kept=None)
            self._start_later(controller)

    def _start_later(self, node: SimulatedNode) -> None:
        def start() -> None:
            if not node.is_alive:
                self.tell(f"{node.name} starts")
                node.room_on_disk()
                node.start()

        self._world.after(self._world.random.choice(self._shape.away_s), start)

    def _look_who_is_in_sync(self) -> None:
        if self._ended and self._cluster.all_in_sync():
            self._ended.clear()
            self._without_power.clear()

    # brokers, disks, clocks and networks that do not do what they should

    def _stand_still(self, node: SimulatedNode) -> None:
        seconds = self._world.random.choice((0.3, 1.0, self._shape.session_s + 2))
        self.tell(f"{node.name} stands still for {seconds:g} s")
        node.process.stopped_until = self._world.now + seconds

    def _slow_disk(self, node: SimulatedNode) -> None:
        self.tell(f"the disk of {node.name} is slow")
        node.slow_disk(self._world.random.choice((1, 20, 200)))

    def _full_disk(self, node: SimulatedNode) -> None:
        """Of a broker that serves: one that starts ends with a sentence that says so, and somebody makes room first."""
        if node.partitions is None:
            return
        self.tell(f"the disk of {node.name} is full")
        node.fill_disk(self._world.random.choice((0, 0, 300)))

        def make_room() -> None:
            self.tell(f"there is room on the disk of {node.name}")
            node.room_on_disk()

        self._world.after(self._world.random.uniform(0.2, self._shape.session_s + 3), make_room)

    def _slow_network(self, _node: SimulatedNode) -> None:
        slowness = self._world.random.choice((1, 1, 20, 100))
        self.tell(f"the network is {slowness} times as slow as usual")
        self._cluster.network.faults.slowness = slowness

    def _jump(self, node: SimulatedNode) -> None:
        milliseconds = self._world.random.choice((-60_000, -1000, 1000, 60_000))
        self.tell(f"the clock of {node.name} jumps by {milliseconds} ms")
        node.process.clock_offset_ms += milliseconds

    def _cut(self, node: SimulatedNode) -> None:
        random = self._world.random
        others = self._cluster.nodes.values() if self._shape.cuts_controller else self._cluster.brokers
        other = random.choice([one for one in others if one is not node])
        there, back = (node.name, other.name), (other.name, node.name)
        ways = random.choice(([there], [back], [there, back]))
        self.tell(" and ".join(f"nothing arrives from {sender} at {receiver}" for sender, receiver in ways))
        self._cluster.network.faults.cut.update(ways)

        def heal() -> None:
            self.tell("healed: " + " and ".join(f"{sender} to {receiver}" for sender, receiver in ways))
            self._cluster.network.faults.cut.difference_update(ways)

        self._world.after(random.uniform(*self._shape.cut_s), heal)

    # administrators

    def _reassign(self, _node: SimulatedNode) -> None:
        random, shape = self._world.random, self._shape
        partition = random.randrange(shape.partitions)
        replicas = random.sample(range(1, shape.brokers + 1), shape.replicas)
        self.tell(f"partition {partition} is to be on {replicas}")
        self._administrator.reassign(partition, replicas)

    def _cancel(self, _node: SimulatedNode) -> None:
        topic = self._topic()
        for index, partition in enumerate(topic.partitions if topic is not None else ()):
            if partition.adding_replicas or partition.removing_replicas:
                self.tell(f"partition {index} is to stay where it was")
                self._administrator.reassign(index, None)

    def _elect(self, _node: SimulatedNode) -> None:
        self.tell("the preferred replicas are to lead")
        self._administrator.elect()

    def _configure(self, _node: SimulatedNode) -> None:
        """Another min.insync.replicas makes the controller forget who may lead (KIP-966), as in Apache Kafka; where
        nobody leads, nobody ever would."""
        key, values = self._world.random.choice(
            (
                ("min.insync.replicas", ("2", str(self._shape.replicas))),
                ("flush.messages", ("1", "3", str((1 << 63) - 1))),
                ("internal.segment.bytes", ("400", "1000", "100000")),
                ("segment.ms", ("500", "100000")),
                ("max.message.bytes", ("1000", "1000000")),
            )
        )
        if key == "min.insync.replicas" and not self._cluster.all_in_sync():
            return
        value = self._world.random.choice(values)
        self.tell(f"{key} is to be {value}")
        self._administrator.configure(key, value)

    def _recreate(self, _node: SimulatedNode) -> None:
        if self._is_recreating:
            return
        self._is_recreating = True
        self.tell(f"the topic {PASSING} is to go, and to come again")

        def again() -> None:
            self._administrator.create(PASSING, 1, self._shape.replicas, {}, there)

        def there() -> None:
            self.tell(f"there is a new topic {PASSING}")
            self._is_recreating = False

        self._administrator.delete(PASSING, again)

    def _topic(self) -> TopicImage | None:
        image = self._cluster.nodes[CONTROLLER].image
        return None if image is None else image.topic(TOPIC)
