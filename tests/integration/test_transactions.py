"""Transactions of real clients, librdkafka's, kafka-python's and aiokafka's, and readers of what is committed."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from kafka import KafkaProducer

from tests.conftest import BrokerFactory
from tests.integration.clients import Confluent
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually

TIMEOUT_S = 60
QUIET: dict[str, object] = {"log_level": 0, "socket.timeout.ms": 2_000}


@pytest.fixture(scope="module")
def bootstrap(broker: BrokerProcess) -> str:
    """The address of the shared broker, where transactions have been used before: the first takes some seconds."""
    producer = new_producer(broker.bootstrap, "warm")
    producer.begin_transaction()
    producer.abort_transaction(TIMEOUT_S)
    return broker.bootstrap


def new_producer(bootstrap: str, transactional_id: str, **settings: object) -> Producer:
    """Return a producer that may begin a transaction."""
    producer = Producer(
        {**QUIET, "bootstrap.servers": bootstrap, "transactional.id": transactional_id, "linger.ms": 0, **settings}
    )
    producer.init_transactions(TIMEOUT_S)
    return producer


def new_consumer(bootstrap: str, group: str, **settings: object) -> Consumer:
    return Consumer(
        {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            **settings,
        }
    )


def values(bootstrap: str, topic: str, partition: int = 0, isolation: str = "read_committed") -> list[bytes | None]:
    """Return what a reader gets of a partition before it is told that there is no more for it."""
    consumer = new_consumer(bootstrap, "nobody", **{"isolation.level": isolation})
    consumer.assign([TopicPartition(topic, partition, 0)])
    found: list[bytes | None] = []
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, "neither a record nor the end"
        error = message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            break
        assert error is None, error
        found.append(message.value())
    consumer.close()
    return found


def send(producer: Producer, topic: str, *sent: bytes, partition: int = 0) -> None:
    for value in sent:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(TIMEOUT_S) == 0


def test_committed_records_are_read_and_aborted_ones_are_not(bootstrap: str, topic: str) -> None:
    """On all partitions alike; who reads uncommitted records gets them all."""
    Confluent(bootstrap).create_topic(topic, 2)
    producer = new_producer(bootstrap, f"tx-{topic}")
    for name, ends in ((b"a", producer.commit_transaction), (b"b", producer.abort_transaction)):
        producer.begin_transaction()
        send(producer, topic, name + b"1", name + b"2")
        send(producer, topic, name + b"3", partition=1)
        ends(TIMEOUT_S)
    producer.begin_transaction()
    send(producer, topic, b"c1")
    producer.commit_transaction(TIMEOUT_S)
    assert values(bootstrap, topic) == [b"a1", b"a2", b"c1"]
    assert values(bootstrap, topic, 1) == [b"a3"]
    everything = values(bootstrap, topic, isolation="read_uncommitted")
    assert everything == [b"a1", b"a2", b"b1", b"b2", b"c1"]


def test_readers_wait_for_the_end_of_a_transaction(bootstrap: str, topic: str) -> None:
    """Also for records behind it that are in none; its marker wakes them at once."""
    Confluent(bootstrap).create_topic(topic, 1)
    producer = new_producer(bootstrap, f"tx-{topic}")
    producer.begin_transaction()
    send(producer, topic, b"in")
    plain = Producer({**QUIET, "bootstrap.servers": bootstrap})
    send(plain, topic, b"out")
    assert values(bootstrap, topic) == []
    waiting = new_consumer(bootstrap, "nobody", **{"fetch.wait.max.ms": 20_000, "enable.partition.eof": False})
    waiting.assign([TopicPartition(topic, 0, 0)])
    assert waiting.poll(0.5) is None  # its fetch waits at the broker
    ending = threading.Thread(target=producer.commit_transaction, args=(TIMEOUT_S,))
    ending.start()
    found: list[Message | None] = [waiting.poll(10), waiting.poll(10)]
    ending.join()
    assert [each and each.value() for each in found] == [b"in", b"out"]
    waiting.close()


def test_offsets_are_committed_with_the_transaction(bootstrap: str, topic: str) -> None:
    """A copy of a topic: what is aborted is read again, and what is committed is not."""
    target = f"{topic}-copy"
    for name in (topic, target):
        Confluent(bootstrap).create_topic(name, 1)
    send(Producer({**QUIET, "bootstrap.servers": bootstrap}), topic, *(b"%d" % number for number in range(10)))
    producer = new_producer(bootstrap, f"tx-{topic}")
    for take, commits in ((4, False), (6, True), (4, True)):
        consumer = new_consumer(bootstrap, f"group-{topic}", **{"enable.partition.eof": False})
        consumer.subscribe([topic])
        producer.begin_transaction()
        read = 0
        while read < take:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None
            assert message.error() is None, message.error()
            producer.produce(target, message.value(), partition=0)
            read += 1
        position = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), TIMEOUT_S)
        (producer.commit_transaction if commits else producer.abort_transaction)(TIMEOUT_S)
        consumer.close()
    assert values(bootstrap, target) == [b"%d" % number for number in range(10)]


def test_a_zombie_is_fenced(bootstrap: str, topic: str) -> None:
    """What the producer before left open is aborted, and it can write no more."""
    Confluent(bootstrap).create_topic(topic, 1)
    old = new_producer(bootstrap, f"tx-{topic}")
    old.begin_transaction()
    send(old, topic, b"old")
    new = new_producer(bootstrap, f"tx-{topic}")
    new.begin_transaction()
    send(new, topic, b"new")
    old.produce(topic, b"zombie", partition=0)
    with pytest.raises(KafkaException) as fenced:
        old.commit_transaction(TIMEOUT_S)
    assert fenced.value.args[0].fatal()
    new.commit_transaction(TIMEOUT_S)
    assert values(bootstrap, topic) == [b"new"]


@pytest.fixture
def python_producer(bootstrap: str, topic: str) -> Iterator[KafkaProducer]:
    """kafka-python's."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"tx-{topic}")
    yield producer
    producer.close()


