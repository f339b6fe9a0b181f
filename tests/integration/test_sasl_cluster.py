"""A cluster of the project's own nodes that log in at each other."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sasl_cluster import SaslCluster

SESSION_MS = 2000


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SaslCluster]:
    """A controller with a broker, and another broker; sessions between brokers are short."""
    made = SaslCluster(tmp_path, (False, False), SESSION_MS)
    try:
        made.start()
        yield made
    finally:
        made.discard()


def test_replicas_follow_over_connections_that_log_in_again_and_again(cluster: SaslCluster) -> None:
    """PLAIN at the controller, SCRAM between brokers, whose sessions end several times; all replicas stay in sync."""
    cluster.make_topic("t", 2)
    began, rounds = time.monotonic(), 0
    while time.monotonic() - began < 3 * SESSION_MS / 1000:
        cluster.produce("t", 2, 10)
        rounds += 1
        assert cluster.is_in_sync("t")
    assert [cluster.count("t", partition) for partition in (0, 1)] == [10 * rounds] * 2
    assert not any("does not let this one in" in node.log for node in cluster.nodes)


def test_a_node_with_another_password_does_not_get_in_and_says_why(cluster: SaslCluster) -> None:
    """Once, with the name that it gave; the password is in no log."""
    _, stranger = cluster.nodes
    stranger.stop()
    key = "listener.name.controller.plain.sasl.jaas.config"
    stranger.overrides[key] = stranger.overrides[key].replace('password="node-secret"', 'password="hunter2"')
    stranger.launch()
    deadline = time.monotonic() + 30
    while "does not let this one in" not in stranger.log and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "Invalid username or password" in stranger.log
    assert "failed authentication" in cluster.nodes[0].log
    assert not any("hunter2" in node.log for node in cluster.nodes)
