"""The odradek command against Apache Kafka: it is a client like any other."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.cli import environment
from tests.support.broker import ApacheKafkaProcess, BrokerProcess

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]


@pytest.fixture(scope="module")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A running Apache Kafka."""
    broker = ApacheKafkaProcess(tmp_path_factory.mktemp("apache-kafka"))
    broker.start()
    yield broker
    broker.discard()


def _run(broker: BrokerProcess, *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "odradek", *arguments],
        env=environment(broker.bootstrap),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _json(broker: BrokerProcess, *arguments: str) -> Any:
    return json.loads(_run(broker, *arguments, "--json"))


def test_everything_once(apache_kafka: BrokerProcess) -> None:
    """Each command does against Apache Kafka what it does against odradek."""
    lines = "".join(f"{number}:{number}\n" for number in range(100))
    _run(apache_kafka, "topics", "create", "t", "--partitions", "2", "--config", "retention.ms=9999999")
    _run(apache_kafka, "produce", "t", "--key-separator", ":", stdin=lines)
    [described] = _json(apache_kafka, "topics", "describe", "t")["topics"]
    assert described["configs"] == {"retention.ms": "9999999"}
    assert sum(each["end"] for each in described["partitions"]) == 100
    assert all(each["size_bytes"] > 61 for each in described["partitions"])
    assert sorted(_run(apache_kafka, "consume", "t").split(), key=int) == [str(number) for number in range(100)]
    assert len(_run(apache_kafka, "consume", "t", "--group", "g", "-n", "60").splitlines()) == 60
    [group] = _json(apache_kafka, "groups", "describe", "g")["groups"]
    assert (group["state"], group["lag"]) == ("EMPTY", 40)
    _run(apache_kafka, "groups", "reset", "g", "--to", "beginning")
    assert _json(apache_kafka, "groups", "describe", "g")["groups"][0]["lag"] == 100
    _run(apache_kafka, "groups", "delete", "g")
    _run(apache_kafka, "configs", "alter", "--topic", "t", "--delete", "retention.ms", "--set", "segment.ms=8888888")
    changed = _json(apache_kafka, "configs", "describe", "--topic", "t", "--changed")["configs"]
    assert {each["name"]: each["value"] for each in changed if each["source"] == "DYNAMIC_TOPIC_CONFIG"} == {
        "segment.ms": "8888888"
    }
    assert _json(apache_kafka, "configs", "describe", "--broker", "1")["configs"]
    _run(apache_kafka, "configs", "alter", "--client-metrics", "m", "--set", "interval.ms=1m")
    assert _json(apache_kafka, "configs", "list")["resources"] == [{"resource": "client-metrics", "name": "m"}]
    metrics = {
        each["name"]: each for each in _json(apache_kafka, "configs", "describe", "--client-metrics", "m")["configs"]
    }
    assert metrics["interval.ms"]["source"] == "DYNAMIC_CLIENT_METRICS_CONFIG"
    _run(apache_kafka, "configs", "alter", "--client-metrics", "m", "--delete", "interval.ms")
    assert _json(apache_kafka, "bench", "produce", "t", "--records", "100")["records"] == 100
    assert _json(apache_kafka, "bench", "consume", "t")["records"] == 200
    _run(apache_kafka, "topics", "delete", "t")
    assert "t" not in {each["name"] for each in _json(apache_kafka, "topics", "list")["topics"]}
