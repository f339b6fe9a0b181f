"""The application: which subcommands there are, and how what they raise becomes an exit code."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Container, Mapping, Sequence
from importlib import import_module
from typing import Annotated

import typer

from odradek import __version__
from odradek.build_kind import build_kind
from odradek.cli import options
from odradek.cli.help_imports import import_help_drawing
from odradek.terminal.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, complain

PROGRAM = "odradek"
COMPLETION_VARIABLE = "_ODRADEK_COMPLETE"
VALUED_OPTIONS = frozenset({"--bootstrap-server", "-b", "--command-config", "--profile", "-X"})
_NO_NUMBER = re.compile(r"is not a valid (int|integer|float)( range)?\b")

COMMANDS: Mapping[str, str] = {
    "serve": "Run the broker.",
    "service": "A broker that systemd starts with the machine, watches, and stops in order.",
    "format": "Say of a node's log directories to which cluster they belong, as kafka-storage format does.",
    "secure": "Encryption, log-ins and rights: set them up, and see what is open.",
    "wait": "Wait until a cluster answers, of odradek or of Apache Kafka; exit code 1 where it does not in time.",
    "cluster": "Run a cluster on this machine, see how any cluster is, and take brokers out of it.",
    "log-dirs": "Show the log directories of brokers: whether they can be used, their replicas, and what is free.",
    "topics": "List, create, describe, alter and delete topics, and find offsets in them.",
    "partitions": "Move partitions to other brokers, and elect leaders.",
    "produce": "Produce each line of a file or of standard input as a record.",
    "consume": "Read the records of topics and write them to standard output.",
    "records": "Delete records from the beginning of topics, and copy topics.",
    "groups": "List, describe, watch, reset and delete consumer groups.",
    "transactions": "List, describe and end transactions, and find those that nobody ends.",
    "configs": "Describe and alter the configs of topics, brokers, groups and clients' metrics.",
    "users": "List, create, alter and delete users who log in with a password.",
    "acls": "List, create and delete ACLs, and ask what they decide.",
    "quotas": "List, set and delete how much users, client ids and addresses may take.",
    "tokens": "Create, list, renew and end delegation tokens, with which programs log in for a user.",
    "console": "Show a cluster in the browser: topics, messages, groups, and changes to them.",
    "profile": "Keep clusters with the settings of their clients under names, and choose the one to use.",
    "exporter": "Give Prometheus the metrics of a cluster that tells none itself.",
    "bench": "Measure throughput and latency.",
    "log": "Look into Kafka's files: dump, verify, explain, stat.",
    "pipeline": "Run jobs on Spark: topics to Parquet, counts of words, topics into topics.",
}
"""Modules of odradek.commands, with - for _, and their summaries, in the order of the help; each has an `app`.

The summaries stand here so that the list of commands is shown without importing what they do.
"""


def application(commands: Container[str] = COMMANDS) -> typer.Typer:
    """Return the application with all subcommands.

    Only the modules of these are imported; the others stand in the help and among what a misspelt name may have meant.
    """
    app = typer.Typer(
        name=PROGRAM,
        help="An Apache Kafka-compatible broker, and everything a person does with one, or with any Kafka cluster.",
        no_args_is_help=True,
        rich_markup_mode="rich",
    )
    app.callback()(_root)
    for name, summary in COMMANDS.items():
        if name in commands:
            app.add_typer(import_module(f"odradek.commands.{name.replace('-', '_')}").app)
        else:
            app.command(name, help=summary)(_not_imported)
    return app


def run(arguments: Sequence[str]) -> int:
    """Run the command with these arguments; returns its exit code."""
    words = completed_words(os.environ) if COMPLETION_VARIABLE in os.environ else arguments
    app = application(named_command(words))
    if "--help" in words or (len(words) < 2 and "--version" not in words):
        import_help_drawing()
    try:
        code = app(list(arguments), prog_name=PROGRAM, standalone_mode=False)
    except typer.TyperException as wrong:
        context = getattr(wrong, "ctx", None)
        asked = context.command_path if context is not None else " ".join([PROGRAM, *named_command(words)])
        text = _NO_NUMBER.sub("is no number", " ".join(wrong.format_message().split()))
        if text:  # none where the help was shown because there were no arguments
            complain(f"{text.rstrip('.')}; `{asked} --help` says more")
        return EXIT_USAGE
    except (typer.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    return code if isinstance(code, int) else EXIT_OK


def named_command(words: Sequence[str]) -> frozenset[str]:
    """Return the subcommand among the words after the program's name, nothing where there is none yet."""
    is_value = False
    for word in words:
        if not is_value and not word.startswith("-"):
            return frozenset({word} & COMMANDS.keys())
        is_value = word in VALUED_OPTIONS
    return frozenset()


def completed_words(environment: Mapping[str, str]) -> list[str]:
    """Return the words of the line that a shell wants completed, without the name of the program."""
    line = environment.get("COMP_WORDS") or environment.get("_TYPER_COMPLETE_ARGS") or ""
    try:
        return shlex.split(line)[1:]
    except ValueError:  # a quotation that is not closed yet
        return line.split()[1:]


def _not_imported() -> None:
    raise AssertionError("a command that is called is imported")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{PROGRAM} {__version__} ({build_kind()})")
        raise typer.Exit


def _root(
    context: typer.Context,
    bootstrap_server: options.BootstrapServer = None,
    command_config: options.CommandConfig = None,
    profile: options.Profile = None,
    settings: options.ClientSettings = None,
    json: options.Json = False,
    debug: options.Debug = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show version and build, and exit.")
    ] = False,
) -> None:
    """Keep what is given before the command's name for the command, which takes the same options."""
    given = {
        "bootstrap_server": bootstrap_server,
        "command_config": command_config,
        "profile": profile,
        "settings": settings,
        "json": json,
        "debug": debug,
    }
    context.obj = {name: value for name, value in given.items() if value}
