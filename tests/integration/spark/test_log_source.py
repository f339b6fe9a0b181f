"""Spark reads the files of a log directory with `odradek-log`: the rows that come through the broker, and as it was."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.errors import PySparkException
from pyspark.sql.datasource import DataSourceReader

from tests.support.broker import BrokerProcess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

PARTITIONS = 2
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
CAN_PUSH_DOWN = hasattr(DataSourceReader, "pushFilters")
"""Since Spark 4.1."""
SMALL = {"segment.bytes": "1048576"}


@pytest.fixture
def filled(broker: BrokerProcess, topic: str) -> str:
    """A topic with keys, nulls, headers and compressed batches in several segments."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1, config=SMALL)])[topic].result(60)
    noise = Random(1)
    for codec in ("none", "lz4", "gzip", "snappy", "zstd"):
        producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": codec, "batch.size": 20_000})
        for number in range(1000):
            producer.produce(
                topic,
                None if number % 7 == 0 else b"%d" % number + noise.randbytes(600),
                None if number % 5 == 0 else str(number).encode(),
                number % PARTITIONS,
                timestamp=1_700_000_000_000 + number * 1000,
                headers=[("h", b"\xff"), ("codec", codec.encode()), ("none", None)] if number % 3 == 0 else None,
            )
        assert producer.flush(60) == 0
    return topic


@pytest.fixture
def pushdown(spark: SparkSession) -> Iterator[None]:
    """Spark hands filters over, which it does not do by itself."""
    spark.conf.set(PUSHDOWN, "true")
    yield
    spark.conf.unset(PUSHDOWN)


def _load(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("odradek-log").options(**options).load(str(path))


def _failure(query: Callable[[], DataFrame]) -> str:
    """Return what is said of a query that must fail, within seconds."""
    began = time.monotonic()
    with pytest.raises(PySparkException) as caught:
        query().count()
    assert time.monotonic() - began < 30
    return str(caught.value)


def _state(directory: Path) -> dict[str, tuple[int, int, str]]:
    """Return size, time of change and content of every file below a directory."""
    files = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in files
    }


def test_the_rows_are_those_of_the_broker(spark: SparkSession, broker: BrokerProcess, filled: str) -> None:
    """While the broker runs both sources give the same rows, every column of them; and no file changes by it."""
    through = spark.read.format("odradek").option("kafka.bootstrap.servers", broker.bootstrap)
    through = through.option("subscribe", filled).option("includeHeaders", "true")
    expected = sorted(through.load().collect(), key=lambda row: (row.partition, row.offset))
    directories = [broker.data / f"{filled}-{number}" for number in range(PARTITIONS)]
    assert all(len(list(directory.glob("*.log"))) > 1 for directory in directories)
    frame = _load(spark, broker.data, topic=filled, includeHeaders="true", maxBytesPerTask="150000")
    found = sorted(frame.collect(), key=lambda row: (row.partition, row.offset))
    assert found == expected
    assert len(found) == 5000
    one = _load(spark, directories[1])
    assert one.where("value is null").count() == sum(1 for row in expected if row.partition == 1 and row.value is None)


def _spoil_first_segment(directory: Path) -> None:
    first = min(directory.glob("*/*.log"))
    first.write_bytes(b"\xff" * first.stat().st_size)


def _copy(broker: BrokerProcess, partition: str, target: Path) -> Path:
    """Copy the directory of a partition, as far as it is written."""
    copy = target / partition
    copy.mkdir(parents=True)
    for file in (broker.data / partition).iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def test_options_spare_the_rest(spark: SparkSession, broker: BrokerProcess, filled: str, tmp_path: Path) -> None:
    """What options exclude may be unreadable; and whatever is read, no file changes by it."""
    _copy(broker, f"{filled}-0", tmp_path)
    _spoil_first_segment(tmp_path)
    before = _state(tmp_path)
    start = f'{{"{filled}": {{"0": 2400}}}}'
    frame = _load(spark, tmp_path, startingOffsets=start)
    assert frame.count() == 100
    assert frame.where("offset < 2402").count() == 2
    assert "is damaged at byte 0" in _failure(lambda: _load(spark, tmp_path).where("offset >= 2400"))
    assert _state(tmp_path) == before


@pytest.mark.skipif(not CAN_PUSH_DOWN, reason="this version of Spark has no filters to hand over")
def test_filters_spare_the_rest(
    spark: SparkSession, broker: BrokerProcess, filled: str, pushdown: None, tmp_path: Path
) -> None:
    """What pushed filters exclude may be unreadable."""
    _copy(broker, f"{filled}-0", tmp_path)
    _spoil_first_segment(tmp_path)

    def filtered(condition: str) -> int:
        return _load(spark, tmp_path, filterPushdown="true").where(condition).count()

    assert filtered("offset >= 2400 and offset < 2402") == 2
    assert filtered("partition = 1") == 0
    assert filtered("topic = 'another'") == 0
    assert filtered("timestamp > timestamp'2023-11-14 22:29:59.5'") == 0


@pytest.mark.skipif(CAN_PUSH_DOWN, reason="this version of Spark hands filters over")
def test_filters_are_refused_where_spark_has_none(spark: SparkSession, tmp_path: Path) -> None:
    """The option filterPushdown does not do nothing silently."""
    assert "needs Spark 4.1 or newer" in _failure(lambda: _load(spark, tmp_path, filterPushdown="true"))


@pytest.mark.skipif(not CAN_PUSH_DOWN, reason="this version of Spark has no filters to hand over")
def test_spark_keeps_filters_that_it_handed_over(
    spark: SparkSession, broker: BrokerProcess, filled: str, pushdown: None
) -> None:
    """Why filters are not taken by themselves: Spark uses what it planned with one filter for other queries, too."""
    path = broker.data / f"{filled}-0"
    safe, unsafe = _load(spark, path), _load(spark, path, filterPushdown="true")
    for frame in (safe, unsafe):
        assert frame.where("offset < 2").count() == 2
    assert safe.count() == 2500
    assert unsafe.count() < 2500


def test_damage_and_mistakes_are_told(spark: SparkSession, broker: BrokerProcess, filled: str, tmp_path: Path) -> None:
    """A damaged batch ends the query with file and byte; a wrong option ends it before anything is read."""
    copy = _copy(broker, f"{filled}-0", tmp_path)
    file = min(copy.glob("*.log"))
    content = bytearray(file.read_bytes())
    content[65] ^= 1  # in the first batch, however few records the producer put into it
    file.write_bytes(content)

    def failure(path: Path, **options: str) -> str:
        return _failure(lambda: _load(spark, path, **options))

    assert f"{file.name} is damaged at byte 0: Record is corrupt" in failure(copy)
    assert 2400 < _load(spark, copy, mode="dropMalformed").count() < 2500
    assert f"{tmp_path}/none is not there" in failure(tmp_path / "none")
    assert "has no topic lost" in failure(tmp_path, topic="lost")
    assert "there is no option topics; did you mean topic?" in failure(tmp_path, topics="t")
    assert "no cluster is asked" in failure(tmp_path, **{"kafka.bootstrap.servers": "x"})
