"""Spark reads from Apache Kafka with the data source `odradek`, as it reads from the project's own broker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.broker import ApacheKafkaProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]

COUNT = 500


def _transaction(kafka: ApacheKafkaProcess, name: str, commit: bool | None) -> Producer:
    """Write records in a transaction, and end it; None leaves it open."""
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "transactional.id": name,
            "transaction.timeout.ms": 300_000,
            "compression.type": "lz4",
        }
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    for number in range(COUNT):
        producer.produce("t", f"{name}-{number}".encode(), partition=0)
    assert producer.flush(60) == 0
    if commit is not None:
        (producer.commit_transaction if commit else producer.abort_transaction)(60)
    return producer


def test_apache_kafka_is_read(spark: SparkSession, kafka: ApacheKafkaProcess, tmp_path: Path) -> None:
    """All records come in read_uncommitted; in read_committed those of aborted and open transactions do not."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic("t", 2, 1)])["t"].result(60)
    plain = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(COUNT):
        plain.produce("t", f"plain-{number}".encode(), b"k", partition=1, headers=[("h", b"v")])
    assert plain.flush(60) == 0
    _transaction(kafka, "committed", commit=True)
    _transaction(kafka, "aborted", commit=False)
    _transaction(kafka, "again", commit=True)
    unfinished = _transaction(kafka, "open", commit=None)

    def values(**options: str) -> dict[str, int]:
        frame = spark.read.format("odradek").options(**{"kafka.bootstrap.servers": kafka.bootstrap, **options})
        rows = frame.option("subscribe", "t").load().selectExpr("split(string(value), '-')[0] name").collect()
        names = [row.name for row in rows]
        return {name: names.count(name) for name in set(names)}

    everything = dict.fromkeys(("plain", "committed", "aborted", "again", "open"), COUNT)
    assert values() == everything
    del everything["open"], everything["aborted"]
    committed = {"kafka.isolation.level": "read_committed"}
    assert values(**committed) == everything
    assert values(minPartitions="7", **committed) == everything

    stream = spark.readStream.format("odradek").option("kafka.bootstrap.servers", kafka.bootstrap)
    stream = stream.options(**{"subscribePattern": "t.*", "startingOffsets": "earliest", **committed})
    query = (
        stream.load()
        .writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    (kept,) = (tmp_path / "checkpoint" / "offsets").glob("[0-9]*")
    assert spark.read.parquet(str(tmp_path / "out")).count() == sum(everything.values())
    assert json.loads(kept.read_text().split("\n")[-1])["t"]["1"] == COUNT
    del unfinished
