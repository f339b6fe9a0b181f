"""Offsets in transactions of Apache Kafka's: committed ones count here, aborted ones do not, open ones stay open until
their time is over."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest

from tests.integration.clients import Confluent
from tests.integration.groups.raw import await_coordinator, committed
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess
from tests.support.waiting import eventually
from tests.support.wire import ERROR_NAMES, WireClient

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka"), pytest.mark.timeout(300)]

TIMEOUT_S = 60
TIMEOUTS_MS = {"committed": 60_000, "aborted": 60_000, "open": 900_000, "late": 1000}
"""How long the transactions of each group may be open."""
GROUPS = tuple(TIMEOUTS_MS)
TRANSACTIONS = {"transaction.state.log.num.partitions": "1"}
ABORTS = "transaction.abort.timed.out.transaction.cleanup.interval.ms"


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """Apache Kafka, and odradek, each with a directory of its own."""
    settings = {"offsets.topic.num.partitions": "3", **TRANSACTIONS}
    made = (
        ApacheKafkaProcess(tmp_path / "kafka", {**settings, ABORTS: "3600000"}),
        OdradekProcess(tmp_path / "odradek", {**settings, ABORTS: "100"}),
    )
    yield made
    for broker in made:
        broker.discard()


def _producer(broker: BrokerProcess, group: str) -> confluent_kafka.Producer:
    """Return a producer of the group's transactions, after what an earlier one of them left open has been aborted."""
    settings = {"transactional.id": group, "transaction.timeout.ms": TIMEOUTS_MS[group], "log_level": 0}
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, **settings})
    producer.init_transactions(TIMEOUT_S)
    return producer


def _begin(broker: BrokerProcess, group: str, topic: str, offset: int) -> confluent_kafka.Producer:
    """Open a transaction of an offset of the group."""
    producer = _producer(broker, group)
    producer.begin_transaction()
    consumer = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    places = [confluent_kafka.TopicPartition(topic, 0, offset)]
    producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata(), TIMEOUT_S)
    consumer.close()
    return producer


def _told(wire: WireClient, group: str, topic: str) -> tuple[int, str]:
    """Return what somebody is told who asks for a stable offset."""
    asked = [{"name": topic, "partition_indexes": [0]}]
    answer = wire.ask("OffsetFetch", 7, group_id=group, topics=asked, require_stable=True)
    assert answer["error_code"] == 0
    found = answer["topics"][0]["partitions"][0]
    return found["committed_offset"], ERROR_NAMES[found["error_code"]]


def _await_told(wire: WireClient, group: str, topic: str, wanted: tuple[int, str]) -> None:
    """Wait until somebody is told that: the transaction of the group has ended."""
    eventually(lambda: _told(wire, group, topic) == wanted, f"the transaction of {group} has ended", TIMEOUT_S)


def _commit(broker: BrokerProcess, group: str, topic: str, offset: int) -> None:
    partition = {"partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1}
    topics = [{"name": topic, "partitions": [partition]}]
    with WireClient(broker.port) as wire:
        answer = wire.ask("OffsetCommit", 8, group_id=group, generation_id_or_member_epoch=-1, topics=topics)
    assert answer["topics"][0]["partitions"][0]["error_code"] == 0


def test_transactions_that_apache_kafka_left(brokers: tuple[BrokerProcess, BrokerProcess], topic: str) -> None:
    """Killed with two open: one is aborted here when its time is over; the other one is unstable, over a restart too,
    until its producer begins again at Apache Kafka, started again on the directory."""
    kafka, odradek = brokers
    kafka.start()
    Confluent(kafka.bootstrap).create_topic(topic)
    for group in GROUPS:
        await_coordinator(kafka, group)
        _commit(kafka, group, topic, 3)
    producers = {group: _begin(kafka, group, topic, 8) for group in GROUPS}
    producers["committed"].commit_transaction(TIMEOUT_S)
    producers["aborted"].abort_transaction(TIMEOUT_S)
    with WireClient(kafka.port) as wire:
        _await_told(wire, "committed", topic, (8, "NONE"))
        _await_told(wire, "aborted", topic, (3, "NONE"))
        before = {group: _told(wire, group, topic) for group in GROUPS}
    assert before["open"] == before["late"] == (-1, "UNSTABLE_OFFSET_COMMIT")
    before["late"] = (3, "NONE")
    kafka.kill()
    shutil.copytree(kafka.data, odradek.data)
    for _ in range(2):
        odradek.start()
        with WireClient(odradek.port) as wire:
            assert [committed(wire, group, topic) for group in GROUPS] == [8, 3, 3, 3]
            _await_told(wire, "late", topic, (3, "NONE"))
            assert {group: _told(wire, group, topic) for group in GROUPS} == before
        odradek.kill()
    shutil.rmtree(kafka.data)
    shutil.copytree(odradek.data, kafka.data)
    kafka.start()
    with WireClient(kafka.port) as wire:
        assert [committed(wire, group, topic) for group in GROUPS] == [8, 3, 3, 3]
        assert {group: _told(wire, group, topic) for group in GROUPS} == before
        _producer(kafka, "open")
        _await_told(wire, "open", topic, (3, "NONE"))
    kafka.stop()
    shutil.rmtree(odradek.data)
    shutil.copytree(kafka.data, odradek.data)
    odradek.start()
    with WireClient(odradek.port) as wire:
        assert [committed(wire, group, topic) for group in GROUPS] == [8, 3, 3, 3]
        assert _told(wire, "open", topic) == (3, "NONE")
