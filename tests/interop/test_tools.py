"""Apache Kafka's own command-line tools, unmodified, against the broker."""

import pytest
from confluent_kafka import Producer

from tests.integration.clients import BEGINNING, Codec, Confluent, ProduceSettings, Sent
from tests.support.broker import BrokerProcess, run_java

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]

TOOLS = "org.apache.kafka.tools"


def _tool(name: str, broker: BrokerProcess, *arguments: str, stdin: bytes = b"") -> bytes:
    return run_java(f"{TOOLS}.{name}", "--bootstrap-server", broker.bootstrap, *arguments, stdin=stdin).stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_console_producer_and_consumer(broker: BrokerProcess, topic: str, codec: str) -> None:
    """Lines given to the console producer come out of the console consumer, with every codec."""
    lines = b"".join(b"line %d\n" % number for number in range(500))
    _tool("ConsoleProducer", broker, "--topic", topic, "--compression-codec", codec, stdin=lines)
    read = _tool(
        "consumer.ConsoleConsumer",
        broker,
        "--topic",
        topic,
        "--partition",
        "0",
        "--offset",
        "earliest",
        "--max-messages",
        "500",
    )
    assert read == lines


def test_console_consumer_prints_what_others_wrote(broker: BrokerProcess, topic: str) -> None:
    """Key, value, headers and timestamp of a record from another client."""
    client = Confluent(broker.bootstrap)
    client.create_topic(topic)
    client.produce(topic, 0, [Sent(b"k", b"v", (("h", b"x"),), 1_700_000_000_123)], ProduceSettings(codec=Codec.ZSTD))
    shown = [
        item
        for name in ("key", "headers", "timestamp", "offset")
        for item in ("--formatter-property", f"print.{name}=true")
    ]
    read = _tool(
        "consumer.ConsoleConsumer",
        broker,
        "--topic",
        topic,
        "--partition",
        "0",
        "--offset",
        "0",
        "--max-messages",
        "1",
        *shown,
    )
    assert read == b"CreateTime:1700000000123\tOffset:0\th:x\tk\tv\n"


def test_console_producer_with_keys_and_nulls(broker: BrokerProcess, topic: str) -> None:
    """Keys, headers and null markers of the console producer arrive as records."""
    properties = {
        "parse.key": "true",
        "parse.headers": "true",
        "key.separator": ":",
        "headers.delimiter": "|",
        "null.marker": "NULL",
    }
    given = [item for key, value in properties.items() for item in ("--reader-property", f"{key}={value}")]
    _tool("ConsoleProducer", broker, "--topic", topic, *given, stdin=b"h1:x|k1:v1\nh2:y|k2:NULL\n")
    read = [item.record[:3] for item in Confluent(broker.bootstrap).read(topic, 0, BEGINNING, 2)]
    assert read == [(b"k1", b"v1", (("h1", b"x"),)), (b"k2", None, (("h2", b"y"),))]


def test_topic_command(broker: BrokerProcess, topic: str) -> None:
    """Create, describe, list and delete with kafka-topics."""
    config = ["--config", "retention.ms=9000", "--config", "cleanup.policy=compact"]
    _tool("TopicCommand", broker, "--create", "--topic", topic, "--partitions", "2", *config)
    described = _tool("TopicCommand", broker, "--describe", "--topic", topic).decode()
    assert "PartitionCount: 2" in described
    assert "retention.ms=9000" in described
    assert "cleanup.policy=compact" in described
    assert topic in _tool("TopicCommand", broker, "--list").decode().split()
    _tool("TopicCommand", broker, "--delete", "--topic", topic)
    assert topic not in _tool("TopicCommand", broker, "--list").decode().split()


def test_offset_shell(broker: BrokerProcess, topic: str) -> None:
    """kafka-get-offsets tells the latest and the earliest offset of each partition."""
    client = Confluent(broker.bootstrap)
    client.create_topic(topic, partitions=2)
    client.produce(topic, 1, [Sent(None, b"x", (), 5)] * 7, ProduceSettings())
    latest = _tool("GetOffsetShell", broker, "--topic", topic).decode().split()
    assert latest == [f"{topic}:0:0", f"{topic}:1:7"]


def test_config_command(broker: BrokerProcess, topic: str) -> None:
    """kafka-configs sets a topic's config and describes it."""
    Confluent(broker.bootstrap).create_topic(topic)
    entity = ["--bootstrap-server", broker.bootstrap, "--entity-type", "topics", "--entity-name", topic]
    run_java("kafka.admin.ConfigCommand", *entity, "--alter", "--add-config", "max.message.bytes=4321")
    described = run_java("kafka.admin.ConfigCommand", *entity, "--describe").stdout.decode()
    assert "max.message.bytes=4321" in described


def test_transactions_command(broker: BrokerProcess, topic: str) -> None:
    """kafka-transactions lists an open transaction, finds that it does not hang, and ends it in a partition by hand."""
    Confluent(broker.bootstrap).create_topic(topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"x")
    assert producer.flush(60) == 0
    listed = _tool("TransactionsCommand", broker, "list").decode().splitlines()
    assert [topic, "Ongoing"] in [[words[0], words[-1]] for words in map(str.split, listed)]
    looked = ["--topic", topic, "--max-transaction-timeout", "0"]
    assert len(_tool("TransactionsCommand", broker, "find-hanging", *looked).splitlines()) == 1, "the heading alone"
    _tool("TransactionsCommand", broker, "abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    described = _tool("TransactionsCommand", broker, "describe-producers", "--topic", topic, "--partition", "0")
    assert described.split()[-1] == b"None", "no open transaction is left"
