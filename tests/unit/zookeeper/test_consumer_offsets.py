"""Kafka's layout of offsets in ZooKeeper."""

import pytest

from odradek.zookeeper.consumer_offsets import StoredOffset, groups, running_consumers, stored_offsets
from odradek.zookeeper.errors import ZooKeeperError
from odradek.zookeeper.session import StoredNode
from tests.support.memory_zookeeper import MemoryZooKeeper


def _with(path: str, data: bytes) -> MemoryZooKeeper:
    zookeeper = MemoryZooKeeper()
    zookeeper.make(path)
    zookeeper.nodes[path] = StoredNode(data, 4)
    return zookeeper


def test_offsets_are_read_with_their_versions() -> None:
    """A group's offsets are found by topic and partition."""
    zookeeper = _with("/consumers/billing/offsets/orders/12", b"345\n")
    zookeeper.make("/consumers/billing/ids/billing_host-1")
    assert groups(zookeeper) == ["billing"]
    assert stored_offsets(zookeeper, "billing") == {("orders", 12): StoredOffset(345, 4)}
    assert running_consumers(zookeeper, "billing") == ["billing_host-1"]
    assert stored_offsets(zookeeper, "other") == {}


@pytest.mark.parametrize(
    ("name", "data"), [("0", b"-1"), ("0", b""), ("0", b"soon"), ("0", b"9" * 19), ("0", b"1" * 40), ("x", b"1")]
)
def test_what_is_no_offset_is_named(name: str, data: bytes) -> None:
    """A value that somebody else put there is an error with its path, not a number."""
    with pytest.raises(ZooKeeperError, match=f"in /consumers/g/offsets/t/{name}, where an offset belongs"):
        stored_offsets(_with(f"/consumers/g/offsets/t/{name}", data), "g")
