"""The same directory served by odradek and by Apache Kafka in turn: same ids, configs and bytes."""

import random
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import BrokerFactory
from tests.integration.clients import BEGINNING, Client, Codec, Confluent, ProduceSettings, Sent
from tests.interop.hand_over import alter, ask, commit, create, delete, fetch, inspect, produce
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess
from tests.support.waiting import eventually

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka"), pytest.mark.timeout(300)]

CONFIG = {
    "retention.ms": "-1",
    "segment.bytes": "1048576",
    "index.interval.bytes": "100",
    "max.message.bytes": "1040000",
}
_NOISE = random.Random(3)
RECORDS = [
    Sent(b"k%d" % number, _NOISE.randbytes(2_000), (("h", b"x"),), 1_700_000_000_000 + number)
    for number in range(1_500)
]
MORE = [Sent(b"more", b"%d" % number, (), 1_700_000_100_000 + number) for number in range(20)]
SMALL_BATCHES = 30


class Served(NamedTuple):
    """What a broker says of a topic: all that must be the same whoever serves it."""

    topic_id: object
    configs: dict[str, str]
    starts: list[int]
    ends: list[int]
    first_bytes: list[bytes]


def _create(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic, 3, **{name.replace(".", "_"): value for name, value in CONFIG.items()})


def _fill(client: Client, topic: str, records: Sequence[Sent] = RECORDS) -> None:
    settings = (ProduceSettings(), ProduceSettings(codec=Codec.LZ4, idempotent=True), ProduceSettings(codec=Codec.ZSTD))
    for partition, each in enumerate(settings):
        client.produce(topic, partition, records, each)


def _offsets(broker: BrokerProcess, topic: str, timestamp: int) -> list[int]:
    asked = [{"partition_index": index, "timestamp": timestamp, "current_leader_epoch": -1} for index in range(3)]

    def offsets() -> list[int]:
        answer = ask(broker, "ListOffsets", 5, replica_id=-1, topics=[{"name": topic, "partitions": asked}])
        partitions = sorted(answer["topics"][0]["partitions"], key=lambda each: each["partition_index"])
        return [] if any(each["error_code"] for each in partitions) else [each["offset"] for each in partitions]

    return eventually(offsets, f"{topic} is served\n{broker.log}", 60)


def _served(broker: BrokerProcess, topic: str) -> Served:
    starts, ends = _offsets(broker, topic, -2), _offsets(broker, topic, -1)
    [found] = ask(broker, "Metadata", 12, topics=[{"name": topic}], allow_auto_topic_creation=False)["topics"]
    resource = {"resource_type": 2, "resource_name": topic, "configuration_keys": None}
    [described] = ask(broker, "DescribeConfigs", 4, resources=[resource])["results"]
    of_topic = {each["name"]: each["value"] for each in described["configs"] if each["config_source"] == 1}
    first = [fetch(broker, topic, partition, start)["records"] for partition, start in enumerate(starts)]
    return Served(found["topic_id"], of_topic, starts, ends, first)


def _read(broker: BrokerProcess, topic: str, partition: int, first: int, count: int) -> list[Sent]:
    read = Confluent(broker.bootstrap).read(topic, partition, BEGINNING, count)
    assert [item.offset for item in read] == list(range(first, first + count))
    return [item.record for item in read]


def _hand_over(broker: BrokerProcess, how: str, directory: Path) -> None:
    if how == "stopped":
        broker.stop()
    else:
        broker.kill()
    shutil.copytree(broker.data, directory / "data")


