"""What a plain client wrote is what Spark reads with the data source `odradek`, in batch and streaming."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from pyspark.errors import PySparkException

from tests.support.broker import BrokerProcess, OdradekProcess
from tests.support.ports import free_ports
from tests.support.spark import run_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]

Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker for all tests here; each has topics of its own."""
    process = OdradekProcess(tmp_path_factory.mktemp("broker"))
    process.start()
    yield process
    process.discard()


def _create(broker: BrokerProcess, topic: str, partitions: int = 1, **configs: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    kept = {"retention.ms": "-1"}  # records here are of 1970
    given = {name.replace("_", "."): value for name, value in configs.items()}
    wanted = NewTopic(topic, partitions, 1, config=kept | given)
    admin.create_topics([wanted])[topic].result(60)


def _produce(broker: BrokerProcess, topic: str, values: list[bytes], partition: int = 0, **conf: Any) -> None:
    settings = {name.replace("_", "."): value for name, value in conf.items()}
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 20, **settings})
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=partition, timestamp=1000 + number)
        producer.poll(0)
    assert producer.flush(60) == 0


def _options(broker: BrokerProcess, **options: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap, **options}


def _frame(spark: SparkSession, broker: BrokerProcess, **options: str) -> DataFrame:
    return spark.read.format("odradek").options(**_options(broker, **options)).load()


def _values(frame: DataFrame) -> list[bytes]:
    return sorted(bytes(row.value) for row in frame.select("value").collect())


def _failure(query: Callable[[], object]) -> str:
    """Return what is said of a query that must fail, within seconds."""
    began = time.monotonic()
    with pytest.raises(PySparkException) as caught:
        query()
    assert time.monotonic() - began < 40
    return str(caught.value)


def test_every_column_is_as_it_was_written(spark: SparkSession, broker: BrokerProcess) -> None:
    """Keys, values, nulls, headers, timestamps and their type arrive byte for byte, as Spark's own source has them."""
    _create(broker, "columns", 2)
    _create(broker, "append", 1, message_timestamp_type="LogAppendTime")
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    headers: list[tuple[str, str | bytes | None]] = [("h", b"\x00"), ("h", None), ("ünï", b"")]
    producer.produce("columns", b"\x00\xff", b"k", partition=1, timestamp=1_234_567, headers=headers)
    producer.produce("columns", None, None, partition=1, timestamp=2)
    producer.produce("columns", b"", b"", partition=0, timestamp=1)
    before = time.time()
    producer.produce("append", b"v", timestamp=5)
    assert producer.flush(60) == 0

    frame = _frame(spark, broker, subscribe="columns", includeHeaders="true")
    assert frame.schema.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
        "timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )
    found = frame.selectExpr("key", "value", "topic", "partition", "offset", "unix_micros(timestamp)", "timestampType")
    assert sorted(map(tuple, found.collect()), key=lambda row: row[3:5]) == [
        (b"", b"", "columns", 0, 0, 1000, 0),
        (b"k", b"\x00\xff", "columns", 1, 0, 1_234_567_000, 0),
        (None, None, "columns", 1, 1, 2000, 0),
    ]
    listed = frame.where("partition = 1").orderBy("offset").select("headers").collect()
    assert [None if row.headers is None else [tuple(pair) for pair in row.headers] for row in listed] == [headers, None]
    (appended,) = (
        _frame(spark, broker, subscribe="append").selectExpr("timestampType", "unix_millis(timestamp)").collect()
    )
    assert appended[0] == 1
    assert appended[1] >= int(before * 1000)


