"""The commands for several brokers against three brokers of Apache Kafka, which all tests here share.

Each test has topics of its own, and leaves all brokers running.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli import in_process
from tests.support.apache_kafka_cluster import ApacheKafkaCluster, running_cluster
from tests.support.broker import BrokerProcess
from tests.support.documents import check_documents
from tests.support.waiting import eventually

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka-cluster")]

TIMEOUT_S = 60


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafkaCluster]:
    """Three brokers of Apache Kafka that notice quickly when one is gone, and elect no leaders by themselves."""
    quick = {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "500"}
    directory = tmp_path_factory.mktemp("cluster")
    with running_cluster(directory, {**quick, "auto.leader.rebalance.enable": "false"}) as cluster:
        yield cluster


@pytest.fixture
def run(
    cluster: ApacheKafkaCluster, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., str]:
    """Run the command, and return what it printed, with what it complained of if it is to fail."""
    command = in_process(cluster.bootstrap, monkeypatch, capfdbinary)

    def call(*arguments: str, stdin: str = "", fails: bool = False) -> str:
        code, output, error = command(*arguments, stdin=stdin.encode())
        assert (code != 0) == fails, error
        return output.decode() + error if fails else output.decode()

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


def _replicas(ask: Callable[..., Any], topic: str) -> list[list[int]]:
    [described] = ask("topics", "describe", topic)["topics"]
    return [each["replicas"] for each in described["partitions"]]


def test_partitions_are_spread_over_all_brokers(
    run: Callable[..., str], ask: Callable[..., Any], tmp_path: Path
) -> None:
    """A plan is carried out, verified, and taken back with what was saved before it."""
    plan, before = str(tmp_path / "plan.json"), str(tmp_path / "before.json")
    run("topics", "create", "skewed", "--replica-assignment", "1:2,1:2,1:2,1:2,1:2,1:2")
    run("bench", "produce", "skewed", "--records", "1000")
    planned = ask("partitions", "reassign", "plan", "skewed", "--save", plan, "--save-current", before)
    assert json.loads((tmp_path / "plan.json").read_text()) == planned
    assert "otherwise" in run("partitions", "reassign", "verify", plan, "--keep-throttles", fails=True)
    executed = ask("partitions", "reassign", "execute", plan)
    assert {each["state"] for each in executed["partitions"]} == {"done"}
    replicas = _replicas(ask, "skewed")
    assert Counter(broker for each in replicas for broker in each) == {1: 4, 2: 4, 3: 4}
    assert Counter(each[0] for each in replicas) == {1: 2, 2: 2, 3: 2}
    assert {each["state"] for each in ask("partitions", "reassign", "verify", plan)["partitions"]} == {"done"}
    assert ask("partitions", "reassign", "plan", "skewed")["partitions"] == []
    run("partitions", "reassign", "execute", before)
    assert _replicas(ask, "skewed") == [[1, 2]] * 6


def test_a_throttled_move_is_slow_listed_changed_and_called_off(
    run: Callable[..., str], ask: Callable[..., Any], tmp_path: Path
) -> None:
    """While it goes on it is listed, verify says so and leaves the throttles, and no other move begins without being
    asked for; calling it off brings back what was, without throttles."""
    run("topics", "create", "slow", "--replica-assignment", "1:2")
    run("topics", "create", "beside", "--replica-assignment", "1:2")
    run("bench", "produce", "slow", "--records", "20000", "--size", "1000")
    plans = {name: str(tmp_path / f"{name}.json") for name in ("slow", "beside")}
    for name, plan in plans.items():
        document = {"version": 1, "partitions": [{"topic": name, "partition": 0, "replicas": [1, 3]}]}
        Path(plan).write_text(json.dumps(document))
    run("partitions", "reassign", "execute", plans["slow"], "--throttle", "1000", "--no-wait")
    [moving] = ask("partitions", "reassign", "list")["partitions"]
    assert (moving["topic"], moving["adding"], moving["removing"]) == ("slow", [3], [2])
    assert moving["copied_bytes"] < moving["total_bytes"]
    [behind] = [each for each in ask("cluster", "status")["followers"] if each["topic"] == "slow"]
    assert (behind["broker"], behind["in_sync"]) == (3, False)
    assert behind["lag"] > 0
    configs = {
        each["name"]: each["value"] for each in ask("configs", "describe", "--topic", "slow", "--changed")["configs"]
    }
    assert configs["leader.replication.throttled.replicas"] == "0:1,0:2"
    assert configs["follower.replication.throttled.replicas"] == "0:3"
    assert _rate(ask, 3) == "1000"
    assert "throttles stay" in run("partitions", "reassign", "verify", plans["slow"], fails=True)
    assert "--additional" in run("partitions", "reassign", "execute", plans["beside"], fails=True)
    run("partitions", "reassign", "execute", plans["beside"], "--additional")
    run("partitions", "reassign", "execute", plans["slow"], "--throttle", "2000", "--no-wait")
    assert _rate(ask, 3) == "2000"
    [cancelled] = ask("partitions", "reassign", "cancel", plans["slow"])["partitions"]
    assert cancelled == {"topic": "slow", "partition": 0, "error": None}
    eventually(lambda: _replicas(ask, "slow") == [[1, 2]], "the partition is where it was")
    assert _rate(ask, 3) is None
    assert not [name for name in _configs(ask, "--topic", "slow") if "throttled" in name]
    run("partitions", "reassign", "execute", plans["slow"], "--throttle", "100000000")
    assert _replicas(ask, "slow") == [[1, 3]]
    assert _rate(ask, 3) is None


def _configs(ask: Callable[..., Any], *resource: str) -> dict[str, str]:
    return {each["name"]: each["value"] for each in ask("configs", "describe", *resource, "--changed")["configs"]}


def _rate(ask: Callable[..., Any], broker: int) -> str | None:
    found = _configs(ask, "--broker", str(broker))
    assert found.get("leader.replication.throttled.rate") == found.get("follower.replication.throttled.rate")
    return found.get("follower.replication.throttled.rate")


def test_plans_that_cannot_be(run: Callable[..., str], tmp_path: Path) -> None:
    """One sentence says what is wrong, and nothing has begun."""
    run("topics", "create", "only", "--replica-assignment", "1")

    def refused(**changed: object) -> str:
        partition = {"topic": "only", "partition": 0, "replicas": [2], **changed}
        path = tmp_path / "plan.json"
        path.write_text(json.dumps({"version": 1, "partitions": [partition]}))
        return run("partitions", "reassign", "execute", str(path), fails=True)

    assert "there is no broker 7, 8" in refused(replicas=[1, 8, 7])
    assert "topic only has no partition 5" in refused(partition=5)
    assert "topic nowhere does not exist" in refused(topic="nowhere")
    assert "too few brokers" in run("partitions", "reassign", "plan", "only", "-r", "4", fails=True)
    assert "no broker 9" in run("partitions", "reassign", "plan", "only", "--brokers", "1,9", fails=True)


def test_elections(cluster: ApacheKafkaCluster, run: Callable[..., str], ask: Callable[..., Any]) -> None:
    """After a broker was away its partitions are led by others, until the preferred leaders are elected."""
    run("topics", "create", "led", "--replica-assignment", "3:1,1:3")
    assert ask("partitions", "elect", "--preferred", "--topic", "led")["partitions"] == []
    with away(cluster.brokers[3]):
        refused = run("partitions", "elect", "--preferred", "--topic", "led", fails=True)
        assert "PREFERRED_LEADER_NOT_AVAILABLE" in refused
        assert "1 of 1 election failed" in refused
    eventually(lambda: _in_sync(ask), "all are in sync again", TIMEOUT_S)
    elected = ask("partitions", "elect", "--preferred", "--topic", "led:0", "--topic", "led:1")["partitions"]
    assert elected == [{"topic": "led", "partition": 0, "leader": 3, "error": None}]
    assert "say where with --topic, or --all" in run("partitions", "elect", "--unclean", fails=True)
    assert "topic led has no partition 4" in run("partitions", "elect", "--unclean", "-t", "led:4", fails=True)
    run("partitions", "elect", "--preferred")


def test_an_unclean_election(cluster: ApacheKafkaCluster, run: Callable[..., str], ask: Callable[..., Any]) -> None:
    """Where the only replica in sync is away, one that lacks records leads after it was asked for, and not before."""
    run("topics", "create", "unclean", "--replica-assignment", "2:3")
    with away(cluster.brokers[3]):
        run("produce", "unclean", stdin="only 2 has it\n")
        cluster.brokers[2].kill()
    try:  # 3 is back, and without what 2 alone has
        eventually(lambda: ask("topics", "describe", "--unavailable", "unclean")["topics"], "nobody leads", TIMEOUT_S)
        [elected] = ask("partitions", "elect", "--unclean", "--topic", "unclean")["partitions"]
        assert elected == {"topic": "unclean", "partition": 0, "leader": 3, "error": None}
        assert run("consume", "unclean") == ""
    finally:
        cluster.brokers[2].start()
    eventually(lambda: _in_sync(ask), "all are in sync again", TIMEOUT_S)
    run("partitions", "elect", "--preferred")


def test_a_broker_is_drained_and_unregistered(
    cluster: ApacheKafkaCluster, run: Callable[..., str], ask: Callable[..., Any]
) -> None:
    """All its replicas go to the others, internal ones too; then it can be taken out, and come back as a new one."""
    run("topics", "create", "drained", "--replica-assignment", "3:1,2:3,1:2")
    run("topics", "create", "everywhere", "--replica-assignment", "1:2:3")
    assert "partition 0 of everywhere is to have 3 replicas" in run("cluster", "drain", "3", fails=True)
    run("topics", "delete", "everywhere")
    assert "broker 3 runs" in run("cluster", "unregister", "3", fails=True)
    with away(cluster.brokers[3]):
        assert "`odradek cluster drain 3` moves them" in run("cluster", "unregister", "3", fails=True)
    eventually(lambda: _in_sync(ask), "all are in sync again", TIMEOUT_S)
    planned = ask("cluster", "drain", "3", "--dry-run")["partitions"]
    moved = ask("cluster", "drain", "3", "--throttle", "100000000")
    assert moved == {"broker": 3, "dry_run": False, "partitions": planned}
    assert {each["topic"] for each in planned} >= {"drained"}
    assert all(3 in each["before"] and 3 not in each["replicas"] for each in planned)
    brokers = {each["broker"]: each for each in ask("cluster", "status")["brokers"]}
    assert brokers[3]["replicas"] == 0
    assert _replicas(ask, "drained")[2] == [1, 2]
    assert "has no replicas" in run("cluster", "drain", "3")
    with away(cluster.brokers[3]):
        assert ask("cluster", "unregister", "3") == {"broker": 3}
        assert [each["broker"] for each in ask("cluster", "status")["brokers"]] == [1, 2]
        assert "there is no broker 3; the cluster has 1, 2" in run("cluster", "unregister", "3", fails=True)
    assert [each["broker"] for each in ask("cluster", "status")["brokers"] if not each["fenced"]] == [1, 2, 3]
