"""odradek bench."""

from tests.integration.cli import Cli
from tests.integration.cli import start as start_command
from tests.support.broker import BrokerProcess

FIGURES = ("records_per_second", "bytes_per_second", "seconds")


def test_produce_and_consume(cli: Cli, topic: str) -> None:
    """Counts are exact, speeds are above nothing, and percentiles are in order."""
    cli("topics", "create", topic, "-p", "2")
    produced = cli(
        "bench", "produce", topic, "--records", "2000", "--size", "50", "--compression", "lz4", "--json"
    ).json
    assert (produced["topic"], produced["records"], produced["bytes"], produced["failed"]) == (topic, 2000, 100_000, 0)
    assert all(produced[name] > 0 for name in FIGURES)
    latencies = list(produced["latency_ms"].values())
    assert list(produced["latency_ms"]) == ["mean", "p50", "p95", "p99", "p99.9", "max"]
    assert latencies[1] > 0
    assert latencies[1:] == sorted(latencies[1:])
    consumed = cli("bench", "consume", topic, "--json").json
    assert (consumed["records"], consumed["bytes"], consumed["latency_ms"]) == (2000, 100_000, None)
    assert all(consumed[name] > 0 for name in FIGURES)


def test_transactions(cli: Cli, topic: str) -> None:
    """All records are in transactions of so many, the last one has the rest; commits have their own latencies."""
    cli("topics", "create", topic)
    load = ["bench", "produce", topic, "--transactional-id", f"tx-{topic}", "--transaction-records", "40"]
    produced = cli(*load, "--records", "100", "--json").json
    assert (produced["records"], produced["transactions"]["committed"]) == (100, 3)
    assert 0 < produced["transactions"]["commit_ms"]["p50"] <= produced["transactions"]["commit_ms"]["max"]
    [listed] = cli("transactions", "list", "--transactional-id-pattern", f"tx-{topic}", "--json").json["transactions"]
    assert listed["state"] == "CompleteCommit"
    # 100 records and 3 markers
    [partition] = cli("topics", "describe", topic, "--json").json["topics"][0]["partitions"]
    assert partition["end"] == 103
    lines = cli(*load, "-n", "40").lines
    assert lines[4].startswith("1 transaction: ")
    assert lines[5] == "milliseconds from asking for a commit to its answer:"
    assert cli("bench", "consume", topic, "--json").json["transactions"] is None


def test_transactions_that_come_to_nothing(cli: Cli, topic: str) -> None:
    """What is refused is aborted; who waits for less than all replicas has no transactions."""
    cli("topics", "create", topic)
    load = ["bench", "produce", topic, "-n", "2", "--transactional-id", f"tx-{topic}"]
    result = cli(*load, "--size", "2000000")
    assert (result.code, "(MSG_SIZE_TOO_LARGE)" in result.error) == (1, True)
    [described] = cli("transactions", "describe", f"tx-{topic}", "--json").json["transactions"]
    assert described["state"] != "Ongoing"
    assert cli(*load, "--acks", "1").error == "odradek: transactions need --acks all\n"


def test_for_people(cli: Cli, topic: str) -> None:
    """One line of speed, one table of latencies."""
    cli("topics", "create", topic)
    speed, what, heading, figures = cli("bench", "produce", topic, "-n", "100").lines
    assert speed.startswith(f"100 records (9.77 KiB) to {topic} in ")
    assert what == "milliseconds from producing a record to its acknowledgement:"
    assert heading.split() == ["MEAN", "P50", "P95", "P99", "P99.9", "MAX"]
    assert len(figures.split()) == 6


def test_latency_of_what_is_produced_meanwhile(cli: Cli, topic: str, broker: BrokerProcess) -> None:
    """A consumer that waits for records measures how long they were on their way."""
    cli("topics", "create", topic)
    load = ["bench", "produce", topic, "--records", "100000", "--rate", "500", "--linger", "0"]
    producer = start_command(broker.bootstrap, load)
    try:
        result = cli("bench", "consume", topic, "--records", "200", "--json").json
    finally:
        producer.kill()
        producer.wait()
    assert result["records"] == 200
    assert 0 <= result["latency_ms"]["p50"] <= result["latency_ms"]["max"] < 60_000


def test_a_rate_is_kept(cli: Cli, topic: str) -> None:
    """The rate holds on the whole."""
    cli("topics", "create", topic)
    result = cli("bench", "produce", topic, "--records", "100", "--rate", "200", "--json").json
    assert 0.49 <= result["seconds"] < 5


def test_a_topic_that_does_not_exist(cli: Cli, topic: str) -> None:
    """One sentence."""
    for what in ("produce", "consume"):
        result = cli("bench", what, topic)
        assert (result.code, result.error) == (
            1,
            f"odradek: topic {topic} does not exist; `odradek topics list` shows what does\n",
        )


def test_records_that_the_broker_refuses(cli: Cli, topic: str) -> None:
    """Whether a record is too large is for the broker to say, and it is told in a sentence."""
    cli("topics", "create", topic)
    result = cli("bench", "produce", topic, "-n", "2", "--size", "2000000")
    assert result.code == 1
    assert result.error.endswith(
        f"topic {topic}: larger than max.message.bytes of the topic lets in (MSG_SIZE_TOO_LARGE)\n"
    )
