"""The commands for several brokers against three brokers of Apache Kafka, which all tests here share.

Each test has topics of its own, and leaves all brokers running.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.integration.cli import COMMAND, environment
from tests.support.apache_kafka_cluster import ApacheKafkaCluster, running_cluster
from tests.support.broker import BrokerProcess
from tests.support.documents import check_documents
from tests.support.waiting import eventually

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka-cluster")]

TIMEOUT_S = 60


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafkaCluster]:
    """Three brokers of Apache Kafka that notice quickly when one is gone, and elect no leaders by themselves."""
    quick = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
    directory = tmp_path_factory.mktemp("cluster")
    with running_cluster(directory, {**quick, "auto.leader.rebalance.enable": "false"}) as cluster:
        yield cluster


@pytest.fixture
def run(cluster: ApacheKafkaCluster) -> Callable[..., str]:
    """Run the command as a process, and return what it printed."""

    def call(*arguments: str, stdin: str = "", fails: bool = False) -> str:
        done = subprocess.run(
            [*COMMAND, *arguments],
            env=environment(cluster.bootstrap),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stderr
        return done.stderr if fails else done.stdout

    return call


@pytest.fixture
def ask(run: Callable[..., str]) -> Callable[..., Any]:
    """Run the command with --json, and return its document, which is held to its description."""

    def call(*arguments: str) -> Any:
        output = run(*arguments, "--json")
        check_documents(arguments, output)
        return json.loads(output)

    return call


@contextmanager
def away(broker: BrokerProcess) -> Iterator[None]:
    """Have a broker stopped for a while."""
    broker.stop()
    try:
        yield
    finally:
        broker.start()


def _in_sync(ask: Callable[..., Any]) -> bool:
    partitions = ask("cluster", "status")["partitions"]
    return not (partitions["under_replicated"] or partitions["offline"] or partitions["reassigning"])


def test_status_of_a_cluster_that_is_well(run: Callable[..., str], ask: Callable[..., Any]) -> None:
    """Every broker has its rack, its directory and its share; the quorum has its leader; nothing is wrong."""
    run("topics", "create", "well", "--replica-assignment", "1:2,2:3,3:1")
    run("produce", "well", stdin="line\n" * 50)
    eventually(lambda: _in_sync(ask), "all are in sync", TIMEOUT_S)
    found = ask("cluster", "status")
    assert [(each["broker"], each["rack"], each["fenced"], each["problem"]) for each in found["brokers"]] == [
        (number, f"rack-{number}", False, None) for number in (1, 2, 3)
    ]
    for each in found["brokers"]:
        assert each["leaders"] >= 1
        assert each["replicas"] == each["in_sync"] >= 2
        [directory] = each["directories"]
        assert (directory["error"], directory["replicas"]) == (None, each["replicas"])
        assert 0 < directory["usable_bytes"] < directory["total_bytes"]
    assert found["controller"] == found["quorum"]["leader"] == 1
    assert [each["node"] for each in found["quorum"]["voters"]] == [1]
    assert {2, 3} <= {each["node"] for each in found["quorum"]["observers"]}
    assert found["troubled"] == found["followers"] == []
    shown = run("cluster", "status")
    assert "all replicas in sync" in shown
    assert "rack-3" in shown


def test_status_while_a_broker_is_away(cluster: ApacheKafkaCluster, run: Callable[..., str], ask: Any) -> None:
    """It is fenced; its partitions are under-replicated, or under their minimum, or without a leader, and shown as such
    by both commands."""
    run("topics", "create", "two", "--replica-assignment", "1:3", "--config", "min.insync.replicas=2")
    run("topics", "create", "one", "--replica-assignment", "3")
    run("topics", "create", "other", "--replica-assignment", "1:2")
    with away(cluster.brokers[3]):
        found = ask("cluster", "status")
        assert [each["broker"] for each in found["brokers"] if each["fenced"]] == [3]
        wrong = {each["topic"]: each for each in found["troubled"]}
        names = ("under_replicated", "under_min_isr", "offline")
        assert [wrong["two"][name] for name in names] == [True, True, False]
        assert wrong["one"]["offline"]
        assert "other" not in wrong
        behind = [each for each in found["followers"] if each["topic"] == "two"]
        assert [(each["broker"], each["lag"], each["in_sync"]) for each in behind] == [(3, None, False)]
        assert "fenced" in run("cluster", "status")

        def named(*arguments: str) -> set[str]:
            return {each["name"] for each in ask("topics", "describe", *arguments)["topics"]}

        assert {"two"} <= named("--under-replicated")
        assert named("--under-min-isr") == {"one", "two"}  # of a single replica that is away the ISR is empty (KIP-966)
        assert named("--unavailable") == {"one"}
        assert named("--unavailable", "two") == set()
    eventually(lambda: _in_sync(ask), "all are in sync again", TIMEOUT_S)
