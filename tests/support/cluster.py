"""Clusters of several processes: Apache Kafka's controllers, and brokers of this project that join them."""

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.support.broker import (
    CLUSTER_ID,
    STOP_TIMEOUT_S,
    ApacheKafkaProcess,
    BrokerProcess,
    OdradekProcess,
    java_command,
    run_java,
)
from tests.support.ports import free_ports
from tests.support.waiting import eventually
from tests.support.wire import WireClient

FIRST_CONTROLLER = 101
PROTOCOLS = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"
HEARTBEATS = {"broker.heartbeat.interval.ms": "500"}
"""Sessions are short in tests: with Kafka's 2,000 one late heartbeat on a busy machine would end them."""


def await_members(brokers: Sequence[BrokerProcess]) -> None:
    """Wait until each of these brokers tells of as many.

    Only then is a client made: librdkafka drops a broker that another one does not know yet, and what it was about to
    ask there.
    """

    def knows_all(broker: BrokerProcess) -> bool:
        with WireClient(broker.port) as wire:
            return len(wire.ask("Metadata", 9, topics=[])["brokers"]) == len(brokers)

    eventually(lambda: all(map(knows_all, brokers)), "all know each other", 60)


class ApacheKafkaControllers:
    """Unmodified controllers of Apache Kafka, one static quorum; ids from `FIRST_CONTROLLER` on."""

    def __init__(self, directory: Path, count: int, overrides: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.features: dict[str, int] = {}
        """Levels that a new cluster begins with, where they are not those of the latest Kafka."""
        self.ports = free_ports(count)
        self.overrides = dict(overrides or {})
        self.cluster_id = CLUSTER_ID
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def ids(self) -> list[int]:
        """Of all of them."""
        return [FIRST_CONTROLLER + index for index in range(len(self.ports))]

    @property
    def voters(self) -> str:
        """The value of controller.quorum.voters."""
        return ",".join(f"{node}@127.0.0.1:{port}" for node, port in zip(self.ids, self.ports, strict=True))

    def start(self, nodes: Sequence[int] | None = None) -> None:
        """Start them, or some of them, formatted first if they are new; returns when they listen."""
        for node in nodes or self.ids:
            home = self.directory / str(node)
            if not (home / "data" / "meta.properties").exists():
                home.mkdir(parents=True)
                self._write_properties(node)
                format_ = ("format", "-t", self.cluster_id, "-c", str(home / "server.properties"))
                levels = [word for name, level in self.features.items() for word in ("-f", f"{name}={level}")]
                run_java("kafka.tools.StorageTool", *format_, *levels)
            output = (home / "log.txt").open("ab")
            command = java_command("kafka.Kafka", str(home / "server.properties"), heap="256m")
            self._processes[node] = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
            )
            output.close()
        for node in nodes or self.ids:
            eventually(lambda node=node: self._listens(node), f"controller {node} listens\n{self.log(node)}", 60)  # type: ignore[misc]  # a lambda with a default

    def log(self, node: int) -> str:
        """What a controller wrote."""
        path = self.directory / str(node) / "log.txt"
        return path.read_text(errors="replace") if path.exists() else ""

    def stop(self, node: int, number: signal.Signals = signal.SIGTERM) -> None:
        """End a controller, in order by default."""
        process = self._processes.pop(node)
        process.send_signal(number)
        process.wait(STOP_TIMEOUT_S)

    def discard(self) -> None:
        """End all that run, however they are."""
        for process in self._processes.values():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._processes.clear()

    def _listens(self, node: int) -> bool:
        assert self._processes[node].poll() is None, f"controller {node} ended\n{self.log(node)}"
        try:
            socket.create_connection(("127.0.0.1", self.ports[node - FIRST_CONTROLLER]), 1).close()
        except OSError:
            return False
        return True

    def _write_properties(self, node: int) -> None:
        home = self.directory / str(node)
        settings = {
            "process.roles": "controller",
            "node.id": str(node),
            "controller.quorum.voters": self.voters,
            "listeners": f"CONTROLLER://127.0.0.1:{self.ports[node - FIRST_CONTROLLER]}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": PROTOCOLS,
            "log.dirs": str(home / "data"),
            **self.overrides,
        }
        (home / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))


class ClusterBroker(OdradekProcess):
    """A broker of this project in a cluster whose controllers are elsewhere."""

    def __init__(self, directory: Path, node_id: int, voters: str, overrides: Mapping[str, str] | None = None) -> None:
        settings = {
            "process.roles": "broker",
            "node.id": str(node_id),
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": PROTOCOLS,
            "offsets.topic.replication.factor": "1",
            "group.initial.rebalance.delay.ms": "0",
            **HEARTBEATS,
            **(overrides or {}),
        }
        super().__init__(directory, settings)


class ApacheKafkaBroker(ApacheKafkaProcess):
    """An unmodified broker of Apache Kafka in a cluster whose controllers are elsewhere."""

    def __init__(
        self,
        directory: Path,
        node_id: int,
        voters: str,
        overrides: Mapping[str, str] | None = None,
        cluster_id: Callable[[], str] | None = None,
    ) -> None:
        """`cluster_id` tells that of controllers that have made their own, which must run when this one is new."""
        [port] = free_ports(1)
        settings = {
            "process.roles": "broker",
            "node.id": str(node_id),
            "controller.quorum.voters": voters,
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
            **HEARTBEATS,
            **(overrides or {}),
        }
        super().__init__(directory, settings, heap="384m")
        self.port = port
        self._cluster_id = cluster_id

    def format(self, cluster_id: str = CLUSTER_ID) -> None:
        """Give an empty log directory the identity of the cluster."""
        super().format(cluster_id if self._cluster_id is None else self._cluster_id())
