"""What was acknowledged is still there: after a stop, after kill -9, with ids, configs and offsets unchanged."""

import itertools
import os
import shutil
import signal
import threading
from pathlib import Path

import confluent_kafka
import pytest

from tests.conftest import AGAINST_APACHE_KAFKA, BrokerFactory
from tests.integration.clients import BEGINNING, Client, Codec, Confluent, KafkaPython, ProduceSettings, Sent
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import BatchFields, Record, WireClient, build_batch, error_code

RECORDS = [Sent(b"k%d" % number, os.urandom(200), (("h", b"v"),), 1_700_000_000_000 + number) for number in range(500)]
NO_ID = "00000000-0000-0000-0000-000000000000"


def _end(broker: BrokerProcess, how: str) -> None:
    if how == "stop":
        assert broker.stop() == (143 if AGAINST_APACHE_KAFKA else 0), broker.log
    else:
        broker.kill()


def _read(client: Client, topic: str, partition: int, count: int) -> list[Sent]:
    read = client.read(topic, partition, BEGINNING, count)
    assert [item.offset for item in read] == list(range(count))
    return [item.record for item in read]


def _topic_id(broker: BrokerProcess, topic: str) -> object:
    with WireClient(broker.port) as wire:
        [found] = wire.ask("Metadata", 12, topics=[{"name": topic}], allow_auto_topic_creation=False)["topics"]
    assert found["error_code"] == 0
    return found["topic_id"]


def _new_producer_id(wire: WireClient) -> int:
    def ask() -> list[int]:
        given = wire.ask("InitProducerId", 4, transaction_timeout_ms=60000, producer_id=-1, producer_epoch=-1)
        return [] if given["error_code"] else [given["producer_id"]]

    [producer_id] = eventually(ask, "a producer id")
    return producer_id


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_acknowledged_records_survive(new_broker: BrokerFactory, topic: str, how: str) -> None:
    """Records acknowledged before a clean stop or a kill -9 are read back identical from the broker started again."""
    broker = new_broker()
    broker.start()
    client = Confluent(broker.bootstrap)
    client.create_topic(topic, partitions=3)
    for partition, codec in zip(range(3), (Codec.NONE, Codec.ZSTD, Codec.LZ4), strict=True):
        client.produce(topic, partition, RECORDS, ProduceSettings(codec=codec, idempotent=partition == 2))
    topic_id = _topic_id(broker, topic)
    _end(broker, how)
    broker.start()
    for partition in range(3):
        assert client.end_offset(topic, partition) == len(RECORDS)
        assert _read(client, topic, partition, len(RECORDS)) == RECORDS
    assert _topic_id(broker, topic) == topic_id
    client.produce(topic, 0, RECORDS[:1], ProduceSettings())
    assert client.end_offset(topic, 0) == len(RECORDS) + 1


def test_nothing_acknowledged_is_lost_when_killed_under_load(new_broker: BrokerFactory, topic: str) -> None:
    """Killed in the middle of a stream of single-record produces, the broker comes back with every record it
    acknowledged, in order, at the offset that it told."""
    broker = new_broker()
    broker.start()
    Confluent(broker.bootstrap).create_topic(topic)
    acknowledged: list[int] = []
    enough = threading.Event()

    def produce_until_killed() -> None:
        with WireClient(broker.port) as wire:
            for number in itertools.count():
                batch = build_batch([Record(None, b"%d" % number)])
                try:
                    partition = {"index": 0, "records": batch}
                    answer = wire.ask(
                        "Produce",
                        9,
                        acks=-1,
                        timeout_ms=5000,
                        topic_data=[{"name": topic, "partition_data": [partition]}],
                    )
                except Exception:  # noqa: BLE001 -- whatever happens to a request when the broker dies
                    return
                [[appended]] = [each["partition_responses"] for each in answer["responses"]]
                if appended["error_code"]:
                    return
                acknowledged.append(appended["base_offset"])
                if number == 300:
                    enough.set()

    producer = threading.Thread(target=produce_until_killed)
    producer.start()
    assert enough.wait(60)
    broker.kill()
    producer.join(60)
    assert acknowledged == list(range(len(acknowledged)))
    broker.start()
    client = Confluent(broker.bootstrap)
    end = client.end_offset(topic, 0)
    assert end in (len(acknowledged), len(acknowledged) + 1)  # one more may have been written and not acknowledged
    assert [item.value for item in _read(client, topic, 0, end)] == [b"%d" % number for number in range(end)]


