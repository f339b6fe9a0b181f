"""What a cluster on one machine consists of, and the files that say so.

Owns: `cluster.json`, which tells the nodes and their ports, and the `server.properties` of each node. Pure but for
reading and writing these. A node has a directory of its own: properties, data, log and, while it runs, the id of its
process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

import javaproperties

from odradek.terminal.errors import CommandError

CLUSTER_FILE: Final = "cluster.json"
HOST: Final = "127.0.0.1"
CONTROLLER_ID: Final = 100
"""Above the brokers, which are counted from 1."""
MOST_BROKERS: Final = CONTROLLER_ID - 1
DEFAULT_REPLICATION: Final = 3


@dataclass(frozen=True, slots=True)
class BrokerPlace:
    """One broker: its id, the port for clients, and its rack if it is to have one."""

    node_id: int
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class LocalCluster:
    """A controller and its brokers. `replication` is the number of replicas that topics get unless they say more."""

    controller_port: int
    brokers: tuple[BrokerPlace, ...]
    replication: int
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Configs that every node gets beside its own."""

    @property
    def bootstrap(self) -> str:
        """Where clients reach it."""
        return ",".join(f"{HOST}:{broker.port}" for broker in self.brokers)

    @property
    def node_ids(self) -> list[int]:
        """All nodes in the order in which they start: brokers look for their controller."""
        return [CONTROLLER_ID, *(broker.node_id for broker in self.brokers)]

    def port_of(self, node_id: int) -> int:
        """Return the port on which a node is reached; CommandError where there is no such node."""
        if node_id == CONTROLLER_ID:
            return self.controller_port
        for broker in self.brokers:
            if broker.node_id == node_id:
                return broker.port
        nodes = ", ".join(map(str, self.node_ids))
        raise CommandError(f"there is no node {node_id}; the cluster has {nodes} ({CONTROLLER_ID} is the controller)")

    def with_broker(self, port: int, rack: str | None) -> LocalCluster:
        """Return the cluster with one more broker."""
        node_id = max(broker.node_id for broker in self.brokers) + 1
        if node_id > MOST_BROKERS:
            raise CommandError(f"a cluster on one machine has at most {MOST_BROKERS} brokers")
        return replace(self, brokers=(*self.brokers, BrokerPlace(node_id, port, rack)))


class NodeFiles:
    """The directory of one node."""

    def __init__(self, cluster: Path, node_id: int) -> None:
        name = "controller" if node_id == CONTROLLER_ID else f"broker-{node_id}"
        self.directory = cluster / name
        self.properties = self.directory / "server.properties"
        self.data = self.directory / "data"
        self.log = self.directory / "odradek.log"
        self.process_id = self.directory / "process.id"


def plan(
    ports: Sequence[int],
    controller_port: int,
    replication: int | None,
    racks: Sequence[str],
    overrides: Mapping[str, str],
) -> LocalCluster:
    """Return a cluster with a broker at each of the ports; racks are given out in turn."""
    factor = min(DEFAULT_REPLICATION, len(ports)) if replication is None else replication
    if factor > len(ports):
        raise CommandError(f"{factor} replicas need as many brokers, and there are {len(ports)}")
    if len(ports) > MOST_BROKERS:
        raise CommandError(f"a cluster on one machine has at most {MOST_BROKERS} brokers")
    brokers = tuple(
        BrokerPlace(number, port, racks[(number - 1) % len(racks)] if racks else None)
        for number, port in enumerate(ports, 1)
    )
    return LocalCluster(controller_port, brokers, factor, dict(overrides))


def properties(cluster: LocalCluster, node_id: int, data: Path) -> dict[str, str]:
    """Return what the `server.properties` of a node holds."""
    common = {
        "node.id": str(node_id),
        "controller.quorum.voters": f"{CONTROLLER_ID}@{HOST}:{cluster.controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": str(data),
    }
    if node_id == CONTROLLER_ID:
        own = {"process.roles": "controller", "listeners": f"CONTROLLER://{HOST}:{cluster.controller_port}"}
    else:
        [broker] = [one for one in cluster.brokers if one.node_id == node_id]
        own = {"process.roles": "broker", "listeners": f"PLAINTEXT://{HOST}:{broker.port}"}
        if broker.rack is not None:
            own["broker.rack"] = broker.rack
    factor = str(cluster.replication)
    replicas = {
        "default.replication.factor": factor,
        "offsets.topic.replication.factor": factor,
        "min.insync.replicas": str(max(1, cluster.replication - 1)),
    }
    return {**common, **own, **replicas, **cluster.overrides}


def write(cluster: LocalCluster, directory: Path) -> None:
    """Write what the cluster consists of, and the properties of nodes that have none; those of others are kept, so
    that what was changed in them by hand stays."""
    directory.mkdir(parents=True, exist_ok=True)
    for node_id in cluster.node_ids:
        files = NodeFiles(directory, node_id)
        if not files.properties.exists():
            files.directory.mkdir(exist_ok=True)
            values = properties(cluster, node_id, files.data.absolute())
            files.properties.write_text(javaproperties.dumps(values, timestamp=None))
    temporary = directory / f"{CLUSTER_FILE}.tmp"
    temporary.write_text(json.dumps(asdict(cluster), indent=2) + "\n")
    temporary.replace(directory / CLUSTER_FILE)


def read(directory: Path) -> LocalCluster | None:
    """Return the cluster of a directory, None where there is none; CommandError where its file cannot be used."""
    path = directory / CLUSTER_FILE
    try:
        content = path.read_text()
    except FileNotFoundError:
        return None
    try:
        values = json.loads(content)
        brokers = tuple(
            BrokerPlace(int(each["node_id"]), int(each["port"]), each.get("rack")) for each in values["brokers"]
        )
        if not brokers:
            raise ValueError("it names no brokers")
        ports = [int(values["controller_port"]), *(broker.port for broker in brokers)]
        if not all(0 < port < 1 << 16 for port in ports):
            raise ValueError("it has a port that there cannot be")
        overrides = {str(key): str(value) for key, value in values["overrides"].items()}
        return LocalCluster(int(values["controller_port"]), brokers, int(values["replication"]), overrides)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as wrong:
        raise CommandError(f"{path} is not what `odradek cluster start` writes: {wrong}") from wrong


def existing(directory: Path) -> LocalCluster:
    """Return the cluster of a directory; CommandError where there is none."""
    found = read(directory)
    if found is None:
        raise CommandError(
            f"there is no cluster in {directory}; `odradek cluster start` makes one, --directory says where"
        )
    return found
