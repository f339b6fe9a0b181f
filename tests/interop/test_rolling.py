"""From three brokers of Apache Kafka to three of this project and back, on their directories, while clients go on."""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.test_replication import (
    PARTITIONS,
    PATIENCE_S,
    SESSION,
    Brokers,
    Producing,
    await_all_in_sync,
    bootstrap_of,
    logs,
)
from tests.support.broker import BrokerProcess, run_java
from tests.support.cluster import ApacheKafkaBroker, ApacheKafkaControllers, ClusterBroker
from tests.support.waiting import eventually

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("replication"), pytest.mark.timeout(300)]

TOPIC = "rolled"
EACH = 300
"""Records before, during and after each broker's turn."""
SETTINGS = {**SESSION, "offsets.topic.replication.factor": "3", "offsets.topic.num.partitions": "3"}
GONE = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE}
"""What a client says of a connection that ended; it tries again by itself."""


class Reading:
    """A member of a group that reads all the time, and what it read and was told of."""

    def __init__(self, bootstrap: str) -> None:
        self.found: list[list[int]] = [[] for _ in range(PARTITIONS)]
        self.failed: list[KafkaError] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "rolled",
                "auto.offset.reset": "earliest",
                "topic.metadata.refresh.interval.ms": 1000,
                "error_cb": self._told,
                "log_level": 0,
            }
        )
        self._consumer.subscribe([TOPIC])
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def count(self) -> int:
        """How many records were read."""
        return sum(map(len, self.found))

    def stop(self) -> None:
        """Leave the group."""
        self._stopping.set()
        self._thread.join(PATIENCE_S)
        self._consumer.close()

    def _read(self) -> None:
        while not self._stopping.is_set():
            for message in self._consumer.consume(500, 0.2):
                error = message.error()
                if error is not None:
                    self._told(error)
                else:
                    self.found[message.partition() or 0].append(int(message.value() or b"-1"))

    def _told(self, error: KafkaError) -> None:
        if error.code() not in GONE:
            self.failed.append(error)


class Rolled:
    """A cluster of Apache Kafka's controller and three brokers, each of which is one of two kinds at a time."""

    def __init__(self, directory: Path) -> None:
        self.controllers = ApacheKafkaControllers(directory / "controllers", 1, SESSION)
        self.nodes: dict[int, Mapping[str, BrokerProcess]] = {}
        for node in (1, 2, 3):
            home, voters = directory / f"broker-{node}", self.controllers.voters
            kafka = ApacheKafkaBroker(home, node, voters, SETTINGS)
            odradek = ClusterBroker(home, node, voters, SETTINGS)
            odradek.port = kafka.port
            self.nodes[node] = {"kafka": kafka, "odradek": odradek}

    @property
    def brokers(self) -> Brokers:
        """One for each node; both kinds have the same address and the same directory."""
        return [kinds["kafka"] for kinds in self.nodes.values()]

    def start(self) -> None:
        """Start Apache Kafka's."""
        self.controllers.start()
        with ThreadPoolExecutor(len(self.nodes)) as threads:
            list(threads.map(BrokerProcess.start, self.brokers))

    def discard(self) -> None:
        """End all, however they are."""
        for kinds in self.nodes.values():
            for broker in kinds.values():
                broker.discard()
        self.controllers.discard()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Rolled]:
    """Three brokers of Apache Kafka that run."""
    rolled = Rolled(tmp_path)
    try:
        rolled.start()
        yield rolled
    finally:
        rolled.discard()


def test_clients_do_not_notice_that_brokers_are_exchanged(cluster: Rolled) -> None:
    """One after the other, there and back: no error, every value once and in order, and equal replicas at the end."""
    bootstrap = bootstrap_of(cluster.brokers)
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3, config={"min.insync.replicas": "2"})])[TOPIC].result(60)
    producing, reading = Producing(bootstrap, TOPIC), Reading(bootstrap)
    try:
        for before, after in (("kafka", "odradek"), ("odradek", "kafka")):
            for kinds in cluster.nodes.values():
                producing.some(EACH)
                kinds[before].stop()
                producing.some(EACH)
                producing.wait()
                kinds[after].start()
                await_all_in_sync(cluster.brokers, TOPIC)
        producing.some(EACH)
        producing.wait()
        eventually(lambda: reading.count >= len(producing.acknowledged), "everything is read", PATIENCE_S)
    finally:
        reading.stop()
    assert (producing.failed, reading.failed) == ([], [])
    assert [sorted(set(each)) for each in reading.found] == reading.found
    assert set().union(*reading.found) == producing.acknowledged
    assert len(producing.acknowledged) == 13 * EACH
    first, second, third = cluster.brokers
    eventually(lambda: logs(first, TOPIC) == logs(second, TOPIC) == logs(third, TOPIC), "replicas are equal", 60)
    segment = next((first.data / f"{TOPIC}-0").glob("*.log"))
    dumped = run_java(
        "org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--files", str(segment)
    ).stdout.decode()
    assert dumped.count("| offset: ") == len(reading.found[0])
