"""Real clients are held to their quotas.

Kafka's way of measuring lets bursts pass: what comes in all windows may come at once, and again when they are over. So
a rate is told by whole windows, from the beginning. They are short by default, so that a few seconds tell;
ODRADEK_QUOTA_SECONDS=33 takes Kafka's own three times, and then the rate is to be within five percent.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.conftest import AGAINST_APACHE_KAFKA, BrokerFactory
from tests.integration.clients import Confluent
from tests.support.broker import BrokerProcess
from tests.support.client_quotas import quotas, set_quotas
from tests.support.cluster import ClusterBroker
from tests.support.cluster_nodes import OdradekController
from tests.support.waiting import eventually
from tests.support.wire import ConnectionClosedError, WireClient, error_code
from tests.support.wire.batches import Record, build_batch
from tests.support.wire.client import request_frame

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka is compared with in tests/interop")

MEASURED_S = float(os.environ.get("ODRADEK_QUOTA_SECONDS", "0"))
IS_LONG = MEASURED_S > 0
SHORT = {"quota.window.num": "3"}
SHORT_S = 9.0
LIMIT = 400_000


@pytest.fixture
def limited(new_broker: BrokerFactory) -> Iterator[BrokerProcess]:
    """A broker of its own, with short windows unless it is measured for long."""
    broker = new_broker({} if IS_LONG else SHORT)
    broker.start()
    yield broker
    assert broker.stop() == 0, broker.log


def check_rate(count: Callable[[], int]) -> None:
    """Look at what comes in a second from the first byte on; a short look is rougher."""
    eventually(count, "the first comes", 60)
    began = time.monotonic()
    time.sleep(MEASURED_S or SHORT_S)
    share = count() / (time.monotonic() - began) / LIMIT
    lowest, highest = (0.95, 1.05) if IS_LONG else (0.6, 1.3)
    assert lowest <= share <= highest, f"{share:.3f} of the quota"


@pytest.mark.timeout(120 + 3 * MEASURED_S)
def test_a_producer_sends_as_much_as_it_may(limited: BrokerProcess, topic: str) -> None:
    """librdkafka waits as it is told, and loses nothing."""
    Confluent(limited.bootstrap).create_topic(topic)
    set_quotas(limited.port, {"producer_byte_rate": LIMIT})
    producer = Producer(
        {"bootstrap.servers": limited.bootstrap, "batch.size": 20_000, "queue.buffering.max.kbytes": 256}
    )
    acknowledged = 0
    is_over = threading.Event()

    def delivered(error: object, message: object) -> None:
        nonlocal acknowledged
        assert error is None or is_over.is_set()
        if error is None:
            acknowledged += len(message.value())  # type: ignore[attr-defined]  # the message of a delivery

    def produce() -> None:
        while not is_over.is_set():
            try:
                producer.produce(topic, bytes(1_000), on_delivery=delivered)
            except BufferError:
                producer.poll(0.05)

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        check_rate(lambda: acknowledged)
    finally:
        is_over.set()
        thread.join()
        producer.purge()
        producer.flush(60)


@pytest.mark.timeout(120 + 3 * MEASURED_S)
def test_a_consumer_gets_as_much_as_it_may(limited: BrokerProcess, topic: str) -> None:
    """librdkafka gets nothing while it is throttled, and misses nothing."""
    client = Confluent(limited.bootstrap)
    client.create_topic(topic)
    producer = Producer({"bootstrap.servers": limited.bootstrap, "batch.size": 20_000})
    wanted = int(LIMIT * 2 * (MEASURED_S or SHORT_S)) // 1_000
    for number in range(wanted):
        producer.produce(topic, b"%010d" % number + bytes(990))
        if number % 10_000 == 0:
            producer.flush()
    producer.flush()
    set_quotas(limited.port, {"consumer_byte_rate": LIMIT})
    received = 0

    def on_statistics(told: str) -> None:
        nonlocal received
        received = sum(one["rxbytes"] for one in json.loads(told)["brokers"].values())

    settings = {"bootstrap.servers": limited.bootstrap, "group.id": topic, "fetch.message.max.bytes": 50_000}
    consumer = Consumer({**settings, "statistics.interval.ms": 200, "stats_cb": on_statistics})
    consumer.assign([TopicPartition(topic, 0, 0)])
    got = 0
    is_over = threading.Event()

    def consume() -> None:
        nonlocal got
        while not is_over.is_set():
            message = consumer.poll(0.1)
            if message is not None:
                assert message.error() is None
                assert int((message.value() or b"")[:10]) == got // 1_000, "records come in order, and all of them"
                got += 1_000

    thread = threading.Thread(target=consume)
    thread.start()
    try:
        check_rate(lambda: received)  # with the batches that end beyond an answer, and come again
    finally:
        is_over.set()
        thread.join()
        consumer.close()


def send_often(wire: WireClient, frame: bytes) -> None:
    """Send a hundred megabytes."""
    for _ in range(1_000):
        wire.send_frame(frame)


def test_a_throttled_client_that_sends_on_is_not_read(limited: BrokerProcess, topic: str) -> None:
    """It fills what the sockets hold; the broker keeps nothing of it, and others are served."""
    Confluent(limited.bootstrap).create_topic(topic)
    set_quotas(limited.port, {"producer_byte_rate": 1.0}, [("client-id", None)])
    records = build_batch([Record(b"k", bytes(100_000))])
    data = [{"name": topic, "partition_data": [{"index": 0, "records": records}]}]
    fields = {"acks": 1, "timeout_ms": 5_000, "topic_data": data}
    with WireClient(limited.port, 2) as wire, WireClient(limited.port) as other:
        frame = request_frame("Produce", 9, 1, fields)
        wire.send_frame(frame)
        assert wire.receive_frame()
        with pytest.raises(ConnectionClosedError, match="timed out"):
            send_often(wire, frame)
        partition = {"partition_index": 0, "timestamp": -1}
        wanted = {"replica_id": -1, "topics": [{"name": topic, "partitions": [partition]}]}
        [offsets] = other.ask("ListOffsets", 1, **wanted)["topics"]
        assert offsets["partitions"][0]["offset"] == 1, "only the first request was looked at"


def test_quotas_are_there_after_a_restart(new_broker: BrokerFactory) -> None:
    """And count at once, for the smallest and the largest limit."""
    broker = new_broker()
    broker.start()
    set_quotas(broker.port, {"producer_byte_rate": 2.0**63, "request_percentage": 1e-9}, [("user", "ANONYMOUS")])
    broker.stop()
    broker.start()
    assert quotas(broker.port) == {"user=ANONYMOUS": {"producer_byte_rate": 2.0**63, "request_percentage": 1e-9}}
    with WireClient(broker.port) as wire:
        assert wire.ask("Metadata", 9, topics=None)["throttle_time_ms"] == 1_000


@pytest.fixture
def member(tmp_path: Path) -> Iterator[ClusterBroker]:
    """A broker whose controller is another process."""
    controller = OdradekController(tmp_path / "controller", SHORT)
    broker = ClusterBroker(tmp_path / "broker", 1, controller.voters, SHORT)
    try:
        controller.start()
        broker.start()
        yield broker
    finally:
        for process in (broker, controller):
            process.discard()


def test_a_controller_limits_changes_that_brokers_hand_on(member: ClusterBroker, topic: str) -> None:
    """It refuses what is too much for the client, which the broker then does not read from; others go on."""
    who = [("client-id", "test")]  # what the wire client calls itself
    set_quotas(member.port, {"controller_mutation_rate": 1.0}, who)
    eventually(lambda: quotas(member.port), "the broker has seen it")

    def create(wire: WireClient, number: int, partitions: int) -> tuple[int, int]:
        wanted = {"name": f"{topic}-{number}", "num_partitions": partitions, "replication_factor": 1}
        answer = wire.ask("CreateTopics", 7, timeout_ms=8_000, topics=[wanted])
        return answer["topics"][0]["error_code"], answer["throttle_time_ms"]

    with WireClient(member.port, 20) as wire:
        assert create(wire, 0, 13) == (0, 0)  # eleven are what comes in all windows
        began = time.monotonic()
        code, wait_ms = create(wire, 1, 1)
        assert code == error_code("THROTTLING_QUOTA_EXCEEDED")
        assert 500 < wait_ms <= 2_000
        Confluent(member.bootstrap).create_topic(f"{topic}-other")
        wire.ask("ApiVersions", 0)
        assert time.monotonic() - began >= wait_ms / 1_000
        assert create(wire, 1, 1)[0] == 0


def test_topics_that_clients_have_created_count_at_the_controller(member: ClusterBroker, topic: str) -> None:
    """Those of the first use count with those that were asked for; who has taken too much has none made."""
    who = [("client-id", "test")]
    set_quotas(member.port, {"controller_mutation_rate": 1.0}, who)
    eventually(lambda: quotas(member.port), "the broker has seen it")
    with WireClient(member.port, 20) as wire:

        def codes(names: list[str], creates: bool = False) -> list[int]:
            wanted = [{"name": f"{topic}-{name}"} for name in names]
            told = wire.ask("Metadata", 12, topics=wanted, allow_auto_topic_creation=creates)["topics"]
            return [one["error_code"] for one in told]

        codes(["a", "b"], creates=True)
        eventually(lambda: codes(["a", "b"]) == [0, 0], "both are made")
        wanted = {"name": f"{topic}-many", "num_partitions": 10, "replication_factor": 1}
        assert wire.ask("CreateTopics", 7, timeout_ms=8_000, topics=[wanted])["topics"][0]["error_code"] == 0
        codes(["late"], creates=True)
        Confluent(member.bootstrap).create_topic(f"{topic}-other")
        eventually(lambda: codes(["other"]) == [0], "what was changed until then is known")
        assert codes(["late"]) == [error_code("UNKNOWN_TOPIC_OR_PARTITION")]
