"""What a cluster on one machine consists of, and how its directory tells."""

from pathlib import Path

import pytest

from odradek.local_cluster import layout
from odradek.local_cluster.layout import CONTROLLER_ID, BrokerPlace, NodeFiles
from odradek.terminal.errors import CommandError


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    """Nodes, ports, racks, replicas and overrides are those of the first start."""
    cluster = layout.plan([9092, 9093], 9190, None, ["a", "b"], {"log.retention.ms": "5"})
    layout.write(cluster, tmp_path)
    assert layout.read(tmp_path) == cluster
    assert cluster.brokers == (BrokerPlace(1, 9092, "a"), BrokerPlace(2, 9093, "b"))
    assert cluster.bootstrap == "127.0.0.1:9092,127.0.0.1:9093"


@pytest.mark.parametrize(("brokers", "asked", "replication"), [(1, None, 1), (2, None, 2), (5, None, 3), (5, 1, 1)])
def test_topics_get_three_replicas_or_as_many_as_there_are_brokers_unless_it_is_said(
    brokers: int, asked: int | None, replication: int
) -> None:
    """A smaller cluster must be able to make a topic."""
    assert layout.plan(range(9092, 9092 + brokers), 1, asked, (), {}).replication == replication


def test_more_replicas_than_brokers_are_refused() -> None:
    """Nobody could make a topic."""
    with pytest.raises(CommandError, match="3 replicas need as many brokers, and there are 2"):
        layout.plan([1, 2], 3, 3, (), {})


def test_every_node_gets_properties_that_fit_together(tmp_path: Path) -> None:
    """The controller has the listener that the brokers look for, and each node its own id, port and data."""
    cluster = layout.plan([9092, 9093, 9094], 9190, None, ["a"], {"num.partitions": "7"})
    controller = layout.properties(cluster, CONTROLLER_ID, tmp_path / "c")
    second = layout.properties(cluster, 2, tmp_path / "b")
    assert controller["process.roles"] == "controller"
    assert controller["listeners"] == "CONTROLLER://127.0.0.1:9190"
    assert second["process.roles"] == "broker"
    assert second["node.id"] == "2"
    assert second["listeners"] == "PLAINTEXT://127.0.0.1:9093"
    assert second["controller.quorum.voters"] == controller["controller.quorum.voters"] == "100@127.0.0.1:9190"
    assert (second["broker.rack"], second["log.dirs"]) == ("a", str(tmp_path / "b"))
    assert (second["default.replication.factor"], second["min.insync.replicas"]) == ("3", "2")
    assert second["num.partitions"] == controller["num.partitions"] == "7"


def test_what_somebody_changed_in_the_properties_of_a_node_stays(tmp_path: Path) -> None:
    """A cluster that grows writes the properties of the new broker alone."""
    cluster = layout.plan([9092], 9190, None, (), {})
    layout.write(cluster, tmp_path)
    changed = NodeFiles(tmp_path, 1).properties
    changed.write_text("node.id=1\n# mine\n")
    grown = cluster.with_broker(9095, "r")
    layout.write(grown, tmp_path)
    assert changed.read_text() == "node.id=1\n# mine\n"
    assert "broker.rack=r" in NodeFiles(tmp_path, 2).properties.read_text()
    assert layout.existing(tmp_path) == grown


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"brokers": []}', '{"brokers": [{"node_id": 1, "port": "x"}]}', '{"brokers": 7}']
)
def test_a_file_that_is_none_of_ours_is_an_error_that_names_it(tmp_path: Path, content: str) -> None:
    """Nothing is guessed, and nothing is overwritten."""
    (tmp_path / layout.CLUSTER_FILE).write_text(content)
    with pytest.raises(CommandError, match=r"cluster\.json is not what `odradek cluster start` writes"):
        layout.read(tmp_path)


def test_where_there_is_no_cluster_the_error_says_how_to_make_one(tmp_path: Path) -> None:
    """The commands beside `start` make nothing."""
    with pytest.raises(CommandError, match="`odradek cluster start` makes one"):
        layout.existing(tmp_path)


def test_a_node_that_there_is_not_is_named_with_those_that_there_are() -> None:
    """The controller is one of them."""
    with pytest.raises(CommandError, match=r"there is no node 3; the cluster has 100, 1 \(100 is the controller\)"):
        layout.plan([9092], 9190, None, (), {}).port_of(3)
