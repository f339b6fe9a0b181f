"""Kafka's own layout of the offsets of consumers in ZooKeeper (kafka.utils.ZkUtils, up to Kafka 1.1).

`/consumers/<group>/offsets/<topic>/<partition>` has the next offset as text; below `/consumers/<group>/ids` each
consumer that is running has a node, which goes with its session.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, Protocol

from odradek.zookeeper.errors import ZooKeeperError
from odradek.zookeeper.session import StoredNode

CONSUMERS: Final = "/consumers"
_OFFSET: Final = re.compile(rb"\d{1,19}")
_LARGEST: Final = 2**63 - 1
_PARTITION: Final = re.compile(r"0|[1-9]\d{0,9}")


class ZooKeeperReader(Protocol):
    """What reading the layout needs; both raise ZooKeeperError."""

    def read(self, path: str) -> StoredNode | None:
        """Return what a node holds, None where it is not there."""
        ...

    def children(self, path: str) -> list[str]:
        """Return the names of the nodes below one, sorted; none where it is not there."""
        ...


class StoredOffset(NamedTuple):
    """The next offset of a partition, and the version of its node."""

    offset: int
    version: int


def group_path(group: str) -> str:
    """Return the node of a group."""
    return f"{CONSUMERS}/{group}"


def topic_path(group: str, topic: str) -> str:
    """Return the node of what a group has of a topic."""
    return f"{CONSUMERS}/{group}/offsets/{topic}"


def offset_path(group: str, topic: str, partition: int) -> str:
    """Return the node of one offset."""
    return f"{topic_path(group, topic)}/{partition}"


def groups(reader: ZooKeeperReader) -> list[str]:
    """Return the names of all groups."""
    return reader.children(CONSUMERS)


def running_consumers(reader: ZooKeeperReader, group: str) -> list[str]:
    """Return the names of consumers of a group that are connected now."""
    return reader.children(f"{group_path(group)}/ids")


def stored_offsets(reader: ZooKeeperReader, group: str) -> dict[tuple[str, int], StoredOffset]:
    """Return the offsets of a group by topic and partition. Raises ZooKeeperError for what is no offset."""
    found: dict[tuple[str, int], StoredOffset] = {}
    for topic in reader.children(f"{group_path(group)}/offsets"):
        for name in reader.children(topic_path(group, topic)):
            path = f"{topic_path(group, topic)}/{name}"
            node = reader.read(path)
            if node is None:
                continue  # removed since
            text = node.data.strip()
            if not _PARTITION.fullmatch(name) or not _OFFSET.fullmatch(text) or int(text) > _LARGEST:
                shown = text[:40].decode(errors="replace")
                raise ZooKeeperError(f"ZooKeeper has {shown!r} in {path}, where an offset belongs")
            found[topic, int(name)] = StoredOffset(int(text), node.version)
    return found
