"""A cluster of processes whose nodes can be cut off: one controller and several brokers of odradek.

Every broker advertises the port of a proxy, through which clients and the other brokers reach it, so that a test can
cut it off; so does the controller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.support.broker import OdradekProcess
from tests.support.faulty_proxy import FaultyProxy
from tests.support.ports import free_ports

CONTROLLER = 100


class ProxiedNode(OdradekProcess):
    """A node of a cluster, and the proxy in front of it."""

    def __init__(
        self, directory: Path, node_id: int, port: int, proxy: FaultyProxy, overrides: Mapping[str, str]
    ) -> None:
        super().__init__(directory, overrides)
        self.node_id = node_id
        self.port = port
        self.proxy = proxy


class ProxiedCluster:
    """The nodes of a cluster; they run within `with`."""

    def __init__(self, directory: Path, brokers: int = 3, overrides: Mapping[str, str] | None = None) -> None:
        node_ids = [CONTROLLER, *range(1, brokers + 1)]
        ports = free_ports(2 * len(node_ids))
        self.nodes: dict[int, ProxiedNode] = {}
        voters = f"{CONTROLLER}@127.0.0.1:{ports[1]}"
        for place, node_id in enumerate(node_ids):
            port, proxy_port = ports[2 * place : 2 * place + 2]
            listener = "CONTROLLER" if node_id == CONTROLLER else "PLAINTEXT"
            settings = {
                "process.roles": "controller" if node_id == CONTROLLER else "broker",
                "node.id": str(node_id),
                "controller.quorum.voters": voters,
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                "listeners": f"{listener}://127.0.0.1:{port}",
                "advertised.listeners": f"{listener}://127.0.0.1:{proxy_port}",
                "default.replication.factor": str(min(3, brokers)),
                "min.insync.replicas": str(min(2, brokers)),
                "offsets.topic.replication.factor": str(min(3, brokers)),
                **(overrides or {}),
            }
            proxy = FaultyProxy(proxy_port, port)
            self.nodes[node_id] = ProxiedNode(directory / f"node-{node_id}", node_id, port, proxy, settings)

    @property
    def controller(self) -> ProxiedNode:
        """The only voter."""
        return self.nodes[CONTROLLER]

    @property
    def brokers(self) -> Sequence[ProxiedNode]:
        """All but the controller."""
        return [node for node_id, node in self.nodes.items() if node_id != CONTROLLER]

    @property
    def bootstrap(self) -> str:
        """Where clients begin."""
        return ",".join(f"127.0.0.1:{node.proxy.port}" for node in self.brokers)

    def start(self) -> None:
        """Start the controller, then the brokers; returns when all of them serve."""
        self.controller.start()
        for node in self.brokers:
            node.launch()
        for node in self.brokers:
            node.wait_until_serving()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything."""
        for node in self.nodes.values():
            node.discard()
            node.proxy.close()

    @property
    def log(self) -> str:
        """What all nodes said."""
        return "".join(f"--- node {node_id}\n{node.log}" for node_id, node in self.nodes.items())


def replica_bytes(node: ProxiedNode, topic: str, partition: int) -> bytes:
    """Return all data of a replica, whatever its segments are."""
    directory = node.data / f"{topic}-{partition}"
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))
