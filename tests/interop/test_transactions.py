"""Apache Kafka's own programs with transactions, and its tool that looks at them, unmodified, against the broker."""

import re
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.conftest import BrokerFactory
from tests.integration.test_transactions import new_producer, send, values
from tests.interop import hand_over
from tests.interop.clients import go_copier
from tests.interop.copiers import Copiers, java_copier
from tests.interop.test_groups import needs_go
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, run_java
from tests.support.waiting import eventually
from tests.support.wire import WireClient

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]

TIMEOUT_S = 60
NUMBERS = 5000
NOT_YET = frozenset((14, 15, 16, 51))
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, CONCURRENT_TRANSACTIONS"""
PRODUCER_FENCED = 90
OF_OLD = 1_500_000_000_000
QUICK = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}


@pytest.fixture
def copied(new_broker: BrokerFactory) -> BrokerProcess:
    """A broker with numbers in `source`, and `target` for their copies."""
    broker = new_broker(QUICK)
    broker.start()
    hand_over.create(broker, "source")
    hand_over.create(broker, "target")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    send(producer, "source", *(b"%d" % number for number in range(NUMBERS)))
    return broker


def _all_copied_once(broker: BrokerProcess) -> None:
    """See that readers of what is committed find each number once, in order, and others more than that."""
    assert values(broker.bootstrap, "target") == [b"%d" % number for number in range(NUMBERS)]
    assert len(values(broker.bootstrap, "target", isolation="read_uncommitted")) > NUMBERS
    assert hand_over.committed(broker, "copier") == {("source", 0): NUMBERS}


def test_the_transactional_message_copier_copies_everything_once(copied: BrokerProcess, tmp_path: Path) -> None:
    """In order, too, though first the broker is killed and then the copier, and a third of all is aborted."""
    copiers = Copiers(java_copier(copied.bootstrap, 12_000), tmp_path / "copier.txt")
    try:
        copiers.start()
        copiers.await_copied(200)
        copied.kill()
        copied.start()
        copiers.await_copied(600)
        copiers.kill()
        copiers.start()
        copiers.finish()
    finally:
        copiers.kill()
    _all_copied_once(copied)


@needs_go
def test_franz_go_copies_everything_once(copied: BrokerProcess, tmp_path: Path) -> None:
    """As a member of a group, in order, though the broker is killed meanwhile, and a third of all is aborted."""
    command = [*go_copier(), copied.bootstrap, "source", "target", "copier", str(NUMBERS)]
    copiers = Copiers(command, tmp_path / "copier.txt")
    try:
        copiers.start()
        copiers.await_copied(200)
        copied.kill()
        copied.start()
        copiers.finish()
    finally:
        copiers.kill()
    _all_copied_once(copied)


def _tool(broker: BrokerProcess, *arguments: str) -> list[dict[str, str]]:
    """Return the table that `kafka-transactions` prints, row by row."""
    told = run_java(
        "org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", broker.bootstrap, *arguments
    ).stdout.decode()
    head, *rows = [re.split(r"\s*\t\s*", line.strip()) for line in told.splitlines()]
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_kafka_transactions_lists_describes_and_aborts_what_hangs(new_broker: BrokerFactory) -> None:
    """What a producer left in a partition, of which no coordinator knows, is found and aborted, and nothing else is."""
    broker = new_broker({"transaction.partition.verification.enable": "false"})
    broker.start()
    hand_over.create(broker, "held-up")
    hand_over.create(broker, "fine")
    known = new_producer(broker.bootstrap, "known")
    known.begin_transaction()
    send(known, "fine", b"in")
    lost = hand_over.new_producer(broker, "lost")
    assert hand_over.produce(broker, "held-up", [b"lost"], lost, 0, "lost", OF_OLD) == (0, 0)
    assert hand_over.produce(broker, "held-up", [b"behind"]) == (0, 1)
    assert values(broker.bootstrap, "held-up") == []

    states = {row["TransactionalId"]: row["TransactionState"] for row in _tool(broker, "list")}
    assert states == {"known": "Ongoing", "lost": "Empty"}
    [described] = _tool(broker, "describe", "--transactional-id", "known")
    assert (described["TransactionState"], described["TopicPartitions"]) == ("Ongoing", "fine-0")
    [hanging] = _tool(broker, "find-hanging", "--broker-id", "1")
    assert (hanging["Topic"], hanging["Partition"], hanging["ProducerId"]) == ("held-up", "0", str(lost.producer_id))
    run_java(
        "org.apache.kafka.tools.TransactionsCommand",
        *("--bootstrap-server", broker.bootstrap, "abort"),
        *("--topic", "held-up", "--partition", "0", "--start-offset", hanging["StartOffset"]),
    )
    assert values(broker.bootstrap, "held-up") == [b"behind"]
    known.commit_transaction(TIMEOUT_S)
    assert values(broker.bootstrap, "fine") == [b"in"]


def test_a_fenced_producer_repeats_its_end(kafka: ApacheKafkaProcess, new_broker: BrokerFactory) -> None:
    """After a client from before KIP-890 has had its id, and has ended a transaction as it does itself: Kafka takes
    that for the same end, and gives it the epoch of the other; here it stays fenced.
    """
    ours = new_broker()
    ours.start()
    told = {}
    for broker in (kafka, ours):
        hand_over.create(broker, "repeated")
        with WireClient(broker.port) as wire:
            _until_served(wire, "FindCoordinator", 3, key="repeater", key_type=1)
            fenced = _begin(wire, 5)
            ended = _until_served(wire, "EndTxn", 5, **_end(fenced))
            fenced |= {"producer_epoch": ended["producer_epoch"]}
            other = _begin(wire, 4)
            assert other == fenced | {"producer_epoch": fenced["producer_epoch"] + 1}
            added: dict[str, object] = {f"v3_and_below_{name}": value for name, value in other.items()}
            topics = [{"name": "repeated", "partitions": [0]}]
            added |= {"v3_and_below_transactional_id": "repeater", "v3_and_below_topics": topics}
            wire.ask("AddPartitionsToTxn", 3, **added)
            _until_served(wire, "EndTxn", 4, **_end(other))
            again = _until_served(wire, "EndTxn", 5, **_end(fenced))
            told[broker] = again["error_code"], again["producer_epoch"] == other["producer_epoch"]
    assert told == {kafka: (0, True), ours: (PRODUCER_FENCED, False)}


def _begin(wire: WireClient, version: int) -> dict[str, int]:
    fields = {"transactional_id": "repeater", "transaction_timeout_ms": 60_000, "producer_id": -1, "producer_epoch": -1}
    found = _until_served(wire, "InitProducerId", version, **fields)
    assert not found["error_code"]
    return {name: found[name] for name in ("producer_id", "producer_epoch")}


def _end(producer: dict[str, int]) -> dict[str, object]:
    return {"transactional_id": "repeater", "committed": False, **producer}


def _until_served(wire: WireClient, name: str, version: int, **fields: object) -> dict[str, Any]:
    """Ask until the coordinator is there, and the end before is complete."""
    found: list[dict[str, Any]] = []

    def is_served() -> bool:
        found.append(wire.ask(name, version, **fields))
        return found[-1]["error_code"] not in NOT_YET

    eventually(is_served, f"{name} is answered", TIMEOUT_S)
    return found[-1]
