"""Nodes of a ZooKeeper in memory, with its versions and transactions, and with answers that get lost when told to."""

from collections.abc import Sequence

from odradek.zookeeper.errors import ZooKeeperChangedError, ZooKeeperLostError
from odradek.zookeeper.session import NodeChange, StoredNode


class MemoryZooKeeper:
    """Nodes by path. `lose` says of the next changes whether they are done before the answer is lost."""

    def __init__(self) -> None:
        self.nodes: dict[str, StoredNode] = {}
        self.lose: list[bool] = []

    def read(self, path: str) -> StoredNode | None:
        """Return a node."""
        return self.nodes.get(path)

    def children(self, path: str) -> list[str]:
        """Return the names below a node."""
        below = f"{path}/"
        return sorted({each[len(below) :].partition("/")[0] for each in self.nodes if each.startswith(below)})

    def make(self, path: str) -> None:
        """Make a node and those above it."""
        for end in range(1, len(path) + 1):
            if end == len(path) or path[end] == "/":
                self.nodes.setdefault(path[:end], StoredNode(b"", 0))

    def change(self, changes: Sequence[NodeChange]) -> None:
        """Change all or nothing."""
        done = self.lose.pop(0) if self.lose else None
        if done is False:
            raise ZooKeeperLostError("no connection")
        for each in changes:
            node = self.nodes.get(each.path)
            if (None if node is None else node.version) != each.version:
                raise ZooKeeperChangedError("something newer")
        for each in changes:
            self.nodes[each.path] = StoredNode(each.data, 0 if each.version is None else each.version + 1)
        if done:
            raise ZooKeeperLostError("no connection")