def test_many_records_of_every_codec(spark: SparkSession, broker: BrokerProcess) -> None:
    """Compressed or not, few or many, split over tasks or not: every record arrives once, with its own offset."""
    count = 3000
    values = [b"%06d" % number + os.urandom(60) for number in range(count)]
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    _create(broker, "codecs", len(codecs))
    for partition, codec in enumerate(codecs):
        _produce(broker, "codecs", values, partition, compression_type=codec)
    frame = _frame(spark, broker, subscribe="codecs", minPartitions="12")
    assert 10 <= frame.rdd.getNumPartitions() <= 14
    rows = frame.select("partition", "offset", "value").collect()
    assert len(rows) == count * len(codecs)
    assert all(bytes(row.value) == values[row.offset] for row in rows)
    assert len({(row.partition, row.offset) for row in rows}) == len(rows)
    part = {"codecs": {str(n): 100 * n for n in range(5)}}, {"codecs": {str(n): 100 * n + 7 for n in range(5)}}
    ends = {"startingOffsets": json.dumps(part[0]), "endingOffsets": json.dumps(part[1])}
    found = _frame(spark, broker, subscribe="codecs", **ends).select("partition", "offset").collect()
    assert sorted(map(tuple, found)) == [(n, 100 * n + extra) for n in range(5) for extra in range(7)]


def test_what_is_read_and_from_where(spark: SparkSession, broker: BrokerProcess) -> None:
    """Patterns, partitions and timestamps choose; a partition without late records is told, or read to its end."""
    _create(broker, "choose-a", 2)
    _create(broker, "choose-b", 1)
    _produce(broker, "choose-a", [b"a0", b"a1", b"a2"])
    _produce(broker, "choose-a", [b"late"], partition=1)
    _produce(broker, "choose-b", [b"b0", b"b1"])
    assert _values(_frame(spark, broker, subscribePattern="choose-.")) == [b"a0", b"a1", b"a2", b"b0", b"b1", b"late"]
    assert _values(_frame(spark, broker, assign='{"choose-a": [1]}')) == [b"late"]
    times = {"startingTimestamp": "1001", "startingOffsetsByTimestampStrategy": "latest"}
    assert _values(_frame(spark, broker, subscribe="choose-a,choose-b", **times)) == [b"a1", b"a2", b"b1"]
    assert _values(_frame(spark, broker, subscribe="choose-a", endingTimestamp="1001")) == [b"a0", b"late"]
    said = _failure(_frame(spark, broker, subscribe="choose-a", startingTimestamp="1001").collect)
    assert "partition choose-a-1 has no record at or after 1001 ms" in said


def test_through_librdkafka(spark: SparkSession, broker: BrokerProcess) -> None:
    """Settings that only librdkafka knows have it read the same columns; those it does not know are told."""
    _create(broker, "fallback", 2)
    _produce(broker, "fallback", [b"%d" % number for number in range(50)])
    _produce(broker, "fallback", [b"x"], partition=1)
    options = {"subscribe": "fallback", "includeHeaders": "true", "minPartitions": "4"}
    ours = _frame(spark, broker, **options)
    theirs = _frame(spark, broker, **options, **{"kafka.socket.nagle.disable": "true"})
    assert theirs.schema == ours.schema
    assert sorted(map(str, theirs.collect())) == sorted(map(str, ours.collect()))
    wrong = _frame(spark, broker, subscribe="fallback", **{"kafka.no.such": "1"})
    assert "a setting kafka.* is not one of librdkafka" in _failure(wrong.collect)


def test_mistakes_are_told_within_seconds(spark: SparkSession, broker: BrokerProcess) -> None:
    """What is wrong comes from the driver, as a sentence before the traceback."""
    _create(broker, "told", 2)
    _produce(broker, "told", [b"0", b"1"])

    def said(**options: str) -> str:
        return _failure(lambda: _frame(spark, broker, **{"subscribe": "told", **options}).collect()).split("\n")[0]

    assert "there is no topic nowhere" in said(subscribe="nowhere")
    assert "there is no option subscribes; did you mean subscribe?" in said(subscribes="told")
    assert "startingOffsets is no JSON" in said(startingOffsets='{"told":')
    assert "startingOffsets must name all partitions that are read, told-1 missing" in said(
        startingOffsets='{"told": {"0": 1}}'
    )
    assert "names partitions that are not read: told-2" in said(startingOffsets='{"told": {"0": 0, "1": 0, "2": 0}}')
    (port,) = free_ports(1)
    nobody = said(**{"kafka.bootstrap.servers": f"127.0.0.1:{port}"})
    assert f"no connection to the broker at 127.0.0.1:{port}" in nobody
    with_schema = spark.read.format("odradek").options(**_options(broker, subscribe="told")).schema("value string")
    assert "no other schema can be given" in _failure(lambda: with_schema.load().collect())


