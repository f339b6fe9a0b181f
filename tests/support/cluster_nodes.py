"""Nodes of one role each, in processes of their own, for tests with several of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.broker import OdradekProcess
from tests.support.cluster import HEARTBEATS, PROTOCOLS, ApacheKafkaBroker
from tests.support.ports import free_ports

CONTROLLER_ID = 3000


class OdradekController(OdradekProcess):
    """A controller alone, node 3000, whose port stays the same over its starts: brokers know it by that."""

    def __init__(self, directory: Path, overrides: Mapping[str, str] | None = None) -> None:
        super().__init__(directory, overrides)
        (self.port,) = free_ports(1)

    @property
    def voters(self) -> str:
        """What brokers are given as controller.quorum.voters."""
        return f"{CONTROLLER_ID}@127.0.0.1:{self.port}"

    @property
    def cluster_id(self) -> str:
        """The id that it made at its first start."""
        return _cluster_id(self)

    def apache_kafka_broker(self, directory: Path, node_id: int) -> ApacheKafkaBroker:
        """Return a broker of Apache Kafka that is to join."""
        few = {"offsets.topic.num.partitions": "3", "offsets.topic.replication.factor": "3"}
        return ApacheKafkaBroker(directory, node_id, self.voters, few, lambda: self.cluster_id)

    def _command(self) -> Sequence[str]:
        self.overrides = {
            "process.roles": "controller",
            "node.id": str(CONTROLLER_ID),
            "controller.quorum.voters": self.voters,
            "listeners": f"CONTROLLER://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": PROTOCOLS,
        } | self.overrides
        return super()._command()


class CombinedNode(OdradekProcess):
    """Node 1: alone until `open_controller`, from its next start on broker and controller of a cluster."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, {"offsets.topic.replication.factor": "1", "group.initial.rebalance.delay.ms": "0"})
        self.port, self.controller_port = free_ports(2)

    @property
    def voters(self) -> str:
        """What brokers are given as controller.quorum.voters."""
        return f"1@127.0.0.1:{self.controller_port}"

    def open_controller(self) -> None:
        """Have a listener of the controller from the next start on."""
        self.overrides |= {
            "process.roles": "broker,controller",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": self.voters,
            "listener.security.protocol.map": PROTOCOLS,
            "broker.session.timeout.ms": "3000",
            **HEARTBEATS,
        }

    @property
    def cluster_id(self) -> str:
        """The id that it made at its first start."""
        return _cluster_id(self)

    def apache_kafka_broker(self, directory: Path, node_id: int) -> ApacheKafkaBroker:
        """Return a broker of Apache Kafka that is to join."""
        few = {"offsets.topic.num.partitions": "3", "offsets.topic.replication.factor": "3"}
        return ApacheKafkaBroker(directory, node_id, self.voters, few, lambda: self.cluster_id)


def _cluster_id(node: OdradekProcess) -> str:
    lines = (node.data / "meta.properties").read_text().splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith("cluster.id="))
