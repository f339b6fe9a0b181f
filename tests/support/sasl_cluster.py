"""Clusters whose nodes log in at each other: PLAIN at the controller, SCRAM-SHA-512 between brokers.

The first node is broker and controller. Clients come in without a log-in, so that tests need none.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess
from tests.support.cluster import await_members
from tests.support.ports import free_ports
from tests.support.scram_users import set_scram_password
from tests.support.waiting import eventually

NODE_USER, NODE_PASSWORD = "node", "node-secret"
TIMEOUT_S = 60
_SECURITY = "org.apache.kafka.common.security"


class SaslCluster:
    """Nodes of either kind, by whether they are Apache Kafka."""

    def __init__(
        self,
        directory: Path,
        are_kafka: Sequence[bool],
        session_ms: int = 0,
        tls: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Sessions of connections between brokers end after `session_ms`; with settings of TLS nodes speak that."""
        self._protocol = "SASL_SSL" if tls else "SASL_PLAINTEXT"
        self._tls = tls
        self._controller, *ports = free_ports(1 + 2 * len(are_kafka))
        self.nodes: list[BrokerProcess] = []
        self.internal_ports = ports[1::2]
        for place, is_kafka in enumerate(are_kafka):
            node_id, plain, internal = place + 1, ports[2 * place], ports[2 * place + 1]
            kind = ApacheKafkaProcess if is_kafka else OdradekProcess
            node = kind(directory / f"node-{node_id}", self._settings(node_id, plain, internal, session_ms))
            node.port = plain
            self.nodes.append(node)

    def _settings(self, node_id: int, plain: int, internal: int, session_ms: int) -> dict[str, str]:
        listeners = f"PLAINTEXT://127.0.0.1:{plain},INTERNAL://127.0.0.1:{internal}"
        has_controller = node_id == 1
        login = f'username="{NODE_USER}" password="{NODE_PASSWORD}"'
        return {
            "process.roles": "broker,controller" if has_controller else "broker",
            "node.id": str(node_id),
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller}",
            "listeners": listeners + (f",CONTROLLER://127.0.0.1:{self._controller}" if has_controller else ""),
            "advertised.listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": (
                f"PLAINTEXT:PLAINTEXT,INTERNAL:{self._protocol},CONTROLLER:{self._protocol}"
            ),
            "inter.broker.listener.name": "INTERNAL",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            "listener.name.internal.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
            "listener.name.controller.plain.sasl.jaas.config": (
                f'{_SECURITY}.plain.PlainLoginModule required {login} user_{NODE_USER}="{NODE_PASSWORD}";'
            ),
            "listener.name.internal.scram-sha-512.sasl.jaas.config": (
                f"{_SECURITY}.scram.ScramLoginModule required {login};"
            ),
            "listener.name.internal.scram-sha-512.connections.max.reauth.ms": str(session_ms),
            "offsets.topic.replication.factor": "1",
            "delegation.token.secret.key": "master",
            **self._tls,
        }

    def start(self) -> None:
        """Start all nodes, and give the user of their connections a password."""
        first, *others = self.nodes
        first.start()
        set_scram_password(first.bootstrap, NODE_USER, NODE_PASSWORD, "SCRAM-SHA-512")
        meta = (first.data / "meta.properties").read_text()
        cluster_id = next(line.partition("=")[2] for line in meta.splitlines() if line.startswith("cluster.id="))
        for node in others:
            if isinstance(node, ApacheKafkaProcess):
                node.format(cluster_id)
            node.start()
        await_members(self.nodes)

    @property
    def bootstrap(self) -> str:
        """Where clients connect."""
        return ",".join(node.bootstrap for node in self.nodes)

    @property
    def admin(self) -> AdminClient:
        """A client."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def make_topic(self, name: str, partitions: int) -> None:
        """Create a topic with a replica on every node, and wait until all are in sync."""
        admin = self.admin
        admin.create_topics([NewTopic(name, partitions, len(self.nodes))])[name].result(TIMEOUT_S)
        eventually(lambda: self.is_in_sync(name), f"all replicas of {name} are in sync", TIMEOUT_S)

    def is_in_sync(self, name: str) -> bool:
        """Tell whether all replicas of a topic are in sync."""
        found = self.admin.list_topics(name, TIMEOUT_S).topics[name].partitions.values()
        return bool(found) and all(len(one.isrs) == len(self.nodes) for one in found)

    def produce(self, name: str, partitions: int, count: int) -> None:
        """Produce so many records to each partition, one after the other, acknowledged by all replicas."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "acks": "all"})
        for number in range(count):
            for partition in range(partitions):
                producer.produce(name, f"{number}", partition=partition)
            assert producer.flush(TIMEOUT_S) == 0

    def count(self, name: str, partition: int) -> int:
        """Return how many records a partition has."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "g"})
        try:
            low, high = consumer.get_watermark_offsets(TopicPartition(name, partition), TIMEOUT_S)
        finally:
            consumer.close()
        return int(high - low)

    def discard(self) -> None:
        """End all nodes."""
        for node in self.nodes:
            node.discard()
