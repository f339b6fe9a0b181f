"""`odradek wait`: until a cluster serves."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Annotated

import typer
from typer import Option

from odradek.cli import options
from odradek.cli.arguments import duration_s
from odradek.cli.command import offline
from odradek.cli.target import ClusterArguments, cluster_target
from odradek.cluster.connection import connect
from odradek.documents import wait as documents
from odradek.terminal.errors import CommandError
from odradek.terminal.human import plural
from odradek.terminal.output import CommandOutput

app = typer.Typer()

PAUSE_S = 0.05


@offline(
    app,
    "wait",
    document=documents.SERVING,
    examples="""\
    odradek wait
    odradek wait -b kafka-1:9092,kafka-2:9092 --brokers 3 --timeout 120 && ./run-tests""",
)
def wait(
    output: CommandOutput,
    bootstrap_server: options.BootstrapServer = None,
    command_config: options.CommandConfig = None,
    profile: options.Profile = None,
    settings: options.ClientSettings = None,
    brokers: Annotated[int, Option("--brokers", min=1, help="Until so many brokers are there.")] = 1,
    timeout: Annotated[
        str, Option("--timeout", metavar="TIME", help="Give up after so long: seconds, or such as `500ms` or `2m`.")
    ] = "60s",
) -> None:
    """Wait until a cluster answers, of odradek or of Apache Kafka; exit code 1 where it does not in time."""
    meant = cluster_target(ClusterArguments(bootstrap_server, command_config, profile, settings or ()))
    limit_s = duration_s(timeout, "--timeout")
    began = time.monotonic()
    while True:
        try:
            with closing(connect(meant.bootstrap, meant.settings, debug=output.debug)) as cluster:
                found = len(cluster.metadata().brokers)
            if found >= brokers:
                break
            missing = f"{plural(found, 'broker')} of {brokers} there"
        except CommandError as away:
            missing = str(away)
        if time.monotonic() - began >= limit_s:
            raise CommandError(f"not after {limit_s:g} s: {missing}")
        time.sleep(PAUSE_S)
    seconds = time.monotonic() - began
    if output.json:
        output.document({"brokers": found, "seconds": round(seconds, 3)})
    else:
        output.note(f"{plural(found, 'broker')} there after {seconds:.1f} s")
