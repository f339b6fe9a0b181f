"""`odradek console`: a web page for a cluster."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from odradek.cli import options
from odradek.cli.command import offline
from odradek.cli.target import ClusterArguments, cluster_target
from odradek.cluster.reaching import parse_addresses
from odradek.commands.log_errors import in_one_sentence
from odradek.config.http_listener import parse_http_listener
from odradek.console.settings import LEAST_TOKEN_LENGTH, ConsoleSettings, check_metrics_url, is_loopback
from odradek.documents import console as documents
from odradek.logs.verify.directory import read_layout
from odradek.storage.files import PosixFiles
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.output import CommandOutput

app = typer.Typer()


@offline(
    app,
    "console",
    document=documents.SERVING,
    examples="""\
    odradek console
    odradek console -b kafka-1:9092 --command-config client.properties --read-only
    odradek console --log-dir odradek-data --metrics http://127.0.0.1:9404/metrics
    odradek console --listen :8090 --token-file token.txt --allowed-host console.example.org""",
)
def console(
    output: CommandOutput,
    bootstrap_server: options.BootstrapServer = None,
    command_config: options.CommandConfig = None,
    profile: options.Profile = None,
    settings: options.ClientSettings = None,
    listen: Annotated[
        str, Option("--listen", metavar="HOST:PORT", help="Where the browser goes; :8090 is every interface.")
    ] = "127.0.0.1:8090",
    read_only: Annotated[bool, Option("--read-only", help="Change nothing, whatever a page is asked.")] = False,
    token_file: Annotated[
        Path | None,
        Option(
            "--token-file",
            metavar="FILE",
            help="What a visitor has to log in with; without it, one is made up and printed unless --listen is on "
            "loopback, where nobody has to.",
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        Option(
            "--allowed-host",
            metavar="NAME",
            help="A host name by which browsers reach the console, beside localhost and addresses; repeatable.",
        ),
    ] = None,
    log_dir: Annotated[
        list[Path] | None,
        Option("--log-dir", metavar="DIR", help="A log directory on this machine to look into; repeatable."),
    ] = None,
    metrics: Annotated[
        str | None,
        Option("--metrics", metavar="URL", help="A broker's page of metrics, for charts of how long requests take."),
    ] = None,
    stop_with_stdin: Annotated[
        bool, Option("--stop-with-stdin", help="Also end when standard input does: with whoever holds the pipe.")
    ] = False,
) -> None:
    """Show a cluster in the browser: topics, messages, groups, and changes to them.

    Any Kafka cluster, with the rights of --command-config. Until Ctrl-C. Needs pip install 'odradek[console]'.
    """
    try:
        address = parse_http_listener(listen)
    except ValueError as wrong:
        raise WrongUsageError(f"--listen {listen}: {wrong}") from wrong
    cluster = cluster_target(ClusterArguments(bootstrap_server, command_config, profile, settings or ()))
    parse_addresses(cluster.bootstrap)
    token = _token(token_file, is_local=is_loopback(address.host))
    started_with = ConsoleSettings(
        bootstrap=cluster.bootstrap,
        client_settings=cluster.settings,
        host=address.host,
        port=address.port,
        token=token,
        read_only=read_only,
        allowed_hosts=allowed_host or [],
        log_dirs=[_log_directory(each) for each in log_dir or ()],
        metrics_url=None if metrics is None else check_metrics_url(metrics),
    )
    try:
        from odradek.console.app import console_app
        from odradek.console.serving import serve
    except ModuleNotFoundError as missing:
        raise CommandError(f"{missing.name} is not installed: pip install 'odradek[console]'") from missing

    def ready(port: int) -> None:
        host = address.host or "127.0.0.1"
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        if token is not None and token_file is None:
            url += f"login?token={token}"
        if output.json:
            output.document({"url": url})
        else:
            output.note(f"console of {cluster.bootstrap} at {url}; Ctrl-C ends it")

    serve(console_app(started_with), address.host, address.port, ready, stops_with_stdin=stop_with_stdin)


def _log_directory(path: Path) -> Path:
    """Return the log directory at a path; CommandError where there is none."""
    with in_one_sentence(str(path)):
        layout = read_layout(PosixFiles(), str(path))
    if not layout.is_whole:
        raise WrongUsageError(f"--log-dir {path}: that is the directory of one partition; name the one that it is in")
    return Path(layout.path)


def _token(path: Path | None, *, is_local: bool) -> str | None:
    """Return what visitors log in with: what the file has, or something new where others reach the port."""
    if path is None:
        return None if is_local else secrets.token_urlsafe(24)
    try:
        token = path.read_text().strip()
    except UnicodeDecodeError:
        raise WrongUsageError(f"--token-file {path}: it is no text") from None
    if len(token) < LEAST_TOKEN_LENGTH:
        raise WrongUsageError(f"--token-file {path}: give at least {LEAST_TOKEN_LENGTH} characters")
    return token
