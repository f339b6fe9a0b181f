"""The application: which subcommands there are, and how what they raise becomes an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from odradek import __version__
from odradek.cli.errors import EXIT_INTERRUPTED, EXIT_USAGE, complain
from odradek.commands import log, serve, topics

PROGRAM = "odradek"

app = typer.Typer(
    name=PROGRAM,
    help="An Apache Kafka-compatible broker, and everything a person does with one: with any Kafka cluster.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None: ...


serve.register(app)
for each in (topics.app, log.app):
    app.add_typer(each)


def run(arguments: Sequence[str]) -> int:
    """Run the command with these arguments; returns its exit code."""
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
    return code if isinstance(code, int) else 0
