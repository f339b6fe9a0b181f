"""Three brokers of Apache Kafka, or of odradek, each in a rack of its own; the first one is the controller, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess
from tests.support.ports import free_ports

CONTROLLER = 1
HEAP = "256m"


class KafkaCluster:
    """The brokers by their ids; `bootstrap` names all of them."""

    def __init__(self, directory: Path, overrides: Mapping[str, str]) -> None:
        controller_port, *ports = free_ports(4)
        self.brokers: dict[int, BrokerProcess] = {}
        for node, port in enumerate(ports, CONTROLLER):
            listeners = f"PLAINTEXT://127.0.0.1:{port}"
            roles = "broker"
            if node == CONTROLLER:
                listeners, roles = f"{listeners},CONTROLLER://127.0.0.1:{controller_port}", "broker,controller"
            settings = {
                "process.roles": roles,
                "node.id": str(node),
                "controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{controller_port}",
                "listeners": listeners,
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
                "broker.rack": f"rack-{node}",
            }
            self.brokers[node] = broker = self._make(directory / f"broker-{node}", {**settings, **overrides})
            broker.port = port

    def _make(self, directory: Path, settings: Mapping[str, str]) -> BrokerProcess:
        """Return a broker that does not run yet."""
        raise NotImplementedError

    @property
    def bootstrap(self) -> str:
        """Where clients connect."""
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    def start(self) -> None:
        """Start all of them, and return once they serve."""
        with ThreadPoolExecutor() as threads:  # each has to be formatted by a program of its own
            list(threads.map(lambda broker: broker.start(), self.brokers.values()))

    def discard(self) -> None:
        """End all of them, however they are."""
        for broker in self.brokers.values():
            broker.discard()


class ApacheKafkaCluster(KafkaCluster):
    """Brokers of Apache Kafka."""

    def _make(self, directory: Path, settings: Mapping[str, str]) -> BrokerProcess:
        return ApacheKafkaProcess(directory, settings, HEAP)


class OdradekCluster(KafkaCluster):
    """Brokers of ours."""

    def _make(self, directory: Path, settings: Mapping[str, str]) -> BrokerProcess:
        return OdradekProcess(directory, settings)


@contextmanager
def running_cluster(directory: Path, overrides: Mapping[str, str]) -> Iterator[ApacheKafkaCluster]:
    """Three brokers that run."""
    cluster = ApacheKafkaCluster(directory, overrides)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.discard()
