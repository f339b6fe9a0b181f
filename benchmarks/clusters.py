"""Three brokers and a controller as processes of this machine: odradek's or Apache Kafka's, with the same settings.

The controller is a process of its own, since what brokers take is measured. The nodes of a `Cluster` can be killed,
stopped, paused and started again on their directories.
"""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from benchmarks import machine, wire
from benchmarks.target import Broker, Prepared, Target, free_port
from benchmarks.wire import ClusterImage

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTROLLER = 100
_READY_SECONDS = 90
_POLL_SECONDS = 0.01


class Cluster:
    """A controller and brokers that serve; a context manager that kills them."""

    def __init__(
        self, target: Target, directory: Path, brokers: int = 3, overrides: Mapping[str, str] | None = None
    ) -> None:
        """Start a controller and `brokers` brokers with ids from 1 on, and wait until all of them are unfenced."""
        self._target = target
        self._directory = directory
        self._overrides = overrides or {}
        self._cluster_id = base64.urlsafe_b64encode(b"\1" + os.urandom(15)).decode().rstrip("=")
        self._controller_port = free_port()
        self._prepared: dict[int, Prepared] = {}
        self._topics = 0
        self.nodes: dict[int, Broker] = {}
        """Those that run, by their ids."""
        directory.mkdir(parents=True)
        try:
            self.start(CONTROLLER, *range(1, brokers + 1))
            self.await_brokers(range(1, brokers + 1))
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def __getitem__(self, node_id: int) -> Broker:
        return self.nodes[node_id]

    @property
    def brokers(self) -> Sequence[Broker]:
        """The brokers that run, without the controller."""
        return [node for node_id, node in sorted(self.nodes.items()) if node_id != CONTROLLER]

    @property
    def bootstrap(self) -> str:
        """All brokers that run, as a client is told of them."""
        return ",".join(f"{host}:{port}" for host, port in (broker.address for broker in self.brokers))

    def log_directory(self, node_id: int) -> Path:
        """Where a broker keeps its partitions."""
        return self._directory / f"node-{node_id}"

    def start(self, *node_ids: int) -> None:
        """Start nodes, new or again, and wait for the first answer of each."""
        for node_id in node_ids:
            if node_id not in self._prepared:
                self._prepared[node_id] = self._prepare(node_id)
            self.nodes[node_id] = self._prepared[node_id].launch()
        for node_id in node_ids:
            self.nodes[node_id].await_answer()

    def kill(self, *node_ids: int) -> None:
        """End nodes at once, all of them where none is named."""
        for node_id in node_ids or sorted(self.nodes):
            self.nodes.pop(node_id).kill()

    def stop(self, node_id: int) -> float:
        """Ask a node to stop and return how many seconds that took."""
        return self.nodes.pop(node_id).stop()

    def image(self, topics: Sequence[str] | None = (), asked: int | None = None) -> ClusterImage:
        """What a broker, the first that runs or the one `asked`, knows of the cluster and of some topics, or of all."""
        broker = self.brokers[0] if asked is None else self.nodes[asked]
        with broker.connect() as connection:
            return wire.cluster_image(connection.ask(wire.metadata(topics)))

    def await_brokers(self, node_ids: Sequence[int]) -> None:
        """Wait until every broker that runs knows that all of these are there; WireError when that takes too long."""
        self.until(
            lambda: all(set(node_ids) <= self.image(asked=asked).brokers.keys() for asked in self._broker_ids()),
            "the brokers do not see each other",
        )

    def make_topic(self, name: str, assignments: Sequence[Sequence[int]]) -> None:
        """Create a topic with these replicas of its partitions, and wait until all are in sync."""
        with self.brokers[0].connect() as connection:
            topic = wire.NewTopic(name, assignments=assignments)
            wire.check_created(connection.ask(wire.create_topics([topic])))
        self.await_in_sync(name, len(assignments))

    @contextlib.contextmanager
    def topic(self, name: str, assignments: Sequence[Sequence[int]]) -> Iterator[str]:
        """A new topic whose name begins with `name`, with these replicas of its partitions; deleted at the end."""
        self._topics += 1
        full_name = f"{name}-{self._topics}"
        self.make_topic(full_name, assignments)
        try:
            yield full_name
        finally:
            with self.brokers[0].connect() as connection:
                connection.ask(wire.delete_topics([full_name]))

    def await_in_sync(self, topic: str, partitions: int, seconds: float = _READY_SECONDS) -> None:
        """Wait until every broker says that all replicas of a topic are in sync."""

        def is_so() -> bool:
            for asked in self._broker_ids():
                found = self.image([topic], asked).partitions.get(topic, {})
                if len(found) < partitions or any(set(one.isr) != set(one.replicas) for one in found.values()):
                    return False
            return True

        self.until(is_so, f"the replicas of {topic} are not in sync", seconds)

    def leader_of(self, topic: str, partition: int = 0) -> int:
        """The broker that leads a partition, as the first that runs knows it; -1 for none."""
        return self.image([topic]).partitions[topic][partition].leader

    @staticmethod
    def until(condition: Callable[[], bool], otherwise: str, seconds: float = _READY_SECONDS) -> float:
        """Wait until a condition holds, and return how long that took; WireError when it takes too long."""
        began = time.monotonic()
        while True:
            with contextlib.suppress(ConnectionError, wire.WireError):
                if condition():
                    return time.monotonic() - began
            if time.monotonic() - began > seconds:
                raise wire.WireError(f"after {seconds:.0f} s: {otherwise}")
            time.sleep(_POLL_SECONDS)

    def cpu_seconds(self) -> dict[int, float]:
        """User and system CPU seconds that each broker has used so far."""
        return {node_id: machine.cpu_seconds(self.nodes[node_id].pid) for node_id in self._broker_ids()}

    def signal(self, node_id: int, number: signal.Signals) -> None:
        """Send a node a signal."""
        os.kill(self.nodes[node_id].pid, number)

    def _broker_ids(self) -> Iterator[int]:
        return (node_id for node_id in sorted(self.nodes) if node_id != CONTROLLER)

    def _prepare(self, node_id: int) -> Prepared:
        port = self._controller_port if node_id == CONTROLLER else free_port()
        listener, role = ("CONTROLLER", "controller") if node_id == CONTROLLER else ("PLAINTEXT", "broker")
        settings = {
            "process.roles": role,
            "node.id": str(node_id),
            "controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "listeners": f"{listener}://127.0.0.1:{port}",
            "group.initial.rebalance.delay.ms": "0",
            **self._overrides,
        }
        directory = self.log_directory(node_id)
        return Prepared(self._target.node_command(directory, settings, self._cluster_id), port, directory)
