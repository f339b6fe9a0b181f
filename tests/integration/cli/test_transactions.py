"""odradek transactions."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException, Producer

from tests.integration.cli import Cli
from tests.support.broker import BrokerProcess
from tests.support.hanging import leave_hanging

TIMEOUT_S = 60


@pytest.fixture
def open_transaction(broker: BrokerProcess, cli: Cli, topic: str) -> Iterator[Producer]:
    """A producer with the transactional id `tx-TOPIC` and an open transaction in partition 1 of a topic with two."""
    cli("topics", "create", topic, "-p", "2")
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "transactional.id": f"tx-{topic}",
            "log_level": 0,
            "socket.timeout.ms": 2_000,
        }
    )
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"x", partition=1)
    assert producer.flush(TIMEOUT_S) == 0
    yield producer
    producer.purge()


def test_list_and_describe(cli: Cli, topic: str, open_transaction: Producer) -> None:
    """An open transaction is found by each of the filters, and shown with its partitions until it ends."""
    [listed] = cli("transactions", "list", "--transactional-id-pattern", f"tx-{topic}", "--json").json["transactions"]
    assert (listed["transactional_id"], listed["state"]) == (f"tx-{topic}", "Ongoing")
    by_id = ["transactions", "list", "--producer-id", str(listed["producer_id"])]
    assert cli(*by_id, "--duration", "0s", "--state", "Ongoing", "--json").json["transactions"] == [listed]
    for other in (["--duration", "1h"], ["--state", "Empty"]):
        assert cli(*by_id, *other).error == "there are no such transactions\n"
    [described] = cli("transactions", "describe", f"tx-{topic}", "--json").json["transactions"]
    assert described["started_ms"] > 0
    assert {**described, "started_ms": 0} == listed | {
        "producer_epoch": 0,
        "timeout_ms": 60_000,
        "started_ms": 0,
        "partitions": [{"topic": topic, "partition": 1}],
    }
    assert cli("transactions", "describe", f"tx-{topic}").table[-1] == [topic, "1"]
    open_transaction.commit_transaction(TIMEOUT_S)
    assert [f"tx-{topic}", "CompleteCommit"] in [[row[0], row[-1]] for row in cli("transactions", "list").table]


def test_producers(cli: Cli, topic: str, open_transaction: Producer) -> None:
    """Where the open transaction begins, and nothing once it has ended; a partition without producers has none."""
    asked = ["transactions", "producers", topic, "--json"]
    [found] = cli(*asked).json["producers"]
    assert (found["partition"], found["start_offset"], found["last_sequence"]) == (1, 0, 0)
    assert cli(*asked, "--partition", "0").json["producers"] == []
    open_transaction.commit_transaction(TIMEOUT_S)
    [ended] = cli(*asked, "--broker", "1").json["producers"]
    assert (ended["producer_id"], ended["start_offset"]) == (found["producer_id"], None)
    assert ended["coordinator_epoch"] is not None


def test_force_terminate(cli: Cli, topic: str, open_transaction: Producer) -> None:
    """The transaction is aborted and its producer is fenced."""
    result = cli("transactions", "force-terminate", f"tx-{topic}", "--json").json
    assert (result["state_before"], result["producer_epoch"] > 0) == ("Ongoing", True)
    [found] = cli("transactions", "producers", topic, "--json").json["producers"]
    assert found["start_offset"] is None
    with pytest.raises(KafkaException, match="fenced"):
        open_transaction.commit_transaction(TIMEOUT_S)


@pytest.mark.usefixtures("open_transaction")
def test_what_a_coordinator_ends_does_not_hang(cli: Cli, topic: str) -> None:
    """It is not found, and not aborted in one partition of several unless somebody insists."""
    assert cli("transactions", "find-hanging", "-t", topic, "--max-transaction-timeout", "0s").error == (
        "no transaction hangs\n"
    )
    abort = ["transactions", "abort", "-t", topic, "-p", "1", "--start-offset", "0"]
    refused = cli(*abort)
    assert (refused.code, "is going to end it" in refused.error) == (1, True)
    assert cli(*abort, "--force").lines[0].startswith("aborted the transaction of producer ")
    assert "no open transaction begins at offset 0 of partition 1" in cli(*abort).error


@pytest.mark.parametrize("by_offset", [True, False])
def test_a_hanging_transaction(broker: BrokerProcess, cli: Cli, topic: str, by_offset: bool) -> None:
    """Records of a transaction that no coordinator knows: it is found once it is old enough, and ended there."""
    cli("topics", "create", topic)
    producer_id = (1 << 40) + by_offset
    leave_hanging(broker, topic, producer_id)
    find = ["transactions", "find-hanging", "--topic", topic, "--json"]
    assert cli(*find).json == {"hanging": []}
    [found] = cli(*find, "--max-transaction-timeout", "0s").json["hanging"]
    assert (found["topic"], found["partition"], found["producer_id"]) == (topic, 0, producer_id)
    named = ["--producer-id", str(producer_id), "--producer-epoch", "3", "--coordinator-epoch", "-1"]
    by = ["--start-offset", str(found["start_offset"])] if by_offset else named
    aborted = cli("transactions", "abort", "-t", topic, "-p", "0", *by, "--json").json
    assert aborted == {
        "topic": topic,
        "partition": 0,
        "producer_id": producer_id,
        "producer_epoch": 3,
        "coordinator_epoch": 0,
    }
    assert cli(*find, "--max-transaction-timeout", "0s", "--broker", "1").json == {"hanging": []}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["describe", "nobody-has-this"], 1, "transactional id nobody-has-this does not exist"),
        (["force-terminate", "nobody-has-this"], 1, "transactional id nobody-has-this does not exist"),
        (["list", "--state", "Open"], 2, "no transaction can have the state Open"),
        (["list", "--duration", "long"], 2, "--duration: 'long' is no duration"),
        (["list", "--transactional-id-pattern", "("], 2, "'(' is no regular expression"),
        (["producers", "no-such-topic"], 1, "topic no-such-topic does not exist"),
        (["find-hanging", "--broker", "77"], 1, "broker 77 is not there"),
        (["abort", "-t", "t", "-p", "0"], 2, "give either --start-offset, or --producer-id"),
        (["abort", "-t", "t", "-p", "0", "--start-offset", "1", "--producer-id", "2"], 2, "give either"),
        (["abort", "-t", "t", "-p", "0", "--producer-id", "2"], 2, "give either --start-offset, or --producer-id"),
    ],
)
def test_what_cannot_be_done(cli: Cli, arguments: list[str], code: int, said: str) -> None:
    """One sentence, and the exit code says whose mistake it is."""
    result = cli("transactions", *arguments)
    assert result.code == code
    assert said in result.error
