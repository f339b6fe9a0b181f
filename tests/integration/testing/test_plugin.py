"""The fixtures of pytest that come with the package, in a project of a user's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

@pytest.fixture(scope="session")
def kafka_broker_settings():
    return {"num.partitions": "4"}

def test_one(kafka_broker, kafka_topic):
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap_servers})
    producer.produce(kafka_topic, b"x")
    assert producer.flush(60) == 0

def test_topics_differ_and_settings_count(kafka_broker, kafka_topic):
    Producer({"bootstrap.servers": kafka_broker.bootstrap_servers}).list_topics("made-by-asking", 30)
    admin = AdminClient({"bootstrap.servers": kafka_broker.bootstrap_servers})
    topics = admin.list_topics(timeout=60).topics
    assert len([name for name in topics if name.startswith("test-")]) >= 1

def test_that_fails(kafka_broker):
    with pytest.raises(RuntimeError):
        kafka_broker.topic("no such name")
    kafka_broker.restart()
    assert False, "on purpose"

def test_without_a_broker():
    assert False, "on purpose, too"
"""


@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_a_project_uses_the_fixtures(tmp_path: Path, options: list[str]) -> None:
    """Without any configuration; a failed test shows what the broker said meanwhile, one without a broker does not."""
    (tmp_path / "test_it.py").write_text(TESTS)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider", *options, "test_it.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "2 failed, 2 passed" in run.stdout, run.stdout + run.stderr
    assert run.stdout.count("Kafka broker log (call)") == 1
    assert "stopping" in run.stdout.partition("Kafka broker log (call)")[2]