def test_apache_kafka_serves_what_odradek_wrote(tmp_path: Path, topic: str) -> None:
    """A topic made and filled here before a kill -9 has the same id, configs and bytes when Apache Kafka serves a copy
    of the directory; what Apache Kafka adds to it is served here afterwards."""
    odradek, kafka = OdradekProcess(tmp_path / "odradek"), ApacheKafkaProcess(tmp_path / "kafka")
    after = OdradekProcess(tmp_path / "kafka")
    try:
        odradek.start()
        _create(odradek, topic)
        _fill(Confluent(odradek.bootstrap), topic)
        before = _served(odradek, topic)
        assert before.configs == CONFIG
        _hand_over(odradek, "killed", tmp_path / "kafka")
        kafka.start()
        assert _served(kafka, topic) == before
        for partition in range(3):
            assert _read(kafka, topic, partition, 0, len(RECORDS)) == RECORDS
        _fill(Confluent(kafka.bootstrap), topic, MORE)
        assert not list(kafka.data.glob("*-stray"))
        by_kafka = _served(kafka, topic)
        kafka.stop()
        after.start()
        assert _served(after, topic) == by_kafka
        for partition in range(3):
            assert _read(after, topic, partition, 0, len(RECORDS) + len(MORE)) == RECORDS + MORE
    finally:
        for broker in (odradek, kafka, after):
            broker.discard()


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_odradek_serves_what_apache_kafka_wrote(tmp_path: Path, topic: str, how: str) -> None:
    """Topics that Apache Kafka made, changed, cut and deleted are the same here."""
    kafka, odradek = ApacheKafkaProcess(tmp_path / "kafka"), OdradekProcess(tmp_path / "odradek")
    try:
        kafka.start()
        _create(kafka, topic)
        _create(kafka, topic + "-gone")
        _fill(Confluent(kafka.bootstrap), topic)
        alter(kafka, topic, "retention.bytes", "123456789")
        cut = {"name": topic, "partitions": [{"partition_index": 0, "offset": 100}]}
        ask(kafka, "DeleteRecords", 2, topics=[cut], timeout_ms=5000)
        delete(kafka, topic + "-gone")
        eventually(lambda: _served(kafka, topic).configs.get("retention.bytes"), "the config is changed")
        before = _served(kafka, topic)
        _hand_over(kafka, how, tmp_path / "odradek")
        odradek.start()
        served = _served(odradek, topic)
        if how == "killed" and served.starts == [0, 0, 0]:  # Apache Kafka had not written the start of the log yet
            served = served._replace(starts=before.starts, first_bytes=before.first_bytes)
        assert served == before
        for partition, start in enumerate(_offsets(odradek, topic, -2)):
            assert _read(odradek, topic, partition, start, len(RECORDS) - start) == RECORDS[start:]
        [gone] = ask(odradek, "Metadata", 12, topics=[{"name": topic + "-gone"}], allow_auto_topic_creation=False)[
            "topics"
        ]
        assert gone["error_code"] != 0
        _fill(Confluent(odradek.bootstrap), topic, MORE)
        assert _offsets(odradek, topic, -1) == [len(RECORDS) + len(MORE)] * 3
    finally:
        for broker in (odradek, kafka):
            broker.discard()


def test_dump_log_segments_finds_nothing_wrong(new_broker: BrokerFactory, topic: str) -> None:
    """Apache Kafka's own inspector reads every file that was written and has nothing to complain of: closed and active
    segments, after an orderly stop, after kill -9, and after the recovery from it."""
    broker = new_broker()
    broker.start()
    _create(broker, topic)
    _fill(Confluent(broker.bootstrap), topic)
    for number in range(SMALL_BATCHES):  # so that there is something in the indexes
        produce(broker, topic, [b"%d" % number * 100])
    commit(broker, "group", topic, 5)
    broker.stop()
    files = _files(broker, f"{topic}-*")
    assert len([path for path in files if path.suffix == ".log"]) > 6, "the topic's segments did not roll"
    dumped = inspect(files, "--deep-iteration", "--value-decoder-class", "org.apache.kafka.tools.api.StringDecoder")
    assert len(re.findall(r"^\| offset: ", dumped, re.MULTILINE)) == 3 * len(RECORDS) + SMALL_BATCHES
    indexes = [path for path in files if path.suffix == ".index"]
    passed = len([path for path in indexes if path.stat().st_size])
    assert inspect(indexes, "--index-sanity-check").count("passed sanity check") == passed
    inspect([path for path in files if path.suffix.endswith("index")], "--verify-index-only")
    committed = inspect(_files(broker, "__consumer_offsets-*"), "--offsets-decoder")
    assert f'"topic":"{topic}","partition":0' in committed
    metadata = sorted(broker.data.glob("__cluster_metadata-0/*.log"))
    assert metadata
    dumped = inspect(metadata, "--cluster-metadata-decoder")
    assert f'"type":"TOPIC_RECORD","version":0,"data":{{"name":"{topic}"' in dumped
    for end in (broker.kill, broker.stop):
        broker.start()
        _fill(Confluent(broker.bootstrap), topic, MORE)
        end()
        inspect(_files(broker, f"{topic}-*"), "--deep-iteration")


def test_a_directory_that_apache_kafka_uses_is_refused(tmp_path: Path) -> None:
    """Its lock is seen: the second broker ends with the reason, and Apache Kafka goes on."""
    kafka, odradek = ApacheKafkaProcess(tmp_path), OdradekProcess(tmp_path)
    try:
        kafka.start()
        odradek.properties = kafka.properties
        odradek.launch()
        assert odradek.wait() == 1
        assert f"{kafka.data} is in use: process {kafka.pid}" in odradek.log
        _create(kafka, "still-served")
        kafka.stop()
    finally:
        for broker in (odradek, kafka):
            broker.discard()


def _files(broker: BrokerProcess, partitions: str) -> list[Path]:
    kinds = ("*.log", "*.index", "*.timeindex", "*.snapshot", "*.txnindex")
    return [path for kind in kinds for path in sorted(broker.data.glob(f"{partitions}/{kind}"))]
