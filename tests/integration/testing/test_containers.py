"""odradek.testing.containers: tests written for testcontainers, with another import."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from odradek.testing.containers import KafkaContainer
from tests.support.ports import free_ports


def test_the_calls_of_testcontainers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker with the settings of variables is where the calls say, and leaves nothing once stopped."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kafka = KafkaContainer("confluentinc/cp-kafka:7.6.0").with_kraft().with_env("KAFKA_NUM_PARTITIONS", "3")
    assert kafka.start(timeout=60) is kafka
    try:
        address = kafka.get_bootstrap_server()
        assert address == f"{kafka.get_container_host_ip()}:{kafka.get_exposed_port('9093/tcp')}"
        with pytest.raises(ValueError, match="the one port is 9093"):
            kafka.get_exposed_port(8081)
        admin = AdminClient({"bootstrap.servers": address})
        admin.create_topics([NewTopic("orders")])["orders"].result(60)
        assert len(admin.list_topics("orders", 60).topics["orders"].partitions) == 3
        assert b"ready" in kafka.get_logs()[0]
        with pytest.raises(RuntimeError, match="runs already"):
            kafka.with_env("KAFKA_NUM_PARTITIONS", "4")
    finally:
        kafka.stop()
    assert list(tmp_path.iterdir()) == []
    [port] = free_ports(1)
    with kafka.with_bind_ports(9093, port):
        assert kafka.get_bootstrap_server() == f"127.0.0.1:{port}"
    assert list(tmp_path.iterdir()) == []


def test_one_that_does_not_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker's own sentence is told, and its directory goes also where nobody stops it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"exit code 1:(.|\n)*num.partitions"):
        KafkaContainer(env={"KAFKA_NUM_PARTITIONS": "many"}).start()
    assert list(tmp_path.iterdir()) == []
