"""`odradek cluster`: how a cluster is."""

from __future__ import annotations

from odradek.cli.command import group, online
from odradek.cluster.connection import ClusterClients
from odradek.cluster.status import cluster_status
from odradek.commands.cluster_status import show_status, status_json
from odradek.documents import cluster as documents
from odradek.terminal.output import CommandOutput

app = group("cluster", "See how a cluster is.")


@online(app, "status", document=documents.STATUS, examples="odradek cluster status\nodradek cluster status --json")
def status(cluster: ClusterClients, output: CommandOutput) -> None:
    """Show brokers, controllers, partitions that are not as they should be, and followers that are behind."""
    found = cluster_status(cluster.requests)
    if output.json:
        output.document(status_json(found))
    else:
        show_status(output, found)
