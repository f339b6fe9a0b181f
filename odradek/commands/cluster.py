"""`odradek cluster`: how a cluster is, and taking brokers out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from odradek.cli.arguments import broker_ids
from odradek.cli.command import group, online
from odradek.cluster.connection import ClusterClients
from odradek.cluster.drain import drained
from odradek.cluster.registration import unregister_broker
from odradek.cluster.status import cluster_status
from odradek.cluster.topology import ClusterBroker, describe_brokers, describe_partitions
from odradek.commands import cluster_info, cluster_nodes
from odradek.commands.cluster_nodes import node_rows, show_nodes
from odradek.commands.cluster_status import show_status, status_json
from odradek.commands.reassigning import Move, NoWait, Throttle, begin, end_throttles, move_of, wait
from odradek.documents import cluster as documents
from odradek.local_cluster import layout
from odradek.local_cluster.processes import LocalNodes
from odradek.terminal.errors import CommandError
from odradek.terminal.human import plural
from odradek.terminal.output import CommandOutput

app = group("cluster", "Run a cluster on this machine, see how any cluster is, and take brokers out of it.")
app.add_typer(cluster_nodes.app)
app.add_typer(cluster_info.app)

Node = Annotated[int, Argument(metavar="NODE", help="Id of a broker.", show_default=False)]


def _in_directory(given: Mapping[str, Any]) -> str | None:
    """Return where the cluster of `--directory` is reached."""
    directory: Path | None = given["directory"]
    return None if directory is None else layout.existing(directory).bootstrap


@online(
    app,
    "status",
    document=documents.STATUS,
    found_by=_in_directory,
    examples="""\
    odradek cluster status
    odradek cluster status --json
    odradek cluster status --directory odradek-cluster""",
)
def status(
    cluster: ClusterClients,
    output: CommandOutput,
    directory: Annotated[
        Path | None,
        Option("--directory", "-d", help="Of a cluster on this machine: where it is reached, and its processes."),
    ] = None,
) -> None:
    """Show brokers, controllers, partitions that are not as they should be, and followers that are behind."""
    found = cluster_status(cluster.requests)
    nodes = None if directory is None else node_rows(LocalNodes(directory, layout.existing(directory)))
    if output.json:
        output.document({**status_json(found), "nodes": nodes})
    else:
        show_status(output, found)
        if nodes is not None:
            output.line()
            output.heading("Processes")
            show_nodes(output, nodes)


@online(
    app,
    "drain",
    document=documents.DRAINED,
    examples="""\
    odradek cluster drain 3
    odradek cluster drain 3 --to 4,5 --throttle 50000000
    odradek cluster drain 3 --dry-run""",
)
def drain(
    cluster: ClusterClients,
    output: CommandOutput,
    node: Node,
    to: Annotated[
        str | None, Option("--to", metavar="4,5", help="Who takes over; all that are not fenced if not given.")
    ] = None,
    throttle: Throttle = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would move, and change nothing.")] = False,
    no_wait: NoWait = False,
) -> None:
    """Move all replicas off a broker, which may be away, and wait until they are elsewhere.

    A replica goes to a broker in a rack that its partition is not in yet, as far as there is one, and among these to
    the one with the fewest. All other replicas stay. The same command again goes on where it was ended.
    """
    brokers = describe_brokers(cluster.requests)
    _known(brokers.brokers, node)
    others = brokers.live.keys() - {node} if to is None else set(broker_ids(to, "--to"))
    if node in others:
        raise CommandError(f"broker {node} is the one to be drained; --to names others")
    targets = [_known(brokers.brokers, number).broker_id for number in sorted(others)]
    racks = {number: each.rack for number, each in brokers.brokers.items()}
    states = describe_partitions(cluster.requests)
    target = drained(states, node, racks, targets)
    move = move_of(states, target)
    if target and not dry_run:
        begin(cluster, output, move, throttle)
        if not no_wait:
            wait(cluster, output, move, f"`odradek cluster drain {node}` looks after it again")
            if throttle is not None:
                end_throttles(cluster, move.topics)
    if output.json:
        output.document({"broker": node, "dry_run": dry_run, "partitions": _moves_json(move)})
    elif not target:
        output.line(f"broker {node} has no replicas")
    elif dry_run:
        rows = [[*key, _list(move.before[key]), _list(replicas)] for key, replicas in sorted(target.items())]
        output.table(["TOPIC", ">PARTITION", "REPLICAS", "PLANNED"], rows)
    elif no_wait:
        output.line(f"{plural(len(target), 'partition')} on the way; `odradek partitions reassign list` shows how far")
    else:
        output.line(f"{plural(len(target), 'partition')} moved off broker {node}")
        output.note(f"stop it, and `odradek cluster unregister {node}` takes it out of the cluster")


@online(app, "unregister", document=documents.UNREGISTERED, examples="odradek cluster unregister 3")
def unregister(
    cluster: ClusterClients,
    output: CommandOutput,
    node: Node,
    force: Annotated[
        bool, Option("--force", help="Also while it runs or has replicas, which stay without a broker.")
    ] = False,
) -> None:
    """Have the controllers forget a broker that is gone for good; one that has been stopped, and drained before."""
    brokers = describe_brokers(cluster.requests)
    broker = _known(brokers.brokers, node)
    if not force:
        if not broker.is_fenced:
            raise CommandError(f"broker {node} runs; stop it first, or give --force")
        left = sum(node in each.replicas for each in describe_partitions(cluster.requests))
        if left:
            raise CommandError(
                f"broker {node} has {plural(left, 'replica')}; `odradek cluster drain {node}` moves them, --force"
                " leaves them behind"
            )
    unregister_broker(cluster.requests, node)
    if output.json:
        output.document({"broker": node})
    else:
        output.line(f"broker {node} is unregistered")


def _known(brokers: Mapping[int, ClusterBroker], node: int) -> ClusterBroker:
    if node not in brokers:
        known = ", ".join(map(str, brokers))
        raise CommandError(f"there is no broker {node}; the cluster has {known}")
    return brokers[node]


def _moves_json(move: Move) -> list[dict[str, object]]:
    return [
        {
            "topic": topic,
            "partition": number,
            "before": list(move.before[topic, number]),
            "replicas": list(replicas),
        }
        for (topic, number), replicas in sorted(move.target.items())
    ]


def _list(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))
