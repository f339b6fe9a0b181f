"""The word count and the relay with real Spark and real brokers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer

from tests.conftest import BrokerFactory
from tests.support.broker import BrokerProcess
from tests.support.pipeline_job import RunJob

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]

FIRST_MS = 1_700_000_000_000
LINES = [f"line {number} of odradek" for number in range(300)]


def _produce(broker: BrokerProcess, topic: str, lines: list[str]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for line in lines:
        number = LINES.index(line)
        producer.produce(topic, line, b"%d" % number, timestamp=FIRST_MS + number)
    assert producer.flush(60) == 0


def _consume(broker: BrokerProcess, topic: str) -> Iterator[tuple[bytes, bytes, int, list[tuple[str, bytes]]]]:
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "reader", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings | {"enable.partition.eof": True})
    consumer.subscribe([topic])
    while (message := consumer.poll(30)) is not None and message.error() is None:
        key, value = message.key(), message.value()
        assert isinstance(key, bytes)
        assert isinstance(value, bytes)
        yield key, value, message.timestamp()[1], list(message.headers() or [])  # type: ignore[arg-type]
    consumer.close()


def _descriptions(spark: SparkSession) -> list[str]:
    """Return what Spark's UI says of the jobs of Spark."""
    jobs: Any = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    return [str(jobs.apply(number).description()) for number in range(jobs.size())]


def test_a_word_count_goes_on_where_it_was(
    broker: BrokerProcess, run_job: RunJob, spark: SparkSession, topic: str, tmp_path: Path
) -> None:
    """Counts go on from the checkpoint, shown as JSON, and are of the words of all records; Spark's UI is told of both
    batches."""
    arguments = ("wordcount", topic, "--checkpoint", str(tmp_path / "checkpoint"), "--limit", "5")
    shown = []
    for lines in (LINES[:200], LINES[200:]):
        _produce(broker, topic, lines)
        job = run_job(broker.bootstrap, *arguments)
        shown.append(json.loads(job.output.splitlines()[-1])["words"])
    assert {f"Some(wordcount, batch {n}: {rows} offsets of 1 partition)" for n, rows in ((0, 200), (1, 100))} <= set(
        _descriptions(spark)
    )
    counts = Counter(word for line in LINES for word in line.split())
    assert shown[0][:3] == [{"word": word, "count": 200} for word in ("line", "odradek", "of")]
    assert (
        shown[1]
        == [
            {"word": word, "count": count}
            for word, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        ][:5]
    )


def test_a_relay_between_two_brokers(
    broker: BrokerProcess, new_broker: BrokerFactory, run_job: RunJob, topic: str, tmp_path: Path
) -> None:
    """What matches goes to the other broker with key and timestamp, changed, with a header of where it is from, and
    the next run relays only what is new.
    """
    inside = new_broker()
    inside.start()
    arguments = ["relay", topic, "--to-bootstrap-server", inside.bootstrap, "--to", "kept", "--source-header"]
    arguments += ["--matching", "7 of", "--where", "offset < 250", "--checkpoint", str(tmp_path / "checkpoint")]
    arguments += ["--select", "upper(CAST(value AS STRING)) AS value"]
    for lines in (LINES[:150], LINES[150:]):
        _produce(broker, topic, lines)
        run_job(broker.bootstrap, *arguments)
    wanted = [number for number in range(250) if number % 10 == 7]
    assert sorted(_consume(inside, "kept"), key=lambda each: int(each[0])) == [
        (
            b"%d" % number,
            LINES[number].upper().encode(),
            FIRST_MS + number,
            [("odradek.source", f"{topic}/0/{number}".encode())],
        )
        for number in wanted
    ]
