"""Clients that speak to brokers of long ago: kafka-python and librdkafka told to be of that time, with old versions of
requests and old formats of records."""

import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

import confluent_kafka
import kafka
import pytest
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic

from tests.conftest import AGAINST_APACHE_KAFKA, IN_CI
from tests.integration.clients import BEGINNING, Codec, Confluent, ProduceSettings, Sent
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka 4 dropped these clients")

TIMEOUT_S = 60
EARLIER_MS = int(time.time() * 1000) - 3_600_000
FIRST_WITH_MEMBERS = (0, 9)
FIRST_WITH_TIMESTAMPS = (0, 10)

SAMPLE = [
    Sent(b"key", b"value", (), EARLIER_MS),
    Sent(None, b"no key", (), EARLIER_MS + 1),
    Sent(b"tombstone", None, (), EARLIER_MS + 2),
    Sent(b"", b"", (), EARLIER_MS + 3),
    Sent(None, b"la " * 10_000, (), EARLIER_MS + 4),
    *(Sent(b"%d" % number, b"record %d" % number, (), EARLIER_MS + 10 + number) for number in range(100)),
]


@dataclass(frozen=True, slots=True)
class OldClient(ABC):
    """A client that takes the broker for one of the given version, and does not ask."""

    age: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name}-{'.'.join(map(str, self.age))}"

    @property
    @abstractmethod
    def name(self) -> str:
        """The library."""

    @abstractmethod
    def produce(self, bootstrap: str, topic: str, records: Sequence[Sent], codec: Codec = Codec.NONE) -> None:
        """Produce to partition 0 and return when all is acknowledged."""

    @abstractmethod
    def read(self, bootstrap: str, topic: str, group: str, count: int) -> list[Sent]:
        """Read from where the group has committed, or from the beginning; commit, and leave."""

    @abstractmethod
    def ends(self, bootstrap: str, topic: str) -> tuple[int, int]:
        """Return where partition 0 begins and ends."""

    @property
    def has_members(self) -> bool:
        """Whether its consumers join groups; before, each has the partitions that it is told."""
        return self.age >= FIRST_WITH_MEMBERS

    def seen(self, records: Sequence[Sent]) -> list[Sent]:
        """Return the records as this client sees them: without timestamp before there were any."""
        if self.age >= FIRST_WITH_TIMESTAMPS:
            return list(records)
        return [record._replace(timestamp=-1) for record in records]


class KafkaPython(OldClient):
    """kafka-python with `api_version`."""

    name = "kafka-python"

    def produce(self, bootstrap: str, topic: str, records: Sequence[Sent], codec: Codec = Codec.NONE) -> None:
        compression = None if codec is Codec.NONE else codec.value
        with closing(
            kafka.KafkaProducer(bootstrap_servers=bootstrap, api_version=self.age, compression_type=compression)
        ) as producer:
            futures = [
                producer.send(topic, one.value, one.key, partition=0, timestamp_ms=one.timestamp) for one in records
            ]
            producer.flush(TIMEOUT_S)
            for future in futures:
                future.get(TIMEOUT_S)

    def read(self, bootstrap: str, topic: str, group: str, count: int) -> list[Sent]:
        with self._consumer(bootstrap, group) as consumer:
            if self.has_members:
                # else it may join before it knows the topic's partitions, divides none, and never joins again
                assert consumer.partitions_for_topic(topic)
                consumer.subscribe([topic])
            else:
                consumer.assign([kafka.TopicPartition(topic, 0)])
            out: list[Sent] = []
            deadline = time.monotonic() + TIMEOUT_S
            while len(out) < count:
                assert time.monotonic() < deadline, f"{len(out)} of {count} records"
                for messages in consumer.poll(200, max_records=count - len(out)).values():
                    out += (Sent(one.key, one.value, (), _timestamp(one.timestamp)) for one in messages)
            consumer.commit()
            return out

    def ends(self, bootstrap: str, topic: str) -> tuple[int, int]:
        place = kafka.TopicPartition(topic, 0)
        with self._consumer(bootstrap, None) as consumer:
            return consumer.beginning_offsets([place])[place], consumer.end_offsets([place])[place]

    @contextmanager
    def _consumer(self, bootstrap: str, group: str | None) -> Iterator[kafka.KafkaConsumer]:
        with closing(
            kafka.KafkaConsumer(
                bootstrap_servers=bootstrap,
                api_version=self.age,
                group_id=group,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                # subscribing while an answer is under way, this client takes that for the metadata of its new topic
                metadata_max_age_ms=1000,
            )
        ) as consumer:
            yield consumer


