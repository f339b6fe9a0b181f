"""Log directories of ZooKeeper's times, as far as they can be built without that Kafka: found, served, and said so."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from odradek.protocol.records.legacy_building import build_message
from odradek.protocol.records.record import Record
from odradek.protocol.uuids import to_text
from odradek.storage.files import PosixFiles
from odradek.storage.names import TopicPartition
from tests.conftest import AGAINST_APACHE_KAFKA
from tests.integration.clients import BEGINNING, Confluent, ProduceSettings, Sent
from tests.support.broker import OdradekProcess
from tests.support.kafka_directories import Kept, make_log, make_zookeeper_directory
from tests.support.ports import free_ports
from tests.support.waiting import eventually
from tests.support.wire import WireClient, error_code

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka 4 does not take these directories")

ID = UUID(int=0xA5)
FS = PosixFiles()
DELETE = 1
EVENT = "took over partitions without metadata"
OLD_MESSAGES = b"".join(
    build_message(Record(offset, 1_400_000_000_000 + offset, b"k", b"old %d" % offset), offset % 2)
    for offset in range(4)
)


@pytest.fixture
def odradek(tmp_path: Path) -> Iterator[OdradekProcess]:
    """A broker that is started with the properties of a Kafka with ZooKeeper, whose directory has gaps."""
    data = tmp_path / "data"
    make_zookeeper_directory(
        FS,
        str(data),
        {
            TopicPartition("t", 0): Kept(make_log(b"new", epoch=4), ID, [(4, 0)]),
            TopicPartition("t", 2): Kept(b"", ID),
            TopicPartition("oldest", 0): Kept(OLD_MESSAGES),
            TopicPartition("__consumer_offsets", 1): Kept(b""),
        },
    )
    (data / "cleaner-offset-checkpoint").write_text("0\n1\noldest 0 2\n")
    properties = tmp_path / "server.properties"
    [port] = free_ports(1)
    properties.write_text(
        f"broker.id=0\nlisteners=PLAINTEXT://127.0.0.1:{port}\nlog.dirs={data}\nzookeeper.connect=localhost:2181\n"
        "offsets.topic.num.partitions=4\nlog.retention.ms=1000\nlog.retention.check.interval.ms=50\n"
        "log.initial.task.delay.ms=0\n"
    )
    broker = OdradekProcess(tmp_path)
    broker.properties, broker.port = properties, port
    yield broker
    broker.discard()


def _topic(broker: OdradekProcess, name: str) -> Any:
    with WireClient(broker.port) as wire:
        [topic] = wire.ask("Metadata", 10, topics=[{"name": name}], allow_auto_topic_creation=False)["topics"]
    return topic


def test_partitions_are_served_with_their_records_of_any_format(odradek: OdradekProcess) -> None:
    """Also messages from before there were batches, which go on behind in the format of today."""
    odradek.start()
    client = Confluent(odradek.bootstrap)
    assert [each.record.value for each in client.read("t", 0, BEGINNING, 1)] == [b"new"]
    client.produce("oldest", 0, [Sent(b"k", b"newest", (), 1_700_000_000_000)], ProduceSettings())
    read = client.read("oldest", 0, BEGINNING, 5)
    assert [each.record.value for each in read] == [b"old 0", b"old 1", b"old 2", b"old 3", b"newest"]
    assert [each.offset for each in read] == list(range(5))
    partitions = {each["partition_index"]: each for each in _topic(odradek, "t")["partitions"]}
    assert partitions[0]["leader_epoch"] == 6  # 5 begins with the metadata, 6 as nothing says that the stop was clean
    assert partitions[1]["error_code"] == error_code("LEADER_NOT_AVAILABLE")
    assert len(_topic(odradek, "__consumer_offsets")["partitions"]) == 4


def test_what_was_taken_over_is_said_once(odradek: OdradekProcess, tmp_path: Path) -> None:
    """With what is not known any more; the next start is one like any other, with the same ids."""
    odradek.start()
    (said,) = [line for line in odradek.log.splitlines() if EVENT in line]
    assert '"topics": 3, "partitions": 4, "compacted_before": "oldest", "without_leader": "t-1"' in said
    assert '"begun_empty": "__consumer_offsets-0,__consumer_offsets-2,__consumer_offsets-3"' in said
    ids = [_topic(odradek, name)["topic_id"] for name in ("t", "oldest")]
    assert ids[0] == ID
    odradek.stop()
    meta = (tmp_path / "data" / "meta.properties").read_text().splitlines()
    assert {"version=1", "node.id=0"} <= set(meta)
    assert not any(line.startswith("broker.id") for line in meta)
    odradek.start()
    assert odradek.log.count(EVENT) == 1
    assert [_topic(odradek, name)["topic_id"] for name in ("t", "oldest")] == ids
    assert to_text(ID) in (tmp_path / "data" / "t-0" / "partition.metadata").read_text()


def _alter(broker: OdradekProcess, topic: str, name: str, operation: int, value: str | None = None) -> None:
    config = {"name": name, "config_operation": operation, "value": value}
    resource = {"resource_type": 2, "resource_name": topic, "configs": [config]}
    with WireClient(broker.port) as wire:
        [answer] = wire.ask("IncrementalAlterConfigs", 1, resources=[resource])["responses"]
    assert answer["error_code"] == 0, answer


def test_nothing_is_deleted_until_retention_is_configured(odradek: OdradekProcess, tmp_path: Path) -> None:
    """Old segments of a topic that was found stay, although the broker's retention is a second and removes those of
    another topic; without the config that holds them they go, too."""
    odradek.start()
    client = Confluent(odradek.bootstrap)
    client.create_topic("ours")
    now = int(time.time() * 1000)
    for topic in ("oldest", "ours"):
        client.produce(topic, 0, [Sent(b"k", b"before", (), 1_500_000_000_000)], ProduceSettings())
        client.produce(topic, 0, [Sent(b"k", b"now", (), now)], ProduceSettings())  # so much later that it rolls
    old = tmp_path / "data" / "oldest-0" / "00000000000000000000.log"
    eventually(lambda: not (tmp_path / "data" / "ours-0" / old.name).exists(), "what is ours and old is deleted")
    assert [each.record.value for each in client.read("oldest", 0, BEGINNING, 1)] == [b"old 0"]
    assert old.exists()
    _alter(odradek, "oldest", "retention.ms", DELETE)
    eventually(lambda: not old.exists(), "what was found is deleted by the retention of the broker")
