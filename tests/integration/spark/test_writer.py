"""What Spark writes with the data source `odradek` is what a plain client reads, in batch and streaming."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.errors import PySparkException

from tests.support.broker import BrokerProcess, OdradekProcess
from tests.support.ports import free_ports
from tests.support.spark import run_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

HEADERS = "array<struct<key:string,value:binary>>"
WHEN = datetime(2026, 11, 20, 12, 0, 0, 123_000, tzinfo=UTC)


def _create(broker: BrokerProcess, topic: str, partitions: int = 1, **configs: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    wanted = NewTopic(topic, partitions, 1, config={name.replace("_", "."): value for name, value in configs.items()})
    admin.create_topics([wanted])[topic].result(60)


def _read(broker: BrokerProcess, topic: str) -> list[Message]:
    """Return all records of a topic, in the order of partitions and offsets."""
    conf = {"bootstrap.servers": broker.bootstrap, "group.id": "reader", "enable.partition.eof": True}
    consumer = Consumer({**conf, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    partitions = sorted(consumer.list_topics(topic, timeout=60).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    found, ended = [], 0
    deadline = time.monotonic() + 30
    while ended < len(partitions):
        assert time.monotonic() < deadline
        message = consumer.poll(1)
        if message is None:
            continue
        error = message.error()
        if error is None:
            found.append(message)
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
            ended += 1
    consumer.close()
    return sorted(found, key=lambda message: (message.partition(), message.offset()))


def _write(frame: DataFrame, broker: BrokerProcess, **options: str) -> None:
    frame.write.format("odradek").mode("append").option("kafka.bootstrap.servers", broker.bootstrap).options(
        **options
    ).save()


def _failure(frame: DataFrame, **options: str) -> str:
    """Return what is said of a query that must fail, within seconds."""
    began = time.monotonic()
    with pytest.raises(PySparkException) as caught:
        frame.write.format("odradek").mode("append").options(**options).save()
    assert time.monotonic() - began < 30
    return str(caught.value)


def test_every_column_arrives_as_it_was(spark: SparkSession, broker: BrokerProcess, topic: str) -> None:
    """Keys, values, nulls, partitions, headers and timestamps reach the topic of their row byte for byte."""
    first, second = f"{topic}-a", f"{topic}-b"
    _create(broker, first, 2)
    _create(broker, second, 1)
    rows: list[tuple[Any, ...]] = [
        (first, b"k", b"\x00\xff", 1, [("h", b"\x00"), ("h", None), ("ünï", b"")], WHEN),
        (first, None, b"", 0, None, WHEN),
        (first, b"", None, 1, [], None),
        (second, b"k", b"v", None, None, WHEN),
    ]
    kinds = f"topic string, key binary, value binary, partition int, headers {HEADERS}, timestamp timestamp"
    before = int(time.time() * 1000)
    _write(spark.createDataFrame(rows, kinds).coalesce(1), broker, includeHeaders="true")

    found = [(m.partition(), m.key(), m.value(), m.headers()) for m in _read(broker, first)]
    assert found == [
        (0, None, b"", None),
        (1, b"k", b"\x00\xff", [("h", b"\x00"), ("h", None), ("ünï", b"")]),
        (1, b"", None, None),
    ]
    times = [m.timestamp() for m in _read(broker, first)]
    expected = (TIMESTAMP_CREATE_TIME, int(WHEN.timestamp() * 1000))
    assert times[:2] == [expected, expected]
    assert times[2][1] >= before
    assert [(m.key(), m.value()) for m in _read(broker, second)] == [(b"k", b"v")]


def test_the_option_wins_and_keys_lie_where_java_puts_them(
    spark: SparkSession, broker: BrokerProcess, topic: str
) -> None:
    """The option `topic` is stronger than the column; keys and values may be text; murmur2 chooses the partition."""
    _create(broker, topic, 7)
    frame = spark.range(200).selectExpr("concat('key-', id) key", "cast(id as string) value", "'nowhere' topic")
    _write(frame, broker, topic=topic)

    found = _read(broker, topic)
    assert sorted(int(m.value() or b"") for m in found) == list(range(200))
    assert all(m.partition() == _murmur2(m.key() or b"") % 7 for m in found)


def test_rows_of_many_tasks_arrive_once(spark: SparkSession, broker: BrokerProcess, topic: str) -> None:
    """Without failures each row is written once, also where a task has more rows than fit into the producer."""
    _create(broker, topic, 3)
    frame = spark.range(0, 30_000, 1, 4).selectExpr("cast(id as string) value")
    small = {"kafka.queue.buffering.max.messages": "500", "kafka.compression.type": "lz4"}
    _write(frame, broker, topic=topic, **small)

    assert sorted(int(m.value() or b"") for m in _read(broker, topic)) == list(range(30_000))


def test_a_stream_is_written(spark: SparkSession, broker: BrokerProcess, topic: str, tmp_path: Path) -> None:
    """A streaming query from one topic to another writes each record once, and goes on from its checkpoint."""
    source, target = f"{topic}-in", f"{topic}-out"
    _create(broker, source, 2)
    _create(broker, target, 2)
    for start in (0, 500):
        _write(spark.range(start, start + 500).selectExpr("cast(id as string) key", "'v' value"), broker, topic=source)
        read = spark.readStream.format("odradek").option("kafka.bootstrap.servers", broker.bootstrap)
        read = read.option("subscribe", source).option("startingOffsets", "earliest").option("includeHeaders", "true")
        run_stream(
            read.load()
            .writeStream.format("odradek")
            .option("kafka.bootstrap.servers", broker.bootstrap)
            .option("topic", target)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
        )
        assert sorted(int(m.key() or b"") for m in _read(broker, target)) == list(range(start + 500))


def test_mistakes_are_told_before_anything_runs(spark: SparkSession, broker: BrokerProcess, topic: str) -> None:
    """What is wrong with options or columns comes back as a sentence that says what to do."""
    frame = spark.range(1).selectExpr("cast(id as string) value", "id", "id partition")
    here = {"kafka.bootstrap.servers": broker.bootstrap}
    assert "nothing says where to write" in _failure(frame.select("value"), **here)
    assert "kafka.bootstrap.servers is missing" in _failure(frame.select("value"), topic=topic)
    assert "there is no option topics; did you mean topic?" in _failure(frame.select("value"), topics="t", **here)
    assert "a column value is missing" in _failure(frame.select("id"), topic=topic, **here)
    assert "partition must be of type int, it is bigint" in _failure(frame, topic=topic, **here)
    wrong = {"kafka.no.such.setting": "1"}
    assert "a setting kafka.* is not one of librdkafka" in _failure(frame.select("value"), topic=topic, **here, **wrong)
    nobody = {"kafka.bootstrap.servers": f"127.0.0.1:{free_ports(1)[0]}"}
    assert "no broker of 127.0.0.1" in _failure(frame.select("value"), topic=topic, **nobody)


def test_what_cannot_be_written_ends_the_query(spark: SparkSession, broker: BrokerProcess, topic: str) -> None:
    """A null topic, a partition that there is not, and a record that is too large end the query with the reason."""
    _create(broker, topic, 1, max_message_bytes="2000")
    here = {"kafka.bootstrap.servers": broker.bootstrap}
    frame = spark.range(1).selectExpr("'v' value", "cast(null as string) topic", "7 partition")
    assert "a row has no topic" in _failure(frame.select("value", "topic"), **here)
    assert f"topic {topic} has no partition 7" in _failure(frame.select("value", "partition"), topic=topic, **here)
    large = spark.range(1).selectExpr("repeat('x', 100000) value")
    assert "is too large" in _failure(large, topic=topic, **here)


def test_an_unknown_topic_is_told_where_topics_are_not_made(spark: SparkSession, tmp_path: Path) -> None:
    """With auto.create.topics.enable=false both the topic of the option and that of a column are refused."""
    broker = OdradekProcess(tmp_path / "strict", {"auto.create.topics.enable": "false"})
    broker.start()
    try:
        here = {"kafka.bootstrap.servers": broker.bootstrap}
        frame = spark.range(1).selectExpr("'v' value", "'nowhere' topic")
        assert "there is no topic nowhere" in _failure(frame.select("value"), topic="nowhere", **here)
        assert "there is no topic nowhere" in _failure(frame, **here)
    finally:
        broker.discard()


def _murmur2(data: bytes) -> int:
    """Kafka's hash of a key, made positive as its producers do."""
    mask = 0xFFFF_FFFF
    value = (0x9747B28C ^ len(data)) & mask
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * 0x5BD1E995 & mask
        word = (word ^ word >> 24) * 0x5BD1E995 & mask
        value = (value * 0x5BD1E995 & mask) ^ word
    rest = data[whole:]
    if rest:
        value = (value ^ int.from_bytes(rest, "little")) * 0x5BD1E995 & mask
    value = (value ^ value >> 13) * 0x5BD1E995 & mask
    return (value ^ value >> 15) & 0x7FFF_FFFF
