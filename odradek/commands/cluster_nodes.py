"""`odradek cluster start`, `stop`, `kill` and `add`: several brokers on one machine as processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from odradek.cli.arguments import pairs
from odradek.cli.command import offline, part
from odradek.documents import cluster as documents
from odradek.local_cluster import layout
from odradek.local_cluster.layout import CONTROLLER_ID, NodeFiles
from odradek.local_cluster.processes import LocalNodes, free_port, free_ports
from odradek.terminal.errors import CommandError
from odradek.terminal.human import plural
from odradek.terminal.interrupts import asked_to_stop
from odradek.terminal.output import CommandOutput

app = part()

DEFAULT_DIRECTORY = Path("odradek-cluster")
DEFAULT_PORT = 9092
WATCH_PAUSE_S = 0.2

Directory = Annotated[Path, Option("--directory", "-d", help="Where the nodes of the cluster keep their files.")]
Nodes = Annotated[
    list[int] | None, Argument(metavar="[NODE...]", help="Ids of nodes; all if none.", show_default=False)
]


@offline(
    app,
    "start",
    document=documents.STARTED,
    examples="""\
    odradek cluster start --brokers 3
    odradek cluster start --brokers 4 --replication 1 --detach
    odradek cluster start --brokers 3 --rack a --rack b --rack c --directory /tmp/racks --port 19092""",
)
def start(
    output: CommandOutput,
    brokers: Annotated[
        int | None,
        Option("--brokers", min=1, max=layout.MOST_BROKERS, help="How many; 3 for a new cluster.", show_default=False),
    ] = None,
    directory: Directory = DEFAULT_DIRECTORY,
    port: Annotated[
        int, Option("--port", min=0, max=65535, help="Of the first broker, or the next free one; 0 for any.")
    ] = DEFAULT_PORT,
    replication: Annotated[
        int | None,
        Option("--replication", min=1, help="Replicas of topics that do not say more; 3, or as many as brokers."),
    ] = None,
    rack: Annotated[
        list[str] | None, Option("--rack", help="A rack for brokers, given out in turn; repeatable.")
    ] = None,
    override: Annotated[
        list[str] | None, Option("--override", metavar="KEY=VALUE", help="A config of every node; repeatable.")
    ] = None,
    detach: Annotated[bool, Option("--detach", help="Return once it serves, and let it run.")] = False,
) -> None:
    """Start a controller and brokers as processes of their own, and stop them all in order at Ctrl-C.

    A directory that has a cluster is started again with the nodes, ports and data that it has.
    """
    cluster = layout.read(directory)
    if cluster is None:
        ports = free_ports(port, brokers or layout.DEFAULT_REPLICATION)
        settings = dict(pairs(override or (), "--override"))
        cluster = layout.plan(ports, free_port(0), replication, rack or (), settings)
        layout.write(cluster, directory)
    elif brokers not in (None, len(cluster.brokers)) or replication or rack or override:
        raise CommandError(
            f"{directory} has a cluster of {plural(len(cluster.brokers), 'broker')} already, which is started as it is:"
            " give --directory alone, `odradek cluster add` for one more broker, or another directory"
        )
    nodes = LocalNodes(directory, cluster)
    if detach:
        nodes.start(cluster.node_ids)
        _show(output, nodes)
        return
    with asked_to_stop() as is_asked:
        try:
            nodes.start(cluster.node_ids)
            _show(output, nodes)
            output.note(f"clients reach it at {cluster.bootstrap}; Ctrl-C stops it")
            _watch(output, nodes, is_asked)
        finally:
            current = LocalNodes(directory, layout.existing(directory))  # others may have joined
            _say_killed(output, current.stop(current.running()))


@offline(app, "stop", document=documents.CHANGED, examples="odradek cluster stop\nodradek cluster stop 2")
def stop(output: CommandOutput, nodes: Nodes = None, directory: Directory = DEFAULT_DIRECTORY) -> None:
    """Stop the cluster in order, or some of its nodes; leaders move to other brokers first."""
    local = _nodes_in(directory, nodes)
    wanted = [node_id for node_id in local.running() if not nodes or node_id in nodes]
    _say_killed(output, local.stop(wanted))
    _changed(output, "stopped", wanted)


@offline(app, "kill", document=documents.CHANGED, examples="odradek cluster kill 2")
def kill(
    output: CommandOutput,
    nodes: Annotated[list[int], Argument(metavar="NODE...", help="Ids of nodes.", show_default=False)],
    directory: Directory = DEFAULT_DIRECTORY,
) -> None:
    """End nodes as a crash would (SIGKILL); `odradek cluster add NODE` brings one back."""
    local = _nodes_in(directory, nodes)
    _changed(output, "killed", [node_id for node_id in nodes if local.kill(node_id)])


@offline(app, "add", document=documents.CHANGED, examples="odradek cluster add\nodradek cluster add 2")
def add(
    output: CommandOutput,
    nodes: Nodes = None,
    directory: Directory = DEFAULT_DIRECTORY,
    rack: Annotated[str | None, Option("--rack", help="Of a new broker.")] = None,
) -> None:
    """Start one more broker, or nodes of the cluster that do not run."""
    local = _nodes_in(directory, nodes)
    if nodes and rack is not None:
        raise CommandError("--rack is for a new broker; a node that exists keeps the one that it has")
    if not nodes:
        after = max(broker.port for broker in local.cluster.brokers) + 1
        grown = local.cluster.with_broker(free_port(after), rack)
        layout.write(grown, directory)
        local, nodes = LocalNodes(directory, grown), [grown.brokers[-1].node_id]
    _changed(output, "started", local.start(nodes))


def _nodes_in(directory: Path, named: list[int] | None) -> LocalNodes:
    """Return the nodes of a directory; CommandError where it has no cluster, or not the nodes that were named."""
    cluster = layout.existing(directory)
    for node_id in named or ():
        cluster.port_of(node_id)
    return LocalNodes(directory, cluster)


def _watch(output: CommandOutput, nodes: LocalNodes, is_asked: Callable[[], bool]) -> None:
    """Tell of nodes that end and come back until somebody asks to stop, or has stopped them all."""
    running = set(nodes.running())
    while running and not is_asked():
        time.sleep(WATCH_PAUSE_S)
        nodes.cluster = layout.existing(nodes.directory)
        now = set(nodes.running())
        for node_id in sorted(running - now):
            output.note(f"node {node_id} has ended; {NodeFiles(nodes.directory, node_id).log} may tell why")
        for node_id in sorted(now - running):
            output.note(f"node {node_id} runs")
        running = now


def show_nodes(output: CommandOutput, rows: Sequence[Mapping[str, object]]) -> None:
    """Print the nodes of a cluster on this machine as a table."""
    columns = ("node", "role", "port", "rack", "process", "log")
    output.table(
        [">NODE", "ROLE", ">PORT", "RACK", ">PROCESS", "LOG"], [[row[name] for name in columns] for row in rows]
    )


def node_rows(nodes: LocalNodes) -> list[dict[str, object]]:
    """Return what documents tell of the nodes of a cluster on this machine."""
    racks = {broker.node_id: broker.rack for broker in nodes.cluster.brokers}
    return [
        {
            "node": node_id,
            "role": "controller" if node_id == CONTROLLER_ID else "broker",
            "port": nodes.cluster.port_of(node_id),
            "rack": racks.get(node_id),
            "process": nodes.process_id(node_id),
            "log": str(NodeFiles(nodes.directory, node_id).log),
        }
        for node_id in nodes.cluster.node_ids
    ]


def _show(output: CommandOutput, nodes: LocalNodes) -> None:
    rows = node_rows(nodes)
    if output.json:
        output.document(
            {"bootstrap": nodes.cluster.bootstrap, "directory": str(nodes.directory.absolute()), "nodes": rows}
        )
    else:
        show_nodes(output, rows)


def _changed(output: CommandOutput, what: str, node_ids: list[int]) -> None:
    if output.json:
        output.document({"nodes": node_ids})
    elif node_ids:
        output.line(f"{what}: " + ", ".join(f"node {node_id}" for node_id in node_ids))
    else:
        output.note(f"nothing to do: no node was {what}")


def _say_killed(output: CommandOutput, node_ids: list[int]) -> None:
    for node_id in node_ids:
        output.note(f"node {node_id} did not stop in time and was killed; its next start checks its logs")
