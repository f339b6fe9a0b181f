"""The application: which subcommands there are, and how what they raise becomes an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from odradek import __version__
from odradek.terminal.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, complain

PROGRAM = "odradek"

COMMANDS = (
    "serve",
    "format",
    "secure",
    "wait",
    "cluster",
    "topics",
    "partitions",
    "produce",
    "consume",
    "groups",
    "transactions",
    "configs",
    "users",
    "acls",
    "quotas",
    "tokens",
    "exporter",
    "bench",
    "log",
    "pipeline",
)
"""Modules of odradek.commands, in the order of the help; each has an `app`."""


def application(commands: Sequence[str] = COMMANDS) -> typer.Typer:
    """Return the application with these subcommands; only their modules are imported."""
    app = typer.Typer(
        name=PROGRAM,
        help="An Apache Kafka-compatible broker, and everything a person does with one, or with any Kafka cluster.",
        no_args_is_help=True,
        rich_markup_mode="rich",
    )
    app.callback()(_root)
    for name in commands:
        app.add_typer(import_module(f"odradek.commands.{name}").app)
    return app


def run(arguments: Sequence[str]) -> int:
    """Run the command with these arguments; returns its exit code."""
    named = arguments[:1]
    app = application(named if named and named[0] in COMMANDS else COMMANDS)
    try:
        code = app(list(arguments), prog_name=PROGRAM, standalone_mode=False)
    except typer.TyperException as wrong:
        context = getattr(wrong, "ctx", None)
        asked = context.command_path if context is not None else PROGRAM
        text = " ".join(wrong.format_message().split())
        if text:  # none where the help was shown because there were no arguments
            complain(f"{text.rstrip('.')}; `{asked} --help` says more")
        return EXIT_USAGE
    except (typer.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    return code if isinstance(code, int) else EXIT_OK


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None: ...
