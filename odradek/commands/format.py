"""`odradek format`: the identity of log directories, said before the first start.

No node of odradek needs it: a controller makes the cluster's id, and a broker asks its controllers for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from odradek.cli.command import offline
from odradek.config.errors import ConfigError
from odradek.config.loading import load_settings
from odradek.documents.format import FORMATTED
from odradek.protocol.uuids import from_text, random_uuid, to_text
from odradek.storage.directories.log_dirs import (
    LogDirectory,
    find_log_directories,
    identify_log_directories,
    make_log_directories,
    release_log_directories,
)
from odradek.storage.errors import StorageError
from odradek.storage.files import PosixFiles
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.output import CommandOutput

app = typer.Typer()


@offline(
    app,
    "format",
    document=FORMATTED,
    examples="""
    odradek format server.properties                                           a new cluster
    odradek format server.properties --cluster-id MkU3OEVBNTcwNTJENDM2Qg       a node of a cluster that there is
    odradek format --override log.dirs=/var/lib/odradek --override node.id=3
    """,
)
def format_directories(
    output: CommandOutput,
    properties: Annotated[
        Path | None, Argument(metavar="[server.properties]", help="The node's configuration file.")
    ] = None,
    cluster_id: Annotated[
        str | None, Option("--cluster-id", "-t", metavar="ID", help="The cluster; a new id if it is not given.")
    ] = None,
    override: Annotated[
        list[str] | None, Option("--override", metavar="KEY=VALUE", help="Set a config, over the file.")
    ] = None,
) -> None:
    """Say of a node's log directories to which cluster they belong, as kafka-storage format does.

    It is not needed: a controller makes the cluster's id at its first start, and a broker asks its controllers. What a
    directory says already stays.
    """
    _check_id(cluster_id)
    try:
        settings = load_settings(None if properties is None else str(properties), override or ())
        directories = _identify(settings.log_dirs, settings.node_id, cluster_id, settings.metadata_log_dir)
    except ConfigError as wrong:
        raise WrongUsageError(str(wrong)) from wrong
    except StorageError as refused:
        raise CommandError(refused.message) from refused
    _show(output, settings.node_id, directories)


def _check_id(cluster_id: str | None) -> None:
    try:
        if cluster_id is not None:
            from_text(cluster_id)
    except ValueError as wrong:
        raise WrongUsageError(f"--cluster-id: {wrong}") from wrong


def _identify(
    log_dirs: tuple[str, ...], node_id: int, cluster_id: str | None, metadata_log_dir: str
) -> list[tuple[LogDirectory, bool]]:
    """Let the directories say whose they are; return each with whether it did not before."""
    files = PosixFiles()
    directories = find_log_directories(files, log_dirs, node_id, random_uuid, cluster_id, metadata_log_dir)
    found = [(directory, directory.found is None) for directory in directories]
    make_log_directories(files, directories)
    identify_log_directories(files, directories)
    release_log_directories(directories)
    return found


def _show(output: CommandOutput, node_id: int, directories: list[tuple[LogDirectory, bool]]) -> None:
    shown = []
    cluster_id = None
    for directory, is_new in directories:
        assert directory.meta is not None
        assert directory.meta.directory_id is not None
        cluster_id = directory.meta.cluster_id
        shown.append((directory.path, to_text(directory.meta.directory_id), is_new))
    if output.json:
        output.document(
            {
                "cluster_id": cluster_id,
                "node_id": node_id,
                "directories": [
                    {"directory": path, "directory_id": directory_id, "is_new": is_new}
                    for path, directory_id, is_new in shown
                ],
            }
        )
        return
    for path, _, is_new in shown:
        what = "formatted for" if is_new else "belongs already to"
        output.text(f"{path}: {what} cluster {cluster_id}, node {node_id}")
