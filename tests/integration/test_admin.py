"""What administrators do, with the admin clients that they use."""

from collections.abc import Iterator

import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)
from kafka.admin import KafkaAdminClient

from tests.integration.clients import BEGINNING, Confluent, ProduceSettings, Sent
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import WireClient

TIMEOUT_S = 60
RECORDS = [Sent(b"k", b"%d" % number, (), 1_700_000_000_000 + number) for number in range(10)]


@pytest.fixture
def admin(broker: BrokerProcess) -> AdminClient:
    """librdkafka's admin client."""
    return AdminClient({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def python_admin(broker: BrokerProcess) -> Iterator[KafkaAdminClient]:
    """kafka-python's admin client, which speaks the newest versions of each request."""
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    yield admin
    admin.close()


def _filled(broker: BrokerProcess, topic: str) -> Confluent:
    client = Confluent(broker.bootstrap)
    client.create_topic(topic)
    client.produce(topic, 0, RECORDS, ProduceSettings())
    return client


def _config(admin: AdminClient, kind: ResourceType, name: str) -> dict[str, ConfigEntry]:
    resource = ConfigResource(kind, name)
    entries: dict[str, ConfigEntry] = admin.describe_configs([resource])[resource].result(TIMEOUT_S)
    return entries


def _leaders(admin: AdminClient, topic: str) -> dict[int, int]:
    """Leader of each partition, once the topic is listed: with Apache Kafka that is a moment after its creation."""
    partitions = eventually(lambda: admin.list_topics(topic, TIMEOUT_S).topics[topic].partitions, "the topic is listed")
    return {partition: described.leader for partition, described in partitions.items()}


def _set_config(admin: AdminClient, topic: str, key: str, value: str) -> None:
    change = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)


def test_cluster_description(broker: BrokerProcess, admin: AdminClient) -> None:
    """The cluster has an id, one broker at the advertised address, and that broker is its controller."""
    cluster = admin.describe_cluster().result(TIMEOUT_S)
    assert cluster.cluster_id
    assert [(node.id, node.host, node.port) for node in cluster.nodes] == [(1, "127.0.0.1", broker.port)]
    assert cluster.controller.id == 1


def test_created_topic_is_listed_with_its_partitions(admin: AdminClient, topic: str) -> None:
    """A new topic has the partitions asked for, each led by the only broker."""
    admin.create_topics([NewTopic(topic, 3, 1)])[topic].result(TIMEOUT_S)
    assert _leaders(admin, topic) == {0: 1, 1: 1, 2: 1}


def test_creating_a_topic_twice_says_that_it_exists(admin: AdminClient, topic: str) -> None:
    """The second creation fails with TOPIC_ALREADY_EXISTS and changes nothing."""
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(TIMEOUT_S)
    with pytest.raises(confluent_kafka.KafkaException) as caught:
        admin.create_topics([NewTopic(topic, 5, 1)])[topic].result(TIMEOUT_S)
    assert caught.value.args[0].code() == confluent_kafka.KafkaError.TOPIC_ALREADY_EXISTS
    assert _leaders(admin, topic) == {0: 1, 1: 1}


@pytest.mark.parametrize(
    ("name", "config", "error"),
    [
        ("bad name", {}, confluent_kafka.KafkaError.TOPIC_EXCEPTION),
        ("x" * 250, {}, confluent_kafka.KafkaError.TOPIC_EXCEPTION),
        ("good", {"retention.ms": "soon"}, confluent_kafka.KafkaError.INVALID_CONFIG),
        ("good", {"no.such.key": "1"}, confluent_kafka.KafkaError.INVALID_CONFIG),
    ],
)
def test_a_bad_topic_is_refused_with_the_exact_error(
    admin: AdminClient, topic: str, name: str, config: dict[str, str], error: int
) -> None:
    """Bad names and bad configs get Kafka's own error codes, and no topic appears."""
    name = topic + name if name == "good" else name
    with pytest.raises(confluent_kafka.KafkaException) as caught:
        admin.create_topics([NewTopic(name, 1, 1, config=config)])[name].result(TIMEOUT_S)
    assert caught.value.args[0].code() == error
    assert name not in admin.list_topics(timeout=TIMEOUT_S).topics


def test_more_replicas_than_brokers_are_refused(admin: AdminClient, topic: str) -> None:
    """A replication factor above the number of brokers cannot be had."""
    with pytest.raises(confluent_kafka.KafkaException) as caught:
        admin.create_topics([NewTopic(topic, 1, 2)])[topic].result(TIMEOUT_S)
    assert caught.value.args[0].code() == confluent_kafka.KafkaError.INVALID_REPLICATION_FACTOR


def test_deleted_topic_is_gone_and_its_name_is_free(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    """After deletion the topic is not listed, its directory goes, and a new topic of that name starts empty."""
    client = _filled(broker, topic)
    admin.delete_topics([topic])[topic].result(TIMEOUT_S)
    eventually(lambda: topic not in admin.list_topics(timeout=TIMEOUT_S).topics, "the topic is not listed")
    eventually(lambda: not (broker.data / f"{topic}-0").exists(), "the directory has another name or is gone")
    client.create_topic(topic)
    assert client.end_offset(topic, 0) == 0


def test_partitions_can_be_added_but_not_removed(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    """New partitions are usable at once; a lower count is INVALID_PARTITIONS."""
    client = _filled(broker, topic)
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(TIMEOUT_S)
    client.produce(topic, 2, RECORDS, ProduceSettings())
    assert client.end_offset(topic, 2) == len(RECORDS)
    with pytest.raises(confluent_kafka.KafkaException) as caught:
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(TIMEOUT_S)
    assert caught.value.args[0].code() == confluent_kafka.KafkaError.INVALID_PARTITIONS


def test_topic_configs_are_described_and_altered(admin: AdminClient, topic: str) -> None:
    """A config given at creation, one altered later and one left alone are told apart."""
    admin.create_topics([NewTopic(topic, 1, 1, config={"retention.ms": "12345"})])[topic].result(TIMEOUT_S)
    assert _leaders(admin, topic) == {0: 1}
    _set_config(admin, topic, "max.message.bytes", "2000")

    def altered() -> bool:
        return _config(admin, ResourceType.TOPIC, topic)["max.message.bytes"].value == "2000"

    eventually(altered, "the change is visible")
    config = _config(admin, ResourceType.TOPIC, topic)
    assert (config["retention.ms"].value, config["retention.ms"].is_default) == ("12345", False)
    assert (config["cleanup.policy"].value, config["cleanup.policy"].is_default) == ("delete", True)


def test_an_altered_limit_takes_effect(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    """After max.message.bytes is lowered, a larger batch is refused and nothing of it is appended."""
    client = _filled(broker, topic)
    _set_config(admin, topic, "max.message.bytes", "1000")
    eventually(lambda: _config(admin, ResourceType.TOPIC, topic)["max.message.bytes"].value == "1000", "the new limit")
    large = Sent(None, b"x" * 5_000, (), RECORDS[0].timestamp)
    with pytest.raises(AssertionError, match="MSG_SIZE_TOO_LARGE"):
        client.produce(topic, 0, [large], ProduceSettings())
    assert client.end_offset(topic, 0) == len(RECORDS)


def test_broker_configs_are_described(admin: AdminClient) -> None:
    """The broker tells its own settings, static ones as read-only."""
    config = _config(admin, ResourceType.BROKER, "1")
    assert config["node.id"].value == "1"
    assert config["node.id"].is_read_only
    assert not config["log.retention.ms"].is_read_only


def test_python_admin_alters_and_resets_configs(python_admin: KafkaAdminClient, topic: str) -> None:
    """kafka-python sets a config and takes it back; only changed keys are listed as modified."""
    python_admin.create_topics([kafka.admin.NewTopic(topic, 1, 1)])

    def modified() -> dict[str, str]:
        found = python_admin.describe_configs([kafka.admin.ConfigResource("TOPIC", topic)])
        return {key: entry["value"] for key, entry in found["topic"].get(topic, {}).items()}

    python_admin.alter_configs([kafka.admin.ConfigResource("TOPIC", topic, {"segment.bytes": "2000000"})])
    eventually(lambda: modified().get("segment.bytes") == "2000000", "the config is set")
    python_admin.reset_configs([kafka.admin.ConfigResource("TOPIC", topic, ["segment.bytes"])])
    eventually(lambda: "segment.bytes" not in modified(), "the config is back at its default")


def test_deleting_records_moves_the_start(broker: BrokerProcess, python_admin: KafkaAdminClient, topic: str) -> None:
    """After DeleteRecords the earliest offset is the one given, and older records cannot be read."""
    client = _filled(broker, topic)
    place = kafka.TopicPartition(topic, 0)
    python_admin.delete_records({place: 4})
    read = client.read(topic, 0, BEGINNING, 6)
    assert [item.offset for item in read] == [4, 5, 6, 7, 8, 9]
    assert [item.record for item in read] == RECORDS[4:]


def test_offsets_can_be_listed(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    """Earliest, latest, highest timestamp and the offset for a time, asked of the admin client."""
    _filled(broker, topic)
    place = confluent_kafka.TopicPartition(topic, 0)

    def offset(spec: OffsetSpec) -> int:
        found: int = admin.list_offsets({place: spec})[place].result(TIMEOUT_S).offset
        return found

    assert offset(OffsetSpec.earliest()) == 0
    assert offset(OffsetSpec.latest()) == 10
    assert offset(OffsetSpec.max_timestamp()) == 9
    assert offset(OffsetSpec.for_timestamp(RECORDS[6].timestamp)) == 6


def test_log_directories_are_described(broker: BrokerProcess, python_admin: KafkaAdminClient, topic: str) -> None:
    """The log directory of the topic and its size in bytes."""
    _filled(broker, topic)
    [node] = python_admin.describe_log_dirs([topic])
    [directory] = node["log_dirs"]
    assert directory["log_dir"] == str(broker.data)
    [described] = directory["topics"]
    segment = broker.data / f"{topic}-0" / "00000000000000000000.log"
    assert described["partitions"][0]["partition_size"] == segment.stat().st_size


def test_a_single_node_is_the_only_voter_of_its_quorum(broker: BrokerProcess) -> None:
    """As `kafka-metadata-quorum` asks; its log ends where everybody has read it."""
    wanted = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    with WireClient(broker.port) as client:
        for version in (0, 1, 2):
            answer = client.ask("DescribeQuorum", version, topics=wanted)
            found = answer["topics"][0]["partitions"][0]
            [voter] = found["current_voters"]
            assert (answer["error_code"], found["leader_id"], voter["replica_id"]) == (0, 1, 1)
            assert voter["log_end_offset"] >= found["high_watermark"] > 0
            assert found["observers"] == []
