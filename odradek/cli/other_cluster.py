"""The second cluster of a command that knows two: options that mean it, and its clients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from odradek.cli.target import ClusterArguments, cluster_target
from odradek.cluster.connection import ClusterClients, connect
from odradek.terminal.output import CommandOutput

ToBootstrapServer = Annotated[
    str | None, Option("--to-bootstrap-server", metavar="HOST:PORT", help="The other cluster, if it is one.")
]
ToCommandConfig = Annotated[
    Path | None, Option("--to-command-config", metavar="FILE", help="Client settings for the other cluster.")
]
ToProfile = Annotated[
    str | None, Option("--to-profile", metavar="NAME", help="The other cluster, as `odradek profile` keeps it.")
]
Renames = Annotated[
    list[str] | None,
    Option(
        "--rename",
        metavar="REGEX=TOPIC",
        help="What topics of this form are called there, $1 is the first group; repeatable, the first counts.",
    ),
]


def other_cluster(
    cluster: ClusterClients, bootstrap: str | None, config: Path | None, profile: str | None, output: CommandOutput
) -> ClusterClients:
    """Return new clients of the other cluster, of the same one where no other is meant. Raises what commands raise."""
    if bootstrap is None and config is None and profile is None:
        return connect(cluster.bootstrap, cluster.settings, debug=output.debug)
    meant = cluster_target(ClusterArguments(bootstrap, config, profile), environment={})
    return connect(meant.bootstrap, meant.settings, debug=output.debug)
