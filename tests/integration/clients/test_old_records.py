"""Records in the formats of before Kafka 0.11, over the network and on the disk: kafka-python as old as it gets, and
logs that Apache Kafka 2.8 wrote."""

import shutil
import time
from contextlib import closing

import kafka
import pytest
from kafka.consumer.fetcher import RecordTooLargeError
from kafka.errors import CorruptRecordError, MessageSizeTooLargeError
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from tests.conftest import AGAINST_APACHE_KAFKA, BrokerFactory
from tests.integration.clients import AioKafka, Client, Confluent, FromOffset, FromTimestamp, KafkaPython, Sent
from tests.support.broker import BrokerProcess
from tests.support.legacy_logs import DATA, FILES, NAMES, dumped_records

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka 4 dropped these clients")

TIMEOUT_S = 60
AGES = [(0, 8, 2), (0, 9), (0, 10, 0), (0, 10, 2)]
CODECS = [None, "gzip", "snappy", "lz4"]
EARLIER_MS = int(time.time() * 1000) - 3_600_000


def send(broker: BrokerProcess, age: tuple[int, ...], topic: str, records: list[Sent], **settings: object) -> list[int]:
    """Produce with kafka-python of an age, and return the offsets that it was told."""
    with closing(
        kafka.KafkaProducer(bootstrap_servers=broker.bootstrap, api_version=age, linger_ms=20, **settings)
    ) as producer:
        futures = [producer.send(topic, r.value, r.key, partition=0, timestamp_ms=r.timestamp) for r in records]
        return [future.get(TIMEOUT_S).offset for future in futures]


def receive(
    broker: BrokerProcess, age: tuple[int, ...], topic: str, count: int, offset: int = 0, **settings: object
) -> list[tuple[int, int | None, bytes | None, bytes | None]]:
    """Read with kafka-python of an age; return offset, timestamp, key and value."""
    place = kafka.TopicPartition(topic, 0)
    with closing(
        kafka.KafkaConsumer(bootstrap_servers=broker.bootstrap, api_version=age, enable_auto_commit=False, **settings)
    ) as consumer:
        consumer.assign([place])
        consumer.seek(place, offset)
        found: list[tuple[int, int | None, bytes | None, bytes | None]] = []
        deadline = time.monotonic() + TIMEOUT_S
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count} records"
            for messages in consumer.poll(200, max_records=count - len(found)).values():
                found += [(m.offset, m.timestamp, m.key, m.value) for m in messages]
        return found


def sample(count: int, size: int = 20) -> list[Sent]:
    """Return records with keys, a few of them without a value."""
    return [Sent(b"k%d" % i, None if i % 7 == 3 else b"%d " % i * size, (), EARLIER_MS + i) for i in range(count)]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("age", AGES, ids=str)
def test_large_sets_pass_both_ways(broker: BrokerProcess, topic: str, age: tuple[int, ...], codec: str | None) -> None:
    """Batches that are too large to be converted at once are converted in order, and read back whole and in order."""
    records = sample(1000, 100)
    offsets = send(broker, age, topic, records, compression_type=codec, batch_size=200_000)
    assert offsets == list(range(1000))
    found = receive(broker, age, topic, 1000)
    assert [(offset, key, value) for offset, _, key, value in found] == [
        (i, record.key, record.value) for i, record in enumerate(records)
    ]
    if age >= (0, 10):
        assert [timestamp for _, timestamp, _, _ in found] == [record.timestamp for record in records]


@pytest.mark.parametrize("age", AGES, ids=str)
def test_what_is_sent_without_acknowledgement_arrives(broker: BrokerProcess, topic: str, age: tuple[int, ...]) -> None:
    """acks=0 has no answer, and the data is there."""
    records = sample(200, 100)
    send(broker, age, topic, records, acks=0, batch_size=100_000)
    assert [value for *_, value in receive(broker, age, topic, 200)] == [record.value for record in records]