class Librdkafka(OldClient):
    """librdkafka with `broker.version.fallback`."""

    name = "librdkafka"

    def produce(self, bootstrap: str, topic: str, records: Sequence[Sent], codec: Codec = Codec.NONE) -> None:
        producer = confluent_kafka.Producer({**self.settings(bootstrap), "compression.type": codec.value})
        failures: list[str] = []

        def delivered(error: object, _message: object) -> None:
            if error is not None:
                failures.append(str(error))

        for one in records:
            producer.produce(topic, one.value, one.key, 0, timestamp=one.timestamp, on_delivery=delivered)
        assert producer.flush(TIMEOUT_S) == 0
        assert not failures, failures[0]

    def read(self, bootstrap: str, topic: str, group: str, count: int) -> list[Sent]:
        with self._consumer(bootstrap, group) as consumer:
            if self.has_members:
                consumer.subscribe([topic])
            else:
                consumer.assign([confluent_kafka.TopicPartition(topic, 0)])
            out: list[Sent] = []
            deadline = time.monotonic() + TIMEOUT_S
            while len(out) < count:
                assert time.monotonic() < deadline, f"{len(out)} of {count} records"
                message = consumer.poll(0.2)
                if message is None:
                    continue
                if message.error():
                    raise confluent_kafka.KafkaException(message.error())
                kind, timestamp = message.timestamp()
                is_known = kind != confluent_kafka.TIMESTAMP_NOT_AVAILABLE
                out.append(Sent(message.key(), message.value(), (), timestamp if is_known else -1))
            consumer.commit(asynchronous=False)
            return out

    def ends(self, bootstrap: str, topic: str) -> tuple[int, int]:
        with self._consumer(bootstrap, "unused") as consumer:
            low, high = consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, 0), TIMEOUT_S)
            return low, high

    @contextmanager
    def _consumer(self, bootstrap: str, group: str) -> Iterator[confluent_kafka.Consumer]:
        consumer = confluent_kafka.Consumer(
            {
                **self.settings(bootstrap),
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        try:
            yield consumer
        finally:
            consumer.close()

    def settings(self, bootstrap: str) -> dict[str, str | int | float | bool]:
        """Return what makes librdkafka an old client."""
        return {
            "bootstrap.servers": bootstrap,
            "api.version.request": False,
            "broker.version.fallback": ".".join(map(str, self.age)),
        }


def _timestamp(timestamp: int | None) -> int:
    return -1 if timestamp is None else timestamp


AGES = [(0, 8, 2), (0, 9), (0, 10), (0, 10, 1), (0, 11)]
FALLBACKS = [(0, 8, 2), (0, 9, 0, 1), (0, 10, 0, 0), (0, 10, 2, 0)]
OLD_CLIENTS: list[OldClient] = [*map(KafkaPython, AGES), *map(Librdkafka, FALLBACKS)]
OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


@pytest.fixture(params=OLD_CLIENTS, ids=str)
def client(request: pytest.FixtureRequest) -> OldClient:
    """Each client at each age."""
    found: OldClient = request.param
    return found


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_an_old_client_reads_what_it_wrote(broker: BrokerProcess, topic: str, client: OldClient, codec: Codec) -> None:
    """Keys, values, nulls and, where there are any, timestamps come back, with every codec of that time."""
    client.produce(broker.bootstrap, topic, SAMPLE, codec)
    assert client.ends(broker.bootstrap, topic) == (0, len(SAMPLE))
    assert client.read(broker.bootstrap, topic, f"group-{topic}", len(SAMPLE)) == client.seen(SAMPLE)


def test_a_new_client_reads_what_an_old_one_wrote(broker: BrokerProcess, topic: str, client: OldClient) -> None:
    """Records of any format are stored as those of today."""
    client.produce(broker.bootstrap, topic, SAMPLE, Codec.GZIP)
    read = Confluent(broker.bootstrap).read(topic, 0, BEGINNING, len(SAMPLE))
    assert [one.offset for one in read] == list(range(len(SAMPLE)))
    assert client.seen([one.record for one in read]) == client.seen(SAMPLE)


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_an_old_client_reads_what_a_new_one_wrote(
    broker: BrokerProcess, topic: str, client: OldClient, codec: Codec
) -> None:
    """Without the headers that it could not know."""
    records = [one._replace(headers=(("h", b"x"),)) for one in SAMPLE]
    Confluent(broker.bootstrap).produce(topic, 0, records, ProduceSettings(codec=codec))
    assert client.read(broker.bootstrap, topic, f"group-{topic}", len(SAMPLE)) == client.seen(SAMPLE)


def test_the_next_consumer_of_a_group_goes_on_where_the_last_one_stopped(
    broker: BrokerProcess, topic: str, client: OldClient
) -> None:
    """From committed offsets, as a member of the group or, before there were any, with partitions it was told."""
    client.produce(broker.bootstrap, topic, SAMPLE)
    group = f"group-{topic}"
    read = client.read(broker.bootstrap, topic, group, 40)
    read += client.read(broker.bootstrap, topic, group, 60)
    assert read == client.seen(SAMPLE)[:100]


def test_offsets_that_were_once_in_zookeeper_are_kept(broker: BrokerProcess, topic: str) -> None:
    """A consumer of 0.8.1 commits with the first version, and its successor of any age goes on from there."""
    oldest, newest = KafkaPython((0, 8, 1)), KafkaPython((0, 11))
    oldest.produce(broker.bootstrap, topic, SAMPLE)
    group = f"group-{topic}"
    read = oldest.read(broker.bootstrap, topic, group, 30)
    read += oldest.read(broker.bootstrap, topic, group, 30)
    read += oldest.seen(newest.read(broker.bootstrap, topic, group, 30))
    assert read == oldest.seen(SAMPLE)[:90]


def test_members_of_all_ages_share_a_group(broker: BrokerProcess, topic: str) -> None:
    """One that joins as clients of 0.9 did and one of today divide the partitions."""
    Confluent(broker.bootstrap).create_topic(topic, 4)
    group = f"group-{topic}"
    today = confluent_kafka.Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": group, "heartbeat.interval.ms": 200}
    )
    today.subscribe([topic])
    of_then = kafka.KafkaConsumer(topic, bootstrap_servers=broker.bootstrap, api_version=(0, 9), group_id=group)
    with closing(today), closing(of_then) as old:

        def shared() -> bool:
            today.poll(0.1)
            old.poll(1000)  # a poll that ends while it joins makes this client forget its assignment
            places = [*((one.topic, one.partition) for one in today.assignment()), *old.assignment()]
            both = bool(today.assignment() and old.assignment())
            return both and sorted(places) == [(topic, number) for number in range(4)]

        eventually(shared, "both members have partitions", TIMEOUT_S)


@pytest.mark.parametrize("age", [(0, 10, 1), (0, 10, 2), (0, 11), (1, 0), (2, 0)], ids=str)
def test_an_old_administrator_makes_and_removes_topics(broker: BrokerProcess, topic: str, age: tuple[int, ...]) -> None:
    """With the versions of the time, and configs are described from 0.11 on."""
    with closing(KafkaAdminClient(bootstrap_servers=broker.bootstrap, api_version=age)) as admin:
        admin.create_topics([NewTopic(topic, 3, 1, topic_configs={"retention.ms": "5000"})])
        assert topic in admin.list_topics()
        if age >= (0, 11):
            admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        assert isinstance(admin.list_groups(), list)
        admin.delete_topics([topic])
        assert topic not in admin.list_topics()


@pytest.mark.skipif(shutil.which("kcat") is None and not IN_CI, reason="kcat is not installed (apt-get install kcat)")
@pytest.mark.parametrize("age", FALLBACKS, ids=str)
def test_kcat_of_an_old_broker_reads_what_it_wrote(broker: BrokerProcess, topic: str, age: tuple[int, ...]) -> None:
    """A file of lines, piped in and out."""
    settings = Librdkafka(age).settings(broker.bootstrap)
    options = [item for name, value in settings.items() for item in ("-X", f"{name}={str(value).lower()}")]
    lines = b"".join(b"line %d\n" % number for number in range(1000))
    for arguments, stdin, expected in (
        (["-P", "-t", topic, "-p", "0", "-z", "snappy"], lines, b""),
        (["-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q"], b"", lines),
    ):
        done = subprocess.run(
            ["kcat", *options, *arguments], input=stdin, capture_output=True, timeout=TIMEOUT_S, check=False
        )
        assert (done.returncode, done.stdout) == (0, expected), done.stderr.decode()