def test_recovery_cuts_a_torn_write(new_broker: BrokerFactory, topic: str) -> None:
    """Bytes of a batch that was never written whole are cut off after a crash; what came before is served."""
    broker = new_broker()
    broker.start()
    client = Confluent(broker.bootstrap)
    client.create_topic(topic)
    client.produce(topic, 0, RECORDS, ProduceSettings())
    broker.kill()
    segment = broker.data / f"{topic}-0" / "00000000000000000000.log"
    whole = segment.stat().st_size
    torn = build_batch([Record(b"torn", b"x" * 1000)], BatchFields(base_offset=len(RECORDS)))
    with segment.open("ab") as file:
        file.write(torn[:-10])
    broker.start()
    assert client.end_offset(topic, 0) == len(RECORDS)
    assert segment.stat().st_size == whole
    client.produce(topic, 0, RECORDS[:2], ProduceSettings())
    assert _read(client, topic, 0, len(RECORDS) + 2) == RECORDS + RECORDS[:2]


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_configs_are_kept(new_broker: BrokerFactory, topic: str, how: str) -> None:
    """Topic configs and dynamic broker configs altered at run time are the same after a restart."""
    broker = new_broker()
    broker.start()
    Confluent(broker.bootstrap).create_topic(topic)
    changes = [
        (2, topic, "retention.ms", "777000"),
        (4, "", "log.cleaner.backoff.ms", "12000"),
        (4, "1", "background.threads", "7"),
    ]
    with WireClient(broker.port) as wire:
        for kind, name, key, value in changes:
            config = {"name": key, "config_operation": 0, "value": value}
            resource = {"resource_type": kind, "resource_name": name, "configs": [config]}
            [answer] = wire.ask("IncrementalAlterConfigs", 1, resources=[resource])["responses"]
            assert answer["error_code"] == 0, answer
    _end(broker, how)
    broker.start()
    with WireClient(broker.port) as wire:
        for kind, name, key, value in changes:
            resource = {"resource_type": kind, "resource_name": name, "configuration_keys": [key]}
            [answer] = wire.ask("DescribeConfigs", 4, resources=[resource])["results"]
            assert [(each["name"], each["value"]) for each in answer["configs"]] == [(key, value)]


def test_deleted_records_and_topics_stay_deleted(new_broker: BrokerFactory, topic: str) -> None:
    """The log start moved by DeleteRecords and the deletion of a topic hold after kill -9."""
    broker = new_broker()
    broker.start()
    client = Confluent(broker.bootstrap)
    client.create_topic(topic)
    client.create_topic(topic + "-gone")
    client.produce(topic, 0, RECORDS, ProduceSettings())
    with WireClient(broker.port) as wire:
        deletion = {"name": topic, "partitions": [{"partition_index": 0, "offset": 100}]}
        [[answer]] = [
            each["partitions"] for each in wire.ask("DeleteRecords", 2, topics=[deletion], timeout_ms=5000)["topics"]
        ]
        assert (answer["error_code"], answer["low_watermark"]) == (0, 100)
        deletion = {"name": topic + "-gone"}
        [answer] = wire.ask("DeleteTopics", 6, topics=[deletion], timeout_ms=5000)["responses"]
        assert answer["error_code"] == 0
    eventually(lambda: not (broker.data / f"{topic}-gone-0").exists(), "the deletion is carried out")
    broker.stop()
    broker.start()
    assert client.read(topic, 0, BEGINNING, 1)[0].offset == 100
    with WireClient(broker.port) as wire:
        [found] = wire.ask("Metadata", 12, topics=[{"name": topic + "-gone"}], allow_auto_topic_creation=False)[
            "topics"
        ]
    assert found["error_code"] == error_code("UNKNOWN_TOPIC_OR_PARTITION")


