"""TLS with Apache Kafka on the other side: its tools as clients, and its broker in a cluster that speaks nothing else
inside."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.conftest import BrokerFactory
from tests.support.broker import OdradekProcess, run_java
from tests.support.certificates import LOCAL, PASSWORD, Authority
from tests.support.cluster import ApacheKafkaBroker, await_members
from tests.support.cluster_nodes import CombinedNode
from tests.support.ports import free_ports

pytestmark = pytest.mark.interop

TIMEOUT_S = 60
AUTHORITY = Authority()
SERVER = AUTHORITY.issue("CN=localhost", LOCAL)
CLIENT = AUTHORITY.issue("CN=client,OU=tests")
LINES = [f"line {number}" for number in range(50)]


def stores(directory: Path) -> dict[str, str]:
    """The server's stores in Java's formats, and the settings that name them."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "server.p12").write_bytes(SERVER.pkcs12())
    (directory / "trust.p12").write_bytes(AUTHORITY.pkcs12())
    (directory / "client.p12").write_bytes(CLIENT.pkcs12())
    return {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(directory / "server.p12"),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(directory / "trust.p12"),
        "ssl.truststore.password": PASSWORD,
    }


def test_kafkas_tools_write_and_read_over_tls(new_broker: BrokerFactory, tmp_path: Path) -> None:
    """With the stores that Java has, on both sides, and a certificate of the client's own."""
    plain, port = free_ports(2)
    directory = tmp_path / "tls"
    broker = new_broker(
        {
            "listeners": f"PLAINTEXT://127.0.0.1:{plain},SSL://localhost:{port}",
            "ssl.client.auth": "required",
            **stores(directory),
        }
    )
    assert isinstance(broker, OdradekProcess)
    broker.port = plain
    broker.start()
    settings = directory / "client.properties"
    lines = stores(directory) | {"security.protocol": "SSL", "ssl.keystore.location": str(directory / "client.p12")}
    settings.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    at = ("--bootstrap-server", f"localhost:{port}", "--topic", "t")
    text = "".join(f"{line}\n" for line in LINES).encode()
    run_java("org.apache.kafka.tools.ConsoleProducer", *at, "--command-config", str(settings), stdin=text)
    read = ("--from-beginning", "--max-messages", str(len(LINES)), "--timeout-ms", "30000")
    done = run_java("org.apache.kafka.tools.consumer.ConsoleConsumer", *at, "--command-config", str(settings), *read)
    assert done.stdout.decode().splitlines() == LINES


def test_a_broker_of_apache_kafka_joins_over_tls(tmp_path: Path) -> None:
    """It registers at our controller and replicates with our broker, each side showing a certificate and checking the
    other's name."""
    directory = tmp_path / "tls"
    inner, inner_2 = free_ports(2)
    common = {
        **stores(directory),
        "ssl.client.auth": "required",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INNER:SSL,CONTROLLER:SSL",
        "inter.broker.listener.name": "INNER",
        "offsets.topic.replication.factor": "1",
    }
    node = CombinedNode(tmp_path / "node-1")
    node.open_controller()
    node.overrides |= common | {
        "listeners": f"PLAINTEXT://127.0.0.1:{node.port},INNER://localhost:{inner}"
        f",CONTROLLER://127.0.0.1:{node.controller_port}"
    }
    joined = ApacheKafkaBroker(tmp_path / "node-2", 2, node.voters, common, lambda: node.cluster_id)
    listeners = f"PLAINTEXT://127.0.0.1:{joined.port},INNER://localhost:{inner_2}"
    joined.overrides |= {"listeners": listeners, "advertised.listeners": listeners}
    try:
        node.start()
        joined.start()
        both = f"{node.bootstrap},{joined.bootstrap}"
        await_members([node, joined])
        admin = AdminClient({"bootstrap.servers": both, "log_level": 0})
        admin.create_topics([NewTopic("t", 2, replica_assignment=[[1, 2], [2, 1]])])["t"].result(TIMEOUT_S)
        producer = Producer({"bootstrap.servers": both, "acks": "all"})
        for number, line in enumerate(LINES):
            producer.produce("t", line, partition=number % 2)
        assert producer.flush(TIMEOUT_S) == 0
        partitions = admin.list_topics("t", timeout=TIMEOUT_S).topics["t"].partitions
        assert {number: (one.leader, sorted(one.isrs)) for number, one in partitions.items()} == {
            0: (1, [1, 2]),
            1: (2, [1, 2]),
        }
        assert read_all(both) == sorted(LINES)
    finally:
        joined.discard()
        node.discard()


def read_all(bootstrap: str) -> list[str]:
    """Return what is in the topic."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    found: list[str] = []
    while len(found) < len(LINES):
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        assert message.error() is None, message.error()
        value = message.value()
        assert isinstance(value, bytes)
        found.append(value.decode())
    consumer.close()
    return sorted(found)