def test_lost_records(spark: SparkSession, broker: BrokerProcess) -> None:
    """Offsets that a partition does not have end a query, or are left out with failOnDataLoss=false."""
    _create(broker, "lost", 1)
    _produce(broker, "lost", [b"0", b"1"])
    beyond = {"startingOffsets": '{"lost": {"0": 1}}', "endingOffsets": '{"lost": {"0": 9}}'}
    said = _failure(_frame(spark, broker, subscribe="lost", **beyond).collect)
    assert "offsets 1 to 9 of partition lost-0 are wanted, it has 0 to 2" in said
    assert _values(_frame(spark, broker, subscribe="lost", failOnDataLoss="false", **beyond)) == [b"1"]
    after = {"startingOffsets": '{"lost": {"0": 7}}'}
    assert _values(_frame(spark, broker, subscribe="lost", failOnDataLoss="false", **after)) == []


def _stream(spark: SparkSession, broker: BrokerProcess, directory: Path, **options: str) -> StreamingQuery:
    """Read what there is now into Parquet."""
    read = spark.readStream.format("odradek").options(**_options(broker, startingOffsets="earliest", **options)).load()
    write = read.writeStream.format("parquet").option("path", str(directory / "out"))
    return run_stream(write.option("checkpointLocation", str(directory / "checkpoint")).trigger(availableNow=True))


def _written(spark: SparkSession, directory: Path) -> list[bytes]:
    return _values(spark.read.parquet(str(directory / "out")))


def test_a_stream_goes_on_where_it_stood(spark: SparkSession, broker: BrokerProcess, tmp_path: Path) -> None:
    """Micro-batches keep to their limit, partitions added meanwhile are read from their beginning, nothing comes twice.

    The checkpoint may have been written by Spark's own source: its offsets are the same JSON, without spaces.
    """
    _create(broker, "stream", 2)
    for partition in (0, 1):
        _produce(broker, "stream", [b"%d-%d" % (partition, number) for number in range(10)], partition)
    query = _stream(spark, broker, tmp_path, subscribe="stream", maxOffsetsPerTrigger="8")
    assert [progress.numInputRows for progress in query.recentProgress] == [8, 8, 4]
    expected = sorted(b"%d-%d" % (partition, number) for partition in (0, 1) for number in range(10))
    assert _written(spark, tmp_path) == expected

    kept = tmp_path / "checkpoint" / "offsets" / "2"
    lines = kept.read_text().split("\n")
    assert json.loads(lines[-1]) == {"stream": {"0": 10, "1": 10}}
    lines[-1] = json.dumps(json.loads(lines[-1]), separators=(",", ":"))
    kept.write_text("\n".join(lines))
    (kept.parent / ".2.crc").unlink()

    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_partitions([NewPartitions("stream", 3)])["stream"].result(60)
    _produce(broker, "stream", [b"new"], partition=2)
    _produce(broker, "stream", [b"more"], partition=0)
    _stream(spark, broker, tmp_path, subscribe="stream")
    assert _written(spark, tmp_path) == sorted([*expected, b"new", b"more"])


def test_a_deleted_topic(spark: SparkSession, broker: BrokerProcess, tmp_path: Path) -> None:
    """A topic that was deleted ends a stream that reads it, or is left out with failOnDataLoss=false."""
    for topic in ("kept", "deleted"):
        _create(broker, f"gone-{topic}")
        _produce(broker, f"gone-{topic}", [topic.encode()])
    topics = "gone-kept,gone-deleted"
    _stream(spark, broker, tmp_path, subscribe=topics)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.delete_topics(["gone-deleted"])["gone-deleted"].result(60)
    _produce(broker, "gone-kept", [b"after"])
    said = _failure(lambda: _stream(spark, broker, tmp_path, subscribe=topics))
    assert "partition gone-deleted-0 was deleted" in said
    _stream(spark, broker, tmp_path, subscribe=topics, failOnDataLoss="false")
    assert _written(spark, tmp_path) == [b"after", b"deleted", b"kept"]
