"""A cluster of the project's own nodes: one controller and three brokers, each a process."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.integration.clients import BEGINNING, Confluent
from tests.support.cluster import ClusterBroker, await_members
from tests.support.cluster_nodes import OdradekController
from tests.support.waiting import eventually
from tests.support.wire import WireClient

TIMEOUT_S = 60
TOPIC = "lines"
TOPIC_RESOURCE, BROKER_RESOURCE, BROKER_LOGGER = 2, 4, 8
INVALID_REQUEST = 42


class OwnCluster:
    """The nodes, and what clients see of them."""

    def __init__(self, directory: Path) -> None:
        self.controller = OdradekController(directory / "controller", {"broker.session.timeout.ms": "6000"})
        self.brokers = [
            ClusterBroker(directory / f"broker-{number}", number, self.controller.voters) for number in (1, 2, 3)
        ]

    def start(self) -> None:
        """Start all, and wait until they know each other."""
        self.controller.start()
        for broker in self.brokers:
            broker.start()
        self.bootstrap = ",".join(broker.bootstrap for broker in self.brokers)
        await_members(self.brokers)
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def discard(self) -> None:
        """End all, however they are."""
        for process in (*self.brokers, self.controller):
            process.discard()

    def wait_for_isr(self, isr: list[int]) -> None:
        """Wait until every partition has these replicas in sync, and is led by one of them."""

        def is_so() -> bool:
            found = self.admin.list_topics(TOPIC, TIMEOUT_S).topics[TOPIC].partitions.values()
            return bool(found) and all(sorted(one.isrs) == isr and one.leader in isr for one in found)

        eventually(is_so, f"the ISR is {isr}", TIMEOUT_S)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[OwnCluster]:
    """A cluster with a topic of three replicas."""
    made = OwnCluster(tmp_path)
    try:
        made.start()
        wish = NewTopic(TOPIC, 3, 3, config={"min.insync.replicas": "2"})
        made.admin.create_topics([wish])[TOPIC].result(TIMEOUT_S)
        made.wait_for_isr([1, 2, 3])
        yield made
    finally:
        made.discard()


def produce(cluster: OwnCluster, values: list[bytes]) -> None:
    """Write values; all must be acknowledged by those in sync."""
    failures: list[object] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0, "enable.idempotence": True})
    for number, value in enumerate(values):
        producer.produce(
            TOPIC, value, partition=number % 3, on_delivery=lambda error, _: failures.append(error) if error else None
        )
    assert producer.flush(TIMEOUT_S) == 0
    assert not failures


def read(cluster: OwnCluster) -> list[bytes]:
    """Return all values of the topic, sorted."""
    client = Confluent(cluster.bootstrap)
    found = [one.record.value or b"" for index in range(3) for one in client.read(TOPIC, index, BEGINNING, 90)]
    return sorted(found)


def test_records_outlive_a_broker_and_the_controller(cluster: OwnCluster) -> None:
    """A broker is killed, then the controller: what was acknowledged stays, leaders move, both come back."""
    values = [b"%04d" % number for number in range(270)]
    produce(cluster, values[:90])
    victim = cluster.brokers[0]
    victim.kill()
    cluster.wait_for_isr([2, 3])
    produce(cluster, values[90:180])
    cluster.controller.kill()
    cluster.controller.start()
    victim.start()
    cluster.wait_for_isr([1, 2, 3])
    produce(cluster, values[180:])
    assert read(cluster) == values


def test_loggers_and_configs_are_those_of_the_broker_that_is_asked(cluster: OwnCluster) -> None:
    """Their levels change there, in one request with configs that are the controller's; others are refused, as by
    Kafka's brokers."""
    with WireClient(cluster.brokers[0].port) as client:
        level = {"name": "root", "config_operation": 0, "value": "DEBUG"}
        kept = {"name": "retention.ms", "config_operation": 0, "value": "777"}
        wishes = [
            {"resource_type": BROKER_LOGGER, "resource_name": "1", "configs": [level]},
            {"resource_type": TOPIC_RESOURCE, "resource_name": TOPIC, "configs": [kept]},
            {"resource_type": BROKER_LOGGER, "resource_name": "2", "configs": [level]},
        ]
        answer = client.ask("IncrementalAlterConfigs", 1, resources=wishes)
        assert [one["error_code"] for one in answer["responses"]] == [0, 0, INVALID_REQUEST]

        kept_here = {"name": "log.retention.ms", "config_operation": 0, "value": "888"}
        of_broker = {"resource_type": BROKER_RESOURCE, "configs": [kept_here]}
        wishes = [{**of_broker, "resource_name": name} for name in ("1", "2", "9")]
        answer = client.ask("IncrementalAlterConfigs", 1, resources=wishes)
        assert [one["error_code"] for one in answer["responses"]] == [0, INVALID_REQUEST, INVALID_REQUEST]

        def described(kind: int, name: str, key: str) -> object:
            asked = {"resource_type": kind, "resource_name": name, "configuration_keys": [key]}
            (result,) = client.ask("DescribeConfigs", 4, resources=[asked])["results"]
            return result["configs"][0]["value"]

        assert described(BROKER_LOGGER, "1", "root") == "DEBUG"
        eventually(lambda: described(TOPIC_RESOURCE, TOPIC, "retention.ms") == "777", "the broker knows the config")
