"""Nodes as processes: a small program stands in for each of them."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.local_cluster import layout, processes
from odradek.local_cluster.layout import CONTROLLER_ID, NodeFiles
from odradek.local_cluster.processes import LocalNodes, free_port, free_ports
from odradek.terminal.errors import CommandError
from tests.support import fake_node
from tests.support import ports as support
from tests.support.waiting import eventually

PROGRAM = (sys.executable, "-I", "-S", fake_node.__file__)

Make = Callable[..., LocalNodes]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Make a cluster with a broker in a directory; whatever runs at the end is killed."""
    made: list[LocalNodes] = []

    def call(directory: Path = tmp_path, brokers: int = 2, **overrides: str) -> LocalNodes:
        controller, *ports = support.free_ports(brokers + 1)
        cluster = layout.plan(ports, controller, None, (), overrides)
        layout.write(cluster, directory)
        made.append(LocalNodes(directory, cluster, PROGRAM))
        return made[-1]

    yield call
    for nodes in made:
        for node_id in nodes.running():
            nodes.kill(node_id)


def _files(nodes: LocalNodes, node_id: int) -> NodeFiles:
    return NodeFiles(nodes.directory, node_id)


def test_nodes_start_the_controller_first_and_stop_it_last(make: Make) -> None:
    """Every node runs when start returns, and none when stop does."""
    nodes = make()
    assert nodes.running() == []
    assert nodes.start(nodes.cluster.node_ids) == [CONTROLLER_ID, 1, 2]
    assert nodes.running() == [CONTROLLER_ID, 1, 2]
    assert nodes.stop([CONTROLLER_ID, 1, 2]) == []
    assert nodes.running() == []


def test_who_did_not_start_a_node_sees_and_stops_it(make: Make) -> None:
    """The next command knows the process by what is in the directory."""
    nodes = make()
    nodes.start([1])
    other = LocalNodes(nodes.directory, nodes.cluster, PROGRAM)
    assert other.process_id(1) == nodes.process_id(1)
    assert other.start([1]) == []
    assert other.stop([1]) == []
    assert nodes.running() == []


def test_a_killed_node_is_started_again(make: Make) -> None:
    """To kill one that does not run is no error, and says so."""
    nodes = make()
    nodes.start([1])
    assert nodes.kill(1)
    assert not nodes.kill(1)
    assert nodes.start([1]) == [1]


def test_a_node_that_does_not_stop_is_killed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, since its logs are checked at the next start."""
    monkeypatch.setattr(processes, "STOP_TIMEOUT_S", 0.5)
    nodes = make(fake="stays")
    nodes.start([1])
    assert nodes.stop([1]) == [1]
    assert nodes.running() == []


def test_a_node_that_ends_instead_of_serving(make: Make) -> None:
    """The error has what it said last, and where the rest is; what was started with it is stopped."""
    nodes = make()
    broken = _files(nodes, 2).properties
    broken.write_text(broken.read_text() + "fake=ends\n")
    said = r"node 2 has not started: first line \| what is wrong \(.*broker-2/odradek.log has all of it\)"
    with pytest.raises(CommandError, match=said):
        nodes.start(nodes.cluster.node_ids)
    assert nodes.running() == []


def test_a_node_that_never_serves(make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is given up after a time, and stopped."""
    monkeypatch.setattr(processes, "START_TIMEOUT_S", 0.5)
    nodes = make(fake="stays")
    properties = _files(nodes, 1).properties
    [other] = support.free_ports(1)
    properties.write_text(properties.read_text().replace(str(nodes.cluster.port_of(1)), str(other)))
    monkeypatch.setattr(processes, "STOP_TIMEOUT_S", 0.2)
    with pytest.raises(CommandError, match="node 1 does not serve after"):
        nodes.start([1])
    eventually(lambda: nodes.running() == [], "it is stopped")


def test_a_port_that_somebody_else_has(make: Make) -> None:
    """What listens there is not taken for the node."""
    nodes = make()
    with (
        socket.create_server(("127.0.0.1", nodes.cluster.port_of(1))),
        pytest.raises(CommandError, match=r"port \d+, which is that of node 1, is taken by another program"),
    ):
        nodes.start([1])
    assert not _files(nodes, 1).process_id.exists()


@pytest.mark.parametrize("content", ["", "x", "-1", "0", "99999999999999999999", str(1 << 31)])
def test_a_file_that_names_no_process(make: Make, content: str) -> None:
    """Nothing runs, and nothing gets a signal."""
    nodes = make()
    _files(nodes, 1).process_id.write_text(content)
    assert nodes.process_id(1) is None
    assert not nodes.kill(1)


def test_a_number_that_another_process_has_got_is_left_alone(make: Make) -> None:
    """The kernel gives numbers out again; this one is our own."""
    nodes = make()
    _files(nodes, 1).process_id.write_text(str(os.getpid()))
    assert nodes.process_id(1) is None
    assert not nodes.kill(1)


def test_nodes_of_two_directories_are_kept_apart(make: Make, tmp_path: Path) -> None:
    """A number that stands in both belongs to the one whose properties the process was given."""
    one, other = make(tmp_path / "a"), make(tmp_path / "b")
    one.start([1])
    _files(other, 1).process_id.write_text(_files(one, 1).process_id.read_text())
    assert other.process_id(1) is None
    assert one.process_id(1) is not None


def test_nodes_do_not_get_the_ctrl_c_of_the_terminal(make: Make) -> None:
    """Each is a session of its own; whoever watches them stops them in order."""
    nodes = make()
    nodes.start([1])
    process_id = nodes.process_id(1)
    assert process_id is not None
    assert os.getsid(process_id) == process_id


def test_free_ports() -> None:
    """One that is taken is passed over; several differ, and ascend."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert free_port(port) > port
    found = free_ports(20_000, 5)
    assert found == sorted(set(found))
    assert len(set(free_ports(0, 3))) == 3