@pytest.mark.parametrize("age", [(0, 8, 2), (0, 9), (0, 10, 0)], ids=str)
def test_a_client_learns_that_its_buffer_is_too_small(broker: BrokerProcess, topic: str, age: tuple[int, ...]) -> None:
    """Up to Fetch 2 a message larger than the limit is cut, which the client reports as what it is."""
    send(broker, age, topic, [Sent(None, b"small", (), EARLIER_MS), Sent(None, bytes(50_000), (), EARLIER_MS)])
    found = receive(broker, age, topic, 1, max_partition_fetch_bytes=10_000)
    assert found[0][3] == b"small"
    with pytest.raises(RecordTooLargeError):
        receive(broker, age, topic, 1, offset=1, max_partition_fetch_bytes=10_000)


def test_fetch_3_passes_a_message_that_is_too_large(broker: BrokerProcess, topic: str) -> None:
    """From there on the first message comes whole."""
    send(broker, (0, 10, 2), topic, [Sent(None, bytes(50_000), (), EARLIER_MS)])
    assert len(receive(broker, (0, 10, 2), topic, 1, max_partition_fetch_bytes=1000)[0][3] or b"") == 50_000


def test_an_old_producer_is_told_what_is_wrong(
    broker: BrokerProcess, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set too large for the topic and a damaged one are refused with the errors of their time."""
    with pytest.raises(MessageSizeTooLargeError):
        send(broker, (0, 9), topic, [Sent(None, bytes(1_100_000), (), EARLIER_MS)], max_request_size=2_000_000)
    encode = LegacyRecordBatchBuilder._encode_msg

    def damaged(self: LegacyRecordBatchBuilder, start_pos: int, *arguments: object, **more: object) -> int:
        crc: int = encode(self, start_pos, *arguments, **more)
        self._buffer[start_pos + 12] ^= 1
        return crc

    monkeypatch.setattr(LegacyRecordBatchBuilder, "_encode_msg", damaged)
    with pytest.raises(CorruptRecordError):
        send(broker, (0, 9), topic, sample(3), retries=0)


def put_logs_of_kafka_2_8(broker: BrokerProcess) -> None:
    """Make topics, and put the logs that Apache Kafka 2.8 wrote in the place of theirs while the broker is down."""
    client = KafkaPython(broker.bootstrap)
    for name in NAMES:
        client.create_topic(name)
    broker.stop()
    for name in NAMES:
        directory = broker.data / f"{name}-0"
        for path in directory.glob("0*"):
            path.unlink()
        for file in FILES:
            shutil.copy(DATA / name / file, directory / file)
    for checkpoint in broker.data.glob("*-checkpoint"):
        checkpoint.unlink()
    broker.start()


@pytest.mark.parametrize("clean", [True, False])
def test_logs_in_old_formats_are_served_to_everybody(new_broker: BrokerFactory, clean: bool) -> None:
    """Modern and old clients read every record, by offset and by time, and go on writing behind them."""
    broker = new_broker()
    broker.start()
    put_logs_of_kafka_2_8(broker)
    if not clean:
        broker.kill()
        broker.start()
    clients: list[Client] = [kind(broker.bootstrap) for kind in (KafkaPython, Confluent, AioKafka)]
    for name in NAMES:
        expected = dumped_records(name)
        for client in clients:
            if isinstance(client, AioKafka) and name == "v0-lz4":
                continue  # which it does not read, from any broker
            assert client.end_offset(name, 0) == 16
            read = client.read(name, 0, FromOffset(3), 13)
            assert [(item.offset, item.record.key, item.record.value) for item in read] == [
                (record.offset, record.key, record.value) for record in expected[3:]
            ]
            if name.startswith("v1"):
                assert [item.record.timestamp for item in read] == [record.timestamp for record in expected[3:]]
        for age in ((0, 8, 2), (0, 10, 0)):
            found = receive(broker, age, name, 13, offset=3)
            assert [(offset, key, value) for offset, _, key, value in found] == [
                (record.offset, record.key, record.value) for record in expected[3:]
            ]
    confluent = clients[1]
    assert confluent.offset_for("v1-lz4", 0, 1_500_000_007_500) == 8
    assert confluent.read("v1-gzip", 0, FromTimestamp(1_500_000_007_500), 1)[0].offset == 8
    assert confluent.offset_for("v0-lz4", 0, 1) in (None, -1)
    send(broker, (0, 9), "v0-snappy", [Sent(b"k", b"new", (), EARLIER_MS)])
    assert [item.record.value for item in confluent.read("v0-snappy", 0, FromOffset(15), 2)] == [None, b"new"]
