"""A broker with the controller of its cluster in one process, grown from a single node, and a broker that joins it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.integration.clients import BEGINNING, Confluent
from tests.support.cluster import ClusterBroker, await_members
from tests.support.cluster_nodes import CombinedNode
from tests.support.waiting import eventually

TIMEOUT_S = 60
OLD, NEW = "of-the-single-node", "of-the-cluster"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[CombinedNode]:
    """A node that does not run yet."""
    made = CombinedNode(tmp_path / "node-1")
    yield made
    made.discard()


@pytest.fixture
def joining(tmp_path: Path, node: CombinedNode) -> Iterator[ClusterBroker]:
    """A broker that has the node as its controller, and does not run yet."""
    made = ClusterBroker(tmp_path / "node-2", 2, node.voters)
    yield made
    made.discard()


def produce(bootstrap: str, topic: str, values: list[bytes]) -> None:
    """Write values to partition 0; all must be acknowledged by those in sync."""
    failures: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "enable.idempotence": True})
    for value in values:
        producer.produce(
            topic, value, partition=0, on_delivery=lambda error, _: failures.append(error) if error else None
        )
    assert producer.flush(TIMEOUT_S) == 0
    assert not failures


def read(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """Return the values of partition 0."""
    return [one.record.value or b"" for one in Confluent(bootstrap).read(topic, 0, BEGINNING, count)]


def create(admin: AdminClient, topic: str, replicas: int) -> None:
    """Make a topic of one partition."""
    admin.create_topics([NewTopic(topic, 1, replicas)])[topic].result(TIMEOUT_S)


def wait_for(admin: AdminClient, topic: str, isr: list[int]) -> None:
    """Wait until these replicas of a topic's partition are in sync, and one of them leads."""

    def is_so() -> bool:
        found = admin.list_topics(topic, TIMEOUT_S).topics[topic].partitions
        return bool(found) and sorted(found[0].isrs) == isr and found[0].leader in isr

    eventually(is_so, f"the ISR of {topic} is {isr}", TIMEOUT_S)


@pytest.mark.parametrize("in_order", [True, False])
def test_a_single_node_becomes_the_first_of_a_cluster(
    node: CombinedNode, joining: ClusterBroker, in_order: bool
) -> None:
    """What it has stays, a second broker joins, and what both acknowledged outlives a kill of either."""
    values = [b"%04d" % number for number in range(120)]
    node.start()
    create(AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 0}), OLD, 1)
    produce(node.bootstrap, OLD, values[:30])
    if in_order:
        assert node.stop() == 0
    else:
        node.kill()
    node.open_controller()
    node.start()
    assert read(node.bootstrap, OLD, 30) == values[:30]
    joining.start()
    both = f"{node.bootstrap},{joining.bootstrap}"
    await_members([node, joining])
    admin = AdminClient({"bootstrap.servers": both, "log_level": 0})
    create(admin, NEW, 2)
    wait_for(admin, NEW, [1, 2])
    produce(both, NEW, values[:30])

    joining.kill()
    wait_for(admin, NEW, [1])
    produce(both, NEW, values[30:60])
    joining.start()
    wait_for(admin, NEW, [1, 2])

    node.kill()
    node.start()
    wait_for(admin, NEW, [1, 2])
    produce(both, NEW, values[60:90])

    assert "waits for the end of the session" not in node.log  # nobody else can have its id
    assert node.stop() == 0
    node.start()
    wait_for(admin, NEW, [1, 2])
    produce(both, NEW, values[90:])
    produce(both, OLD, values[30:])
    assert read(both, NEW, 120) == values
    assert read(both, OLD, 120) == values


def test_a_broker_that_cannot_start_ends_its_controller(node: CombinedNode, tmp_path: Path) -> None:
    """A port that is taken is told in one sentence, and the directory is as good as before."""
    node.open_controller()
    other = CombinedNode(tmp_path / "other")
    other.port = node.port
    other.start()
    try:
        node.launch()
        assert node.wait() == 1
        assert "cannot be opened" in node.log
    finally:
        other.discard()
    node.start()
