"""Brokers of this project and of Apache Kafka replicate from each other, under Apache Kafka's controllers."""

import signal
from collections import Counter
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.integration.test_transactions import new_consumer, new_producer, send
from tests.integration.test_transactions import values as committed_values
from tests.support.broker import BrokerProcess
from tests.support.cluster import ApacheKafkaBroker, ApacheKafkaControllers, ClusterBroker
from tests.support.waiting import eventually
from tests.support.wire import WireClient

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("replication")]

SESSION = {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "500"}
SETTINGS = {
    **SESSION,
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "6",
}
PARTITIONS = 3
PATIENCE_S = 60

Brokers = list[BrokerProcess]


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Two brokers of this project and one of Apache Kafka; each test leaves all of them running and in sync."""
    tmp_path = tmp_path_factory.mktemp("replication")
    controllers = ApacheKafkaControllers(tmp_path / "controllers", 1, SESSION)
    started: Brokers = []
    try:
        controllers.start()
        for node in (1, 2):
            started.append(ClusterBroker(tmp_path / f"broker-{node}", node, controllers.voters, SETTINGS))
        started.append(ApacheKafkaBroker(tmp_path / "broker-3", 3, controllers.voters, SETTINGS))
        for broker in started:
            broker.start()
        yield started
    finally:
        for broker in started:
            broker.discard()
        controllers.discard()


class Producing:
    """An idempotent producer with acks=all, and what it was told."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "socket.timeout.ms": 5000,  # a broker that stands still keeps its connections
                "topic.metadata.refresh.interval.ms": 1000,
                "log_level": 0,
            }
        )
        self._sent = 0
        self.acknowledged: set[int] = set()
        self.failed: list[KafkaError] = []

    def some(self, count: int) -> None:
        """Produce records, numbered over all partitions, without waiting for them."""
        for number in range(self._sent, self._sent + count):
            self._producer.produce(
                self._topic, str(number), key=str(number), partition=number % PARTITIONS, on_delivery=self._told
            )
            self._producer.poll(0)
        self._sent += count

    def wait(self) -> None:
        """Wait until all are answered."""
        assert self._producer.flush(PATIENCE_S) == 0

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(error)
        else:
            self.acknowledged.add(int(message.key() or b"-1"))


def bootstrap_of(brokers: Brokers) -> str:
    return ",".join(broker.bootstrap for broker in brokers)


def in_sync(admin: AdminClient, topic: str) -> list[list[int]]:
    """Return the ISR of each partition."""
    found = admin.list_topics(topic, timeout=60).topics[topic].partitions
    return [sorted(found[index].isrs) for index in sorted(found)]


def await_all_in_sync(brokers: Brokers, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_of(brokers), "log_level": 0})
    full = [[1, 2, 3]] * PARTITIONS
    eventually(lambda: in_sync(admin, topic) == full, "all replicas are in sync", PATIENCE_S)


