"""A broker of Apache Kafka joins a node of the project that is broker and controller in one process."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.integration.clients import BEGINNING, Confluent
from tests.support.cluster import ApacheKafkaBroker, await_members
from tests.support.cluster_nodes import CombinedNode
from tests.support.waiting import eventually

pytestmark = pytest.mark.interop

TIMEOUT_S = 60
TOPIC = "lines"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[CombinedNode]:
    """A broker and controller."""
    made = CombinedNode(tmp_path / "node-1")
    made.open_controller()
    made.start()
    yield made
    made.discard()


@pytest.fixture
def joined(tmp_path: Path, node: CombinedNode) -> Iterator[ApacheKafkaBroker]:
    """A broker of Apache Kafka in its cluster."""
    made = node.apache_kafka_broker(tmp_path / "node-2", 2)
    try:
        made.start()
        yield made
    finally:
        made.discard()


def test_each_goes_on_where_the_other_was_killed(node: CombinedNode, joined: ApacheKafkaBroker) -> None:
    """What both have acknowledged is read, once and in order."""
    await_members([node, joined])
    both = f"{node.bootstrap},{joined.bootstrap}"
    admin = AdminClient({"bootstrap.servers": both, "log_level": 0})

    def has(isr: list[int]) -> bool:
        found = admin.list_topics(TOPIC, TIMEOUT_S).topics[TOPIC].partitions
        return bool(found) and sorted(found[0].isrs) == isr and found[0].leader in isr

    def produce(values: list[bytes]) -> None:
        failures: list[object] = []
        producer = Producer({"bootstrap.servers": both, "log_level": 0, "enable.idempotence": True})
        for value in values:
            producer.produce(
                TOPIC, value, partition=0, on_delivery=lambda error, _: failures.append(error) if error else None
            )
        assert producer.flush(TIMEOUT_S) == 0
        assert not failures

    admin.create_topics([NewTopic(TOPIC, 1, 2)])[TOPIC].result(TIMEOUT_S)
    values = [b"%04d" % number for number in range(90)]
    eventually(lambda: has([1, 2]), "both are in sync", TIMEOUT_S)
    produce(values[:30])
    node.kill()
    node.start()
    eventually(lambda: has([1, 2]), "both are in sync", TIMEOUT_S)
    produce(values[30:60])
    joined.kill()
    eventually(lambda: has([1]), "the node leads", TIMEOUT_S)
    produce(values[60:])
    joined.start()
    eventually(lambda: has([1, 2]), "both are in sync", TIMEOUT_S)
    found = Confluent(both).read(TOPIC, 0, BEGINNING, 90)
    assert [one.record.value for one in found] == values