def test_kafka_python_has_transactions(bootstrap: str, topic: str, python_producer: KafkaProducer) -> None:
    """It adds partitions itself, as clients did before KIP-890."""
    Confluent(bootstrap).create_topic(topic, 1)
    python_producer.init_transactions()
    for value, ends in (
        (b"a", python_producer.commit_transaction),
        (b"b", python_producer.abort_transaction),
        (b"c", python_producer.commit_transaction),
    ):
        python_producer.begin_transaction()
        python_producer.send(topic, value).get(TIMEOUT_S)
        ends()
    assert values(bootstrap, topic) == [b"a", b"c"]


def test_aiokafka_has_transactions(bootstrap: str, topic: str) -> None:
    """Its transactions carry records and offsets, and those that are aborted leave neither."""
    Confluent(bootstrap).create_topic(topic, 1)
    group, place = f"group-{topic}", AioTopicPartition(topic, 0)

    async def write() -> int:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"tx-{topic}")
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
        await producer.start()
        await consumer.start()
        try:
            for number, ends in enumerate((producer.commit_transaction, producer.abort_transaction), 1):
                await producer.begin_transaction()
                await producer.send_and_wait(topic, b"%d" % number)
                await producer.send_offsets_to_transaction({place: number}, group)
                await ends()
            offset: int = await consumer.committed(place)
            return offset
        finally:
            await consumer.stop()
            await producer.stop()

    assert asyncio.run(asyncio.wait_for(write(), TIMEOUT_S)) == 1
    assert values(bootstrap, topic) == [b"1"]


def test_transactions_outlive_a_kill(new_broker: BrokerFactory) -> None:
    """One that was open goes on and is committed; one whose producer is gone is aborted when its time is over."""
    broker = new_broker({"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"})
    broker.start()
    Confluent(broker.bootstrap).create_topic("t", 2)
    going_on = new_producer(broker.bootstrap, "going-on")
    left = new_producer(broker.bootstrap, "left", **{"transaction.timeout.ms": 3000})
    for producer, partition in ((going_on, 0), (left, 1)):
        producer.begin_transaction()
        send(producer, "t", b"before", partition=partition)
    broker.kill()
    broker.start()
    send(going_on, "t", b"after")
    going_on.commit_transaction(TIMEOUT_S)
    send(Producer({**QUIET, "bootstrap.servers": broker.bootstrap}), "t", b"plain", partition=1)
    assert values(broker.bootstrap, "t") == [b"before", b"after"]
    eventually(lambda: values(broker.bootstrap, "t", 1) == [b"plain"], "the transaction is aborted", TIMEOUT_S)