def values(bootstrap: str, topic: str) -> list[list[int]]:
    """Return what each partition holds, in order."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "log_level": 0, "group.id": "none", "auto.offset.reset": "earliest"}
    )
    found: list[list[int]] = [[] for _ in range(PARTITIONS)]
    ends = [consumer.get_watermark_offsets(TopicPartition(topic, index), 20)[1] for index in range(PARTITIONS)]
    consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])

    def done() -> bool:
        for message in consumer.consume(1000, 0.5):
            assert message.error() is None
            found[message.partition() or 0].append(int(message.value() or b"-1"))
        return all(len(each) >= end for each, end in zip(found, ends, strict=True))

    try:
        eventually(done, "everything is read", PATIENCE_S)
    finally:
        consumer.close()
    return found


def logs(broker: BrokerProcess, topic: str) -> list[bytes]:
    """Return the segments of each partition as one run of bytes."""
    directories = [broker.data / f"{topic}-{index}" for index in range(PARTITIONS)]
    return [b"".join(path.read_bytes() for path in sorted(each.glob("*.log"))) for each in directories]


def test_nothing_acknowledged_is_lost_whoever_leads_and_falls(brokers: Brokers) -> None:
    """Brokers of either kind are killed, stopped in order and paused while a producer goes on.

    Every acknowledged record is there once and in order, and the files of all replicas are the same bytes.
    """
    bootstrap = bootstrap_of(brokers)
    topic = NewTopic("t", PARTITIONS, 3, config={"min.insync.replicas": "2"})
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([topic])["t"].result(60)
    producing = Producing(bootstrap, "t")
    producing.some(3000)
    producing.wait()
    first, second, kafka = brokers
    for broker, number in ((first, signal.SIGKILL), (second, signal.SIGTERM), (kafka, signal.SIGKILL)):
        producing.some(2000)
        broker.signal(number)
        broker.wait()
        producing.some(2000)
        producing.wait()
        broker.start()
        await_all_in_sync(brokers, "t")
    first.signal(signal.SIGSTOP)
    producing.some(2000)
    producing.wait()
    first.signal(signal.SIGCONT)
    await_all_in_sync(brokers, "t")
    producing.some(100)
    producing.wait()
    assert producing.failed == []
    found = values(bootstrap, "t")
    assert set().union(*found) == producing.acknowledged
    assert max(Counter(number for each in found for number in each).values()) == 1
    assert [sorted(each) for each in found] == found
    eventually(lambda: logs(first, "t") == logs(second, "t") == logs(kafka, "t"), "the replicas are equal", PATIENCE_S)


def _coordinator(broker: BrokerProcess, key: str, key_type: int) -> int:
    """Return the node that is the coordinator of a transactional id (1), or a group (0)."""

    def ask() -> int:
        with WireClient(broker.port) as wire:
            answer = wire.ask("FindCoordinator", 2, key=key, key_type=key_type)
        return 0 if answer["error_code"] else int(answer["node_id"])

    return eventually(ask, f"the coordinator of {key} is known", PATIENCE_S)


def _one_of_each(broker: BrokerProcess, key_type: int) -> dict[int, str]:
    """Return for each node a name whose coordinator it is."""
    found: dict[int, str] = {}
    for number in range(100):
        found.setdefault(_coordinator(broker, f"name-{number}", key_type), f"name-{number}")
    assert sorted(found) == [1, 2, 3]
    return found


def test_transactions_span_brokers_of_both_kinds(brokers: Brokers) -> None:
    """Whoever coordinates them, leads their partitions and keeps their offsets; also when one that does is killed.

    Readers of committed records see whole transactions, and the files of all replicas are the same bytes.
    """
    bootstrap = bootstrap_of(brokers)
    topic = NewTopic(
        "tx", PARTITIONS, replica_assignment=[[1, 2, 3], [2, 3, 1], [3, 1, 2]], config={"min.insync.replicas": "2"}
    )
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([topic])["tx"].result(60)
    producers = {node: new_producer(bootstrap, name) for node, name in _one_of_each(brokers[0], 1).items()}
    groups = _one_of_each(brokers[0], 0)
    expected: list[bytes] = []

    def write(coordinator: int, name: str) -> bytes:
        value = f"{name} {coordinator}".encode()
        producers[coordinator].begin_transaction()
        for partition in range(PARTITIONS):
            send(producers[coordinator], "tx", value, partition=partition)
        for group in groups.values():
            member = new_consumer(bootstrap, group)
            places = [TopicPartition("tx", partition, len(expected) + 1) for partition in range(PARTITIONS)]
            producers[coordinator].send_offsets_to_transaction(places, member.consumer_group_metadata(), PATIENCE_S)
            member.close()
        return value

    for coordinator, producer in producers.items():
        expected.append(write(coordinator, "committed"))
        producer.commit_transaction(PATIENCE_S)
        write(coordinator, "aborted")
        producer.abort_transaction(PATIENCE_S)
    for coordinator in (1, 3):
        expected.append(write(coordinator, "killed"))
        brokers[coordinator - 1].kill()
        producers[coordinator].commit_transaction(PATIENCE_S)
        brokers[coordinator - 1].start()
        await_all_in_sync(brokers, "tx")
    for partition in range(PARTITIONS):
        assert committed_values(bootstrap, "tx", partition) == expected
    for group in groups.values():
        reader = new_consumer(bootstrap, group)
        places = reader.committed([TopicPartition("tx", partition) for partition in range(PARTITIONS)], PATIENCE_S)
        assert [place.offset for place in places] == [len(expected)] * PARTITIONS
        reader.close()
    first, second, kafka = brokers
    eventually(lambda: logs(first, "tx") == logs(second, "tx") == logs(kafka, "tx"), "replicas are equal", PATIENCE_S)
