"""odradek cluster start, stop, kill and add, with real nodes on this machine."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli import COMMAND, environment, start
from tests.support.documents import check_documents
from tests.support.ports import free_ports
from tests.support.waiting import eventually

TIMEOUT_S = 60


class Commands:
    """Runs commands on the cluster of one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environment = environment("127.0.0.1:1")  # what is not told by --directory would fail

    def __call__(self, *arguments: str, fails: bool = False) -> str:
        done = subprocess.run(
            [*COMMAND, *arguments, "--directory", str(self.directory)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stderr
        return done.stderr if fails else done.stdout

    def ask(self, *arguments: str) -> Any:
        """Run with --json."""
        output = self(*arguments, "--json")
        check_documents(arguments, output)
        return json.loads(output)

    def states(self) -> dict[int, bool]:
        """Return whether each broker is fenced."""
        return {each["broker"]: each["fenced"] for each in self.ask("cluster", "status")["brokers"]}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Commands]:
    """Commands on a directory, whose nodes are killed at the end."""
    commands = Commands(tmp_path / "cluster")
    yield commands
    if (commands.directory / "cluster.json").exists():
        commands("cluster", "kill", *(str(each["node"]) for each in _nodes(commands)))


def _nodes(run: Commands) -> list[Any]:
    return [{"node": 100}, *({"node": each["node_id"]} for each in _layout(run)["brokers"])]


def _layout(run: Commands) -> Any:
    return json.loads((run.directory / "cluster.json").read_text())


def test_a_cluster_from_its_start_to_its_end(run: Commands) -> None:
    """A broker is killed, comes back, and another joins; what was written is there after all were stopped."""
    [port] = free_ports(1)
    started = run.ask(
        "cluster", "start", "--brokers", "2", "--port", str(port), "--rack", "a", "--rack", "b", "--detach"
    )
    assert [each["node"] for each in started["nodes"]] == [100, 1, 2]
    clients = environment(started["bootstrap"])

    def client(*arguments: str, stdin: str = "") -> str:
        command = [*COMMAND, *arguments]
        done = subprocess.run(
            command, env=clients, input=stdin, capture_output=True, text=True, timeout=TIMEOUT_S, check=True
        )
        return done.stdout

    client("topics", "create", "t", "--partitions", "3")
    client("produce", "t", stdin="line\n" * 10)
    found = run.ask("cluster", "status")
    assert (found["controller"], found["partitions"]["total"]) == (100, 3)
    assert [each["rack"] for each in found["brokers"]] == ["a", "b"]
    assert [each["process"] for each in found["nodes"]] == [each["process"] for each in started["nodes"]]
    assert "is started as it is" in run("cluster", "start", "--brokers", "3", fails=True)

    assert run.ask("cluster", "kill", "2") == {"nodes": [2]}
    eventually(lambda: run.states()[2], "the controller has noticed", TIMEOUT_S)
    assert run.ask("cluster", "status")["partitions"]["under_replicated"] == 3
    assert run.ask("cluster", "add", "2") == {"nodes": [2]}
    assert run.ask("cluster", "add", "--rack", "c") == {"nodes": [3]}
    eventually(lambda: run.ask("cluster", "status")["partitions"]["under_replicated"] == 0, "all are back", TIMEOUT_S)
    assert run.states() == {1: False, 2: False, 3: False}
    eventually(lambda: {each["lag"] for each in run.ask("cluster", "status")["brokers"]} == {0}, "nobody is behind")

    assert run.ask("cluster", "stop", "1") == {"nodes": [1]}
    assert client("consume", "t") == "line\n" * 10
    assert run.ask("cluster", "stop") == {"nodes": [100, 2, 3]}
    assert "nothing listens" in run("cluster", "status", fails=True)
    assert "there is no node 9" in run("cluster", "kill", "9", fails=True)
    run("cluster", "start", "--detach")
    assert client("consume", "t") == "line\n" * 10


def test_ctrl_c_stops_all_nodes(run: Commands) -> None:
    """In the foreground it says what happens to nodes, and takes all of them with it."""
    [port] = free_ports(1)
    arguments = ["cluster", "start", "--brokers", "1", "--port", str(port), "--directory", str(run.directory)]
    with start("127.0.0.1:1", arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        assert command.stderr is not None
        assert command.stderr.readline().startswith(b"clients reach it at 127.0.0.1:")
        run("cluster", "kill", "1")
        assert command.stderr.readline().startswith(b"node 1 has ended; ")
        run("cluster", "add", "1")
        assert command.stderr.readline() == b"node 1 runs\n"
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=TIMEOUT_S)
    assert run.ask("cluster", "stop") == {"nodes": []}


def test_a_directory_without_a_cluster(run: Commands) -> None:
    """The sentence says how to make one."""
    for command in (["stop"], ["kill", "1"], ["add"], ["status"]):
        assert "`odradek cluster start` makes one" in run("cluster", *command, fails=True)


def test_more_replicas_than_brokers_are_refused(run: Commands) -> None:
    """Nothing is made."""
    assert "2 replicas need as many brokers" in run(
        "cluster", "start", "--brokers", "1", "--replication", "2", "--detach", fails=True
    )
    assert not run.directory.exists()
