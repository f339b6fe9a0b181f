"""What retention leaves of a directory: the same segments, whether Apache Kafka or odradek has looked at it."""

import shutil
import time
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import BrokerFactory
from tests.fault.talk import MEGABYTE, create_topic, delete_records, topics
from tests.integration.clients import Confluent, ProduceSettings, Sent
from tests.interop.hand_over import inspect
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess
from tests.support.waiting import eventually
from tests.support.wire import WireClient

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka"), pytest.mark.timeout(300)]

HOUR_MS = 3_600_000
OLD, YOUNG = -3 * HOUR_MS, -HOUR_MS // 2
AGES = [OLD, OLD, OLD, OLD, OLD, YOUNG, OLD, OLD, YOUNG, YOUNG]
"""Of the records, two to a segment: the third segment has a young one, so the fourth stays behind it."""
SIZE = 400_000
TOPICS = {
    "by-size": {"retention.ms": "-1", "retention.bytes": str(6 * SIZE)},
    "by-size-to-the-byte": {"retention.ms": "-1", "retention.bytes": "0"},
    "by-time": {"retention.ms": str(HOUR_MS)},
    "by-both": {"retention.ms": str(HOUR_MS), "retention.bytes": str(8 * SIZE)},
    "by-start": {"retention.ms": "-1"},
    "not-at-all": {"retention.ms": "1", "retention.bytes": "1", "cleanup.policy": "compact"},
}
LOOKING = {"log.retention.check.interval.ms": "300", "log.initial.task.delay.ms": "300", "log.cleaner.enable": "false"}


def _segments(data: Path) -> dict[str, list[str]]:
    """Return the segments that each topic has."""
    return {topic: sorted(path.name for path in (data / f"{topic}-0").glob("*.log")) for topic in TOPICS}


def _has_topics(broker: BrokerProcess, wanted: set[str]) -> bool:
    with WireClient(broker.port) as wire:
        return topics(wire) >= wanted


def test_what_is_left_is_what_apache_kafka_leaves(new_broker: BrokerFactory, tmp_path: Path) -> None:
    """By size, by time, by both, by the start of the log; its tool finds nothing to complain of in what is left."""
    writer = OdradekProcess(tmp_path / "odradek")
    kafka = ApacheKafkaProcess(tmp_path / "kafka", LOOKING)
    ours = OdradekProcess(tmp_path / "odradek", LOOKING)
    try:
        writer.start()
        now_ms = int(time.time() * 1000)
        client = Confluent(writer.bootstrap)
        with WireClient(writer.port) as wire:
            for topic, configs in TOPICS.items():
                assert create_topic(wire, topic, configs={"segment.bytes": str(MEGABYTE), **configs}) == 0
                for number, age in enumerate(AGES):
                    record = Sent(b"%d" % number, bytes(SIZE), (), now_ms + age)
                    client.produce(topic, 0, [record], ProduceSettings())
            assert delete_records(wire, "by-start", 5) == 0
        assert writer.stop() == 0
        everything = _segments(writer.data)
        assert [len(names) for names in everything.values()] == [5, 5, 5, 5, 3, 5]
        shutil.copytree(writer.data, kafka.data)
        for broker in (ours, kafka):
            broker.start()
        eventually(lambda: _segments(ours.data)["by-time"] != everything["by-time"], "the first look is done")
        eventually(lambda: _segments(ours.data) == _segments(kafka.data), "both leave the same segments")
        left = _segments(ours.data)
        assert {topic: len(names) for topic, names in left.items()} == {
            "by-size": 3,
            "by-size-to-the-byte": 1,
            "by-time": 3,
            "by-both": 3,
            "by-start": 3,
            "not-at-all": 5,
        }
        assert ours.stop() == 0
        assert kafka.stop() == 143
        assert _segments(ours.data) == _segments(kafka.data) == left
        for suffix in ("log", "index", "timeindex"):
            inspect(sorted(path for topic in TOPICS for path in (ours.data / f"{topic}-0").glob(f"*.{suffix}")))
    finally:
        for broker in (writer, ours, kafka):
            broker.discard()


def test_metadata_log_that_was_kept_short_is_apache_kafkas_too(tmp_path: Path) -> None:
    """Old snapshots and the log before the newest ones are gone; Apache Kafka goes on from there, and back."""
    short = {
        "metadata.log.max.snapshot.interval.ms": "200",
        "metadata.log.segment.ms": "100",
        "metadata.max.retention.ms": "400",
    }
    odradek, kafka = OdradekProcess(tmp_path, short), ApacheKafkaProcess(tmp_path)
    metadata = odradek.data / "__cluster_metadata-0"
    names = iter(range(1000))

    def first_segment_is_gone(wire: WireClient) -> bool:
        assert create_topic(wire, f"short-{next(names)}", configs={"retention.ms": "-1"}) == 0
        return not (metadata / f"{0:020d}.log").exists()

    try:
        odradek.start()
        with WireClient(odradek.port) as wire:
            eventually(lambda: first_segment_is_gone(wire), "the metadata log begins later")
        assert odradek.stop() == 0
        created = {f"short-{number}" for number in range(next(names))}
        assert len(list(metadata.glob("*.checkpoint"))) < len(created)
        inspect(sorted(metadata.glob("*.log")), "--cluster-metadata-decoder")
        for broker in (kafka, odradek):
            broker.start()
            eventually(partial(_has_topics, broker, created), "all topics are there")
            with WireClient(broker.port) as wire:
                assert create_topic(wire, f"by-{type(broker).__name__}") == 0
            broker.stop()
    finally:
        for broker in (odradek, kafka):
            broker.discard()
