"""The odradek command against Apache Kafka: it is a client like any other."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.cli import in_process
from tests.support.broker import ApacheKafkaProcess

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]


@pytest.fixture
def run(
    kafka: ApacheKafkaProcess, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., str]:
    """Run the command, which must succeed, and return what it printed."""
    command = in_process(kafka.bootstrap, monkeypatch, capfdbinary)

    def call(*arguments: str, stdin: str = "") -> str:
        code, output, error = command(*arguments, stdin=stdin.encode())
        assert code == 0, error
        return output.decode()

    return call


@pytest.fixture
def ask(run: Callable[..., str]) -> Callable[..., Any]:
    """Run the command with --json, and return its document."""
    return lambda *arguments: json.loads(run(*arguments, "--json"))


def test_everything_once(run: Callable[..., str], ask: Callable[..., Any], topic: str) -> None:
    """Each command does against Apache Kafka what it does against odradek."""
    group_id, metrics_of = f"{topic}-group", f"{topic}-metrics"
    lines = "".join(f"{number}:{number}\n" for number in range(100))
    run("topics", "create", topic, "--partitions", "2", "--config", "retention.ms=9999999")
    run("produce", topic, "--key-separator", ":", stdin=lines)
    [described] = ask("topics", "describe", topic)["topics"]
    assert described["configs"] == {"retention.ms": "9999999"}
    assert sum(each["end"] for each in described["partitions"]) == 100
    assert all(each["size_bytes"] > 61 for each in described["partitions"])
    assert sorted(run("consume", topic).split(), key=int) == [str(number) for number in range(100)]
    assert len(run("consume", topic, "--group", group_id, "-n", "60").splitlines()) == 60
    [group] = ask("groups", "describe", group_id)["groups"]
    assert (group["state"], group["lag"]) == ("EMPTY", 40)
    run("groups", "reset", group_id, "--to", "beginning")
    assert ask("groups", "describe", group_id)["groups"][0]["lag"] == 100
    run("groups", "delete", group_id)
    run("configs", "alter", "--topic", topic, "--delete", "retention.ms", "--set", "segment.ms=8888888")
    changed = ask("configs", "describe", "--topic", topic, "--changed")["configs"]
    assert {each["name"]: each["value"] for each in changed if each["source"] == "DYNAMIC_TOPIC_CONFIG"} == {
        "segment.ms": "8888888"
    }
    assert ask("configs", "describe", "--broker", "1")["configs"]
    [told] = ask("cluster", "info")["brokers"]
    assert (told["broker"], told["problem"], told["requests"]["PRODUCE"][1] >= 12) == (1, None, True)
    [told] = ask("log-dirs", "--topic", topic)["brokers"]
    [directory] = told["directories"]
    assert [each["partition"] for each in directory["partitions"]] == [0, 1]
    assert directory["size_bytes"] > 100
    run("configs", "alter", "--client-metrics", metrics_of, "--set", "interval.ms=1m")
    assert {"resource": "client-metrics", "name": metrics_of} in ask("configs", "list")["resources"]
    metrics = {each["name"]: each for each in ask("configs", "describe", "--client-metrics", metrics_of)["configs"]}
    assert metrics["interval.ms"]["source"] == "DYNAMIC_CLIENT_METRICS_CONFIG"
    run("configs", "alter", "--client-metrics", metrics_of, "--delete", "interval.ms")
    assert ask("bench", "produce", topic, "--records", "100")["records"] == 100
    assert ask("bench", "consume", topic)["records"] == 200
    run("topics", "delete", topic)
    assert topic not in {each["name"] for each in ask("topics", "list")["topics"]}
