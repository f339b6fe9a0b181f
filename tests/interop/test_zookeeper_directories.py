"""Directories that Kafka with ZooKeeper left, served by odradek, and then by today's Apache Kafka."""

from pathlib import Path

import pytest

from tests.interop.hand_over import (
    alter,
    begin,
    commit,
    committed,
    create,
    delete,
    end,
    fetch,
    inspect,
    leader_epoch,
    new_producer,
    partition,
    produce,
    served,
)
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess
from tests.support.waiting import eventually
from tests.support.zookeeper_kafka import ZooKeeperKafkaProcess

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka"), pytest.mark.timeout(300)]

KEPT = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
SEQUENCE = [b"%d" % number * 50 for number in range(5)]
SETTINGS = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "2"}


def _await_stable(broker: BrokerProcess, offset: int) -> None:
    """Wait until the last transaction has its marker, up to which all is stable then: each is a record and a marker."""
    eventually(lambda: partition(broker, "plain", 0).stable_end == offset, "the marker is written")


def _fill(broker: BrokerProcess) -> None:
    """Let there be topics with configs, a transaction of every kind, a deleted topic, and a committed offset."""
    create(broker, "plain", 3)
    create(broker, "short", retention_ms="1000000", segment_bytes="4096")
    create(broker, "compacted", cleanup_policy="compact")
    create(broker, "gone", 2)
    delete(broker, "gone")
    for number in range(20):
        produce(broker, "short", [b"%d" % number * 300])
    produce(broker, "compacted", SEQUENCE)
    for number, (name, outcome) in enumerate((("committed", True), ("aborted", False), ("open", None))):
        producer = new_producer(broker, name)
        begin(broker, name, producer, "plain")
        assert produce(broker, "plain", [name.encode()], producer, 0, name)[0] == 0
        if outcome is not None:
            end(broker, name, producer, outcome)
            _await_stable(broker, 2 * number + 2)
    commit(broker, "group", "plain", 3)


def test_directories_of_zookeepers_times_are_taken_over(tmp_path: Path) -> None:
    """After kill -9, with the same server.properties: topics with their records, producers, transactions and
    committed offsets are there; what stood in ZooKeeper is said to be gone, and nothing is deleted for it."""
    overrides = {**SETTINGS, "log.dirs": f"{tmp_path}/data,{tmp_path}/more"}
    old, odradek = ZooKeeperKafkaProcess(tmp_path, overrides), OdradekProcess(tmp_path)
    new = ApacheKafkaProcess(tmp_path, {**overrides, "node.id": "0"})
    try:
        old.start()
        _fill(old)
        producer = new_producer(old)
        assert produce(old, "short", SEQUENCE, producer, 0) == (0, 20)
        before = served(old)
        epoch = leader_epoch(old, "plain")
        old.kill()
        odradek.properties, odradek.port = old.properties, old.port

        odradek.start()
        found = served(odradek)
        assert found.partitions == before.partitions
        assert found.ids.keys() == before.ids.keys()  # Kafka 2.8 writes the ids themselves when it is not killed
        assert found.configs["compacted"] == found.configs["short"] == KEPT
        assert found.configs["__consumer_offsets"]["cleanup.policy"] == "compact"
        assert odradek.log.count("took over partitions without metadata") == 1
        assert leader_epoch(odradek, "plain") > epoch
        assert committed(odradek, "group") == {("plain", 0): 3}
        seen = fetch(odradek, "plain", 0, 0, isolation=1)
        assert (seen["last_stable_offset"], [each["first_offset"] for each in seen["aborted_transactions"]]) == (4, [2])
        assert produce(odradek, "short", SEQUENCE, producer, 0) == (0, 20)
        assert produce(odradek, "short", SEQUENCE, producer, 5) == (0, 25)
        assert new_producer(odradek).producer_id > producer.producer_id
        commit(odradek, "group", "short", 7)
        alter(odradek, "compacted", "cleanup.policy", "compact")
        before = served(odradek)
        assert odradek.stop() == 0
        text = (tmp_path / "data" / "meta.properties").read_text()
        assert "version=1\n" in text
        assert "node.id=0\n" in text

        new.start()
        assert served(new) == before
        assert committed(new, "group") == {("plain", 0): 3, ("short", 0): 7}
        new_producer(new, "open")
        eventually(lambda: partition(new, "plain", 0).stable_end == 6, "the coordinator has ended what was open", 60)
        assert produce(new, "short", SEQUENCE, producer, 10) == (0, 30)
        assert not list(tmp_path.glob("*/*-stray"))
        inspect(sorted(tmp_path.glob("*/plain-*/*.log")), "--deep-iteration")
    finally:
        for broker in (old, odradek, new):
            broker.discard()
