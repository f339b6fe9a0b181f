"""The coordinator makes its topic, knows which partition has an id, and goes on after a restart where it was."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from odradek.broker.transactions.state import Producer, TransactionState
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata_records import PartitionChangeRecord
from odradek.storage.names import TopicPartition
from tests.support.deferred import now
from tests.unit.broker.groups.coordinator_world import Cluster
from tests.unit.broker.metadata.support import NODE, record_of
from tests.unit.broker.transactions.coordinator_world import TIMEOUT_MS, RunningTransactions

TRANSACTIONS = "__transaction_state"
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
async def broker() -> AsyncIterator[RunningTransactions]:
    running = RunningTransactions(Cluster.new("t"))
    yield running
    running.stop()


async def test_the_topic_is_made_when_it_is_first_needed() -> None:
    """By who asks for the coordinator, with Kafka's configs; who does not ask is sent to do so."""
    cluster = Cluster.new("t")
    broker = RunningTransactions(cluster, is_prepared=False)
    broker.services.start()
    assert cluster.source.image.topic(TRANSACTIONS) is None
    refused = now(broker.coordinator.init_producer_id("tx", TIMEOUT_MS, None))
    assert refused.error is ErrorCode.NOT_COORDINATOR
    assert now(broker.coordinator.prepare()) is None
    topic = cluster.source.image.topic(TRANSACTIONS)
    assert topic is not None
    assert len(topic.partitions) == 3
    assert cluster.source.image.topic_config(TRANSACTIONS) == {
        "compression.type": "uncompressed",
        "cleanup.policy": "compact",
        "segment.bytes": "104857600",
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": "false",
    }
    assert broker.coordinator.leader_for("tx") == NODE
    assert broker.begin() == Producer(0, 0)
    broker.stop()


async def test_a_transaction_writes_markers_where_this_broker_leads(broker: RunningTransactions) -> None:
    """Into partitions of a topic, and into that of a group."""
    producer = broker.begin()
    assert now(broker.coordinator.add_partitions("tx", *producer, [T0, T1], 2)) is ErrorCode.NONE
    assert now(broker.coordinator.end_transaction("tx", producer, True, 2)).producer_epoch == 1
    await asyncio.sleep(0)  # markers go out in the next turn of the loop
    for index, end in ((0, 1), (1, 1), (2, 0)):
        partition = broker.partitions.get("t", index)
        assert partition.log.log_end_offset == end
    known = broker.coordinator.describe("tx")
    assert known is not None
    assert known.state is TransactionState.COMPLETE_COMMIT


async def test_brokers_are_told_what_is_in_a_transaction(broker: RunningTransactions) -> None:
    """Partition by partition; strangers and zombies the same for all."""
    producer = broker.begin()
    assert now(broker.coordinator.add_partitions("tx", *producer, [T0], 2)) is ErrorCode.NONE
    verify = broker.coordinator.verify_partitions
    assert verify("tx", *producer, [T0, T1]) == {T0: ErrorCode.NONE, T1: ErrorCode.TRANSACTION_ABORTABLE}
    assert verify("tx", producer.producer_id, 9, [T0]) == {T0: ErrorCode.PRODUCER_FENCED}
    assert verify("nobody", *producer, [T0]) == {T0: ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert verify("", *producer, [T0]) == {T0: ErrorCode.INVALID_REQUEST}


async def test_transactions_of_before_a_restart_are_ended_by_whoever_comes_or_by_time() -> None:
    """They are loaded when the broker starts, without anybody asking."""
    cluster = Cluster.new("t")
    broker = RunningTransactions(cluster)
    producers = {name: broker.begin(name) for name in ("a", "b")}
    for name, producer in producers.items():
        assert now(broker.coordinator.add_partitions(name, *producer, [T0], 0)) is ErrorCode.NONE
    broker.stop()
    broker = RunningTransactions(cluster, is_prepared=False)
    broker.services.start()
    while not broker.coordinator.shards()[1]:
        await asyncio.sleep(0)
    assert now(broker.coordinator.end_transaction("a", producers["a"], True, 0)).error is ErrorCode.NONE
    await asyncio.sleep(0)
    assert broker.partitions.get("t", 0).log.log_end_offset == 1
    cluster.clock.advance(TIMEOUT_MS / 1000 + 1)
    for _ in broker.services.abort_overdue():
        pass
    await asyncio.sleep(0)
    assert broker.partitions.get("t", 0).log.log_end_offset == 2
    states = {
        name: known.state for shard in broker.coordinator.shards()[0] for name, known in shard.transactions.items()
    }
    assert states == {"a": TransactionState.COMPLETE_COMMIT, "b": TransactionState.COMPLETE_ABORT}
    broker.stop()


async def test_an_id_lives_where_its_partition_is_led(broker: RunningTransactions) -> None:
    """Another broker leads it now: who asks here is told to look for it."""
    producer = broker.begin()
    topic = broker.cluster.source.image.topic(TRANSACTIONS)
    assert topic is not None
    moved = [
        record_of(PartitionChangeRecord(partition_id=index, topic_id=topic.topic_id, leader=NODE + 1))
        for index in range(3)
    ]
    source = broker.cluster.source
    source.propose(moved, source.image)
    assert broker.coordinator.leader_for("tx") == NODE + 1
    elsewhere = ErrorCode.NOT_COORDINATOR
    assert now(broker.coordinator.init_producer_id("tx", TIMEOUT_MS, None)).error is elsewhere
    assert now(broker.coordinator.add_partitions("tx", *producer, [T0], 0)) is elsewhere
    assert now(broker.coordinator.end_transaction("tx", producer, True, 0)).error is elsewhere
    assert broker.coordinator.verify_partitions("tx", *producer, [T0]) == {T0: elsewhere}


async def test_ids_that_nobody_uses_are_forgotten() -> None:
    """After transactional.id.expiration.ms."""
    broker = RunningTransactions(Cluster.new(), "transactional.id.expiration.ms=5000")
    broker.begin("old")
    broker.cluster.clock.advance(4)
    broker.begin("new")
    broker.cluster.clock.advance(2)
    for _ in broker.services.forget_idle():
        pass
    assert broker.coordinator.describe("old") is None
    assert broker.coordinator.describe("new") is not None
    broker.stop()


async def test_partitions_are_listed_in_their_order(broker: RunningTransactions) -> None:
    """Whichever was asked for first, as by Kafka."""
    for name in "cabfed":
        broker.begin(name)
    assert [shard.index for shard in broker.coordinator.shards()[0]] == [0, 1, 2]