def test_idempotent_producer_goes_on_over_a_restart(new_broker: BrokerFactory, topic: str) -> None:
    """A batch sent again after a crash is recognised as a duplicate; the next one in sequence is appended."""
    broker = new_broker()
    broker.start()
    KafkaPython(broker.bootstrap).create_topic(topic)

    def send(wire: WireClient, producer_id: int, sequence: int) -> tuple[int, int]:
        fields = BatchFields(producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        partition = {"index": 0, "records": build_batch([Record(None, b"x")], fields)}
        data = [{"name": topic, "partition_data": [partition]}]
        answer = wire.ask("Produce", 9, acks=-1, timeout_ms=5000, topic_data=data)["responses"][0][
            "partition_responses"
        ][0]
        return answer["error_code"], answer["base_offset"]

    with WireClient(broker.port) as wire:
        producer_id = _new_producer_id(wire)
        assert [send(wire, producer_id, sequence) for sequence in range(3)] == [(0, 0), (0, 1), (0, 2)]
    broker.kill()
    broker.start()
    with WireClient(broker.port) as wire:
        assert send(wire, producer_id, 2) == (0, 2)
        assert send(wire, producer_id, 3) == (0, 3)
        assert send(wire, producer_id, 9)[0] == error_code("OUT_OF_ORDER_SEQUENCE_NUMBER")
        assert _new_producer_id(wire) != producer_id


def test_a_producer_rides_out_a_restart(new_broker: BrokerFactory, topic: str) -> None:
    """An idempotent producer that sends while the broker is restarted delivers every record exactly once."""
    broker = new_broker()
    broker.start()
    Confluent(broker.bootstrap).create_topic(topic)
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    failures: list[object] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failures.append(error)

    for number in range(200):
        if number == 100:
            producer.flush(60)
            broker.kill()
        producer.produce(topic, b"%d" % number, partition=0, on_delivery=delivered)
    broker.start()
    assert producer.flush(60) == 0
    assert not failures
    read = _read(Confluent(broker.bootstrap), topic, 0, 200)
    assert [item.value for item in read] == [b"%d" % number for number in range(200)]


def test_data_moves_with_its_directory(new_broker: BrokerFactory, topic: str, tmp_path: Path) -> None:
    """Everything is in the data directory: a copy of it, taken while stopped, serves the same topics."""
    broker = new_broker()
    broker.start()
    client = Confluent(broker.bootstrap)
    client.create_topic(topic)
    client.produce(topic, 0, RECORDS, ProduceSettings())
    broker.stop()
    shutil.copytree(broker.data, tmp_path / "moved" / "data")
    other = new_broker(directory=tmp_path / "moved")
    other.start()
    assert _read(Confluent(other.bootstrap), topic, 0, len(RECORDS)) == RECORDS


def test_a_snapshot_of_a_running_broker_is_a_backup(new_broker: BrokerFactory, topic: str, tmp_path: Path) -> None:
    """All files as they are at one moment, as a file system's snapshot has them, start again with every record that was
    acknowledged and every offset that was committed, and with nothing that came later."""
    broker = new_broker()
    broker.start()
    client = Confluent(broker.bootstrap)
    client.create_topic(topic)
    client.produce(topic, 0, RECORDS, ProduceSettings())
    consumer = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
    consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, 123)], asynchronous=False)
    consumer.close()
    tasks = Path(f"/proc/{broker.pid}/task")
    broker.signal(signal.SIGSTOP)
    try:
        eventually(
            lambda: {(each / "stat").read_text().rpartition(")")[2].split()[0] for each in tasks.iterdir()} == {"T"},
            "all threads stand still",
        )
        shutil.copytree(broker.data, tmp_path / "snapshot" / "data")
    finally:
        broker.signal(signal.SIGCONT)
    client.produce(topic, 0, RECORDS, ProduceSettings())
    restored = new_broker(directory=tmp_path / "snapshot")
    restored.start()
    assert _read(Confluent(restored.bootstrap), topic, 0, len(RECORDS)) == RECORDS
    assert Confluent(restored.bootstrap).end_offset(topic, 0) == len(RECORDS)
    consumer = confluent_kafka.Consumer({"bootstrap.servers": restored.bootstrap, "group.id": "g"})
    [committed] = consumer.committed([confluent_kafka.TopicPartition(topic, 0)], timeout=60)
    assert committed.offset == 123
    consumer.close()
