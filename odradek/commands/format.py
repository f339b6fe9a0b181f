"""`odradek format`: the identity of log directories, said before the first start.

No node of odradek needs it: a controller makes the cluster's id, and a broker asks its controllers for it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from odradek.cli.command import offline
from odradek.cluster.scram_argument import ScramUserArgument, parse_scram_argument
from odradek.config.errors import ConfigError
from odradek.config.loading import load_settings
from odradek.config.settings import BrokerSettings
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
    odradek format server.properties --add-scram 'SCRAM-SHA-512=[name=admin,passwordfile=admin.secret]'
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
    add_scram: Annotated[
        list[str] | None,
        Option(
            "--add-scram",
            metavar="USER",
            help="A user of SCRAM from the first start on, as SCRAM-SHA-512=[name=a,passwordfile=/run/secret].",
        ),
    ] = None,
    override: Annotated[
        list[str] | None, Option("--override", metavar="KEY=VALUE", help="Set a config, over the file.")
    ] = None,
) -> None:
    """Say of a node's log directories to which cluster they belong, as kafka-storage format does.

    With --add-scram the metadata of a new cluster begins with users, so that nodes can log in at each other from the
    first start on; Apache Kafka begins with them, too.
    Otherwise it is not needed: a controller makes the cluster's id at its first start, and a broker asks its
    controllers. What a directory says already stays.
    """
    _check_id(cluster_id)
    users = [parse_scram_argument(one) for one in add_scram or ()]
    try:
        settings = load_settings(None if properties is None else str(properties), override or ())
    except ConfigError as wrong:
        raise WrongUsageError(str(wrong)) from wrong
    _show(output, settings.node_id, format_with_users(settings, cluster_id, users))


def format_with_users(
    settings: BrokerSettings, cluster_id: str | None, users: list[ScramUserArgument]
) -> list[tuple[LogDirectory, bool]]:
    """Let a node's directories say whose they are, and the metadata of a new cluster begin with users; return each
    directory with whether it is new."""
    if users and not settings.quorum.is_controller:
        raise WrongUsageError("--add-scram: users are kept by the controllers; format one of those with it")
    try:
        directories = _identify(settings.log_dirs, settings.node_id, cluster_id, settings.metadata_log_dir)
    except StorageError as refused:
        raise CommandError(refused.message) from refused
    if users:
        _begin_with(users, settings.metadata_log_dir, directories)
    return directories


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


def _begin_with(
    users: list[ScramUserArgument], metadata_log_dir: str, directories: list[tuple[LogDirectory, bool]]
) -> None:
    """Have the metadata begin with users; only metadata that there is none of yet can."""
    from odradek.broker.metadata.bootstrap import write_bootstrap
    from odradek.broker.metadata.scram import ScramKey

    path = os.path.abspath(metadata_log_dir)
    is_new = any(new for directory, new in directories if os.path.abspath(directory.path) == path)
    if not is_new:
        raise CommandError(
            f"--add-scram: {metadata_log_dir} was formatted before, so its metadata may have begun; make users with"
            " `odradek users create` once the node runs"
        )
    credentials = {ScramKey(user.name, user.mechanism): user.credential for user in users}
    try:
        write_bootstrap(PosixFiles(), metadata_log_dir, credentials, time.time_ns() // 1_000_000)
    except OSError as failed:
        raise CommandError(
            f"--add-scram: {metadata_log_dir} cannot be written: {failed.strerror or failed}"
        ) from failed


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
