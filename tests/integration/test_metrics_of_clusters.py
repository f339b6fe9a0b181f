"""What the nodes of a cluster tell: each of its share, and the controller of the whole."""

import re
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.conftest import AGAINST_APACHE_KAFKA
from tests.support.broker import BrokerProcess
from tests.support.cluster import ClusterBroker
from tests.support.cluster_nodes import OdradekController
from tests.support.scraped import get, scrape
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="the pages are odradek's own")

HTTP = {"odradek.http.listener": "127.0.0.1:0"}
SESSION = {"broker.session.timeout.ms": "6000"}
MANAGER = "kafka_server_replicamanager_"


def http_of(node: BrokerProcess) -> str:
    """Return where a node's pages are."""
    found: list[str] = re.findall(r"http://(127\.0\.0\.1:\d+)", node.log)
    return found[-1]


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[OdradekController, ClusterBroker, ClusterBroker]]:
    """A controller and two brokers, each with a port for metrics."""
    controller = OdradekController(tmp_path / "controller", {**HTTP, **SESSION})
    brokers = [ClusterBroker(tmp_path / str(node), node, controller.voters) for node in (1, 2)]
    for broker in brokers:
        broker.overrides |= {**HTTP, **SESSION}
    controller.start()
    for broker in brokers:
        broker.start()
    yield controller, brokers[0], brokers[1]
    for node in (*brokers, controller):
        node.discard()


def test_each_node_tells_of_its_share(nodes: tuple[OdradekController, ClusterBroker, ClusterBroker]) -> None:
    """And of what is missing once a broker is gone."""
    controller, first, second = nodes
    assert get(http_of(controller), "/ready") == (200, "ready\n")
    for broker in (first, second):
        eventually(lambda at=broker: get(http_of(at), "/ready")[0] == 200, "the broker to be ready")  # type: ignore[misc]  # a lambda with a default
    admin = AdminClient({"bootstrap.servers": first.bootstrap})
    admin.create_topics([NewTopic("t", 2, 2)])["t"].result(60)
    producer = confluent_kafka.Producer({"bootstrap.servers": first.bootstrap})
    for number in range(100):
        producer.produce("t", b"x" * 100, partition=number % 2)
    assert producer.flush(60) == 0

    pages = [scrape(http_of(broker)) for broker in (first, second)]
    assert sum(page.value(f"{MANAGER}leadercount") for page in pages) == 2
    assert [page.value(f"{MANAGER}partitioncount") for page in pages] == [2, 2]
    assert sum(sum(page.of("kafka_topic_partition_current_offset", topic="t")) for page in pages) == 100
    name = "kafka_server_brokertopicmetrics_messagesin_total"
    assert sum(sum(page.of(name, topic="t")) for page in pages) == 100
    assert sum(page.value("kafka_server_brokertopicmetrics_replicationbytesout_total") for page in pages) > 10_000
    name = "kafka_server_brokertopicmetrics_replicationbytesin_total"
    assert sum(page.value(name) for page in pages) > 10_000
    assert [page.value("kafka_server_replicafetchermanager_maxlag", clientId="Replica") for page in pages] == [0, 0]
    followers = [sum(page.of("kafka_network_requestmetrics_requests_total", request="FetchFollower")) for page in pages]
    assert max(followers) > 0
    assert pages[0].value("kafka_brokers") == 2
    assert not pages[0].of("kafka_controller_kafkacontroller_activecontrollercount")
    of_controller = scrape(http_of(controller))
    assert of_controller.value("kafka_controller_kafkacontroller_activecontrollercount") == 1
    assert of_controller.value("kafka_controller_controllerstats_uncleanleaderelections_total") == 0
    assert of_controller.value("kafka_controller_kafkacontroller_activebrokercount") == 2
    assert of_controller.value("kafka_controller_kafkacontroller_globalpartitioncount") == 2

    second.kill()
    eventually(
        lambda: scrape(http_of(controller)).value("kafka_controller_kafkacontroller_fencedbrokercount") == 1,
        "the controller to fence the broker that is gone",
        60,
    )
    eventually(lambda: scrape(http_of(first)).value(f"{MANAGER}leadercount") == 2, "the other one to lead all", 60)
    left = scrape(http_of(first))
    assert left.value(f"{MANAGER}underreplicatedpartitions") == 2
    assert left.value(f"{MANAGER}isrshrinks_total") == 2
    assert left.of("kafka_topic_partition_under_replicated_partition", topic="t") == [1, 1]
    assert left.of("kafka_cluster_partition_insyncreplicascount", topic="t") == [1, 1]
