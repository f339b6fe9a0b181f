"""docs/cli.md, written from the commands: `python -m odradek.cli.reference > docs/cli.md`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from rich.text import Text
from typer.main import get_command

from odradek import serving
from odradek.cli.app import COMMANDS, PROGRAM, application
from odradek.cli.command import EXAMPLES_TITLE, document_of
from odradek.cli.options import BOOTSTRAP_VARIABLE, DEFAULT_BOOTSTRAP, PROFILE_VARIABLE
from odradek.documents.document import field_rows, meaning_of
from odradek.terminal.errors import EXIT_CODES

INTRODUCTION = f"""\
# The command

`{PROGRAM} serve` runs the broker; everything else is for the person beside it. The commands that talk to a cluster do
so as any client, so they work with every Kafka cluster. `python -m {PROGRAM}` is the same as `{PROGRAM}`.

- `{PROGRAM} COMMAND --help` shows what stands here. `{PROGRAM} --install-completion` sets up completion for your shell.
- Results go to standard output, everything else to standard error. Tables are for people; `--json` prints one document
  whose fields stay as they are ({PROGRAM} consume: a line for each record). They stand below, `topics[].name` for the
  name of each of the topics; a field is always there, and never null, unless it says so.
- Colours and progress are shown on a terminal only.
- An error is one sentence that says what to do. `--debug` shows where it comes from.

This page is written from the commands themselves: `python -m {PROGRAM}.cli.reference > docs/cli.md`.
"""

VARIABLES = {
    BOOTSTRAP_VARIABLE: f"where the cluster is, if nothing else says it; without it and a profile {DEFAULT_BOOTSTRAP}",
    PROFILE_VARIABLE: "the profile that is meant without `--profile`",
    "ODRADEK_REGISTRY": f"the schema registry of `{PROGRAM} consume`, as `--registry`",
    "NO_COLOR": "if set, no colours on a terminal either",
}

CLIENT_SETTINGS = f"""\
`--command-config` names a properties file with the settings of a client, as Kafka's own tools take it:

    security.protocol=SASL_SSL
    sasl.mechanism=SCRAM-SHA-512
    sasl.username=me
    sasl.password=secret
    ssl.ca.location=/etc/ssl/certs/cluster-ca.pem

The client is librdkafka: all its settings are understood. Most have the name that they have in Java's clients.
Java's own are translated: `sasl.jaas.config` (PLAIN and SCRAM with a user name and a password, OAUTHBEARER with a
client id and a secret) and `ssl.truststore.*` and `ssl.keystore.*` of type PEM, in files and inline; stores of other
types are not read. What librdkafka cannot ask for goes over connections of the command's own, with the same settings.

All of them can stand before the command, too: `{PROGRAM} -b kafka:9092 topics list`. What is closer counts more:
`--bootstrap-server`; `bootstrap.servers` in `-X` or the file; the profile that `--profile` or `{PROFILE_VARIABLE}`
names; `{BOOTSTRAP_VARIABLE}`; the profile that `{PROGRAM} profile use` chose, whose settings go nowhere else.
"""

SHARED = ("bootstrap_server", "command_config", "profile", "settings", "json", "debug", "help")
"""Options that commands share, by the names of their parameters; described once."""

Row = tuple[str, str]


def page() -> str:
    """Return the whole page."""
    root: Any = get_command(application())
    sections: list[str] = [
        INTRODUCTION,
        _section("## Exit codes", _table("Code", "Means", ((f"{code}", text) for code, text in EXIT_CODES.items()))),
        _section(
            "## Environment", _table("Variable", "Means", ((f"`{name}`", text) for name, text in VARIABLES.items()))
        ),
        _section("## Options that commands share", _shared(root), CLIENT_SETTINGS),
    ]
    for name in COMMANDS:
        sections += [_serve()] if name == "serve" else _command(root.commands[name], f"{PROGRAM} {name}", 2)
    return "\n".join(sections)


def _serve() -> str:
    parser = serving.arguments_parser()
    rows = [(_serve_name(each), each.help or "") for each in parser._actions]
    return _section(
        f"## {parser.prog}", parser.description or "", _table("Argument", "Means", rows), _indented_examples()
    )


def _serve_name(action: argparse.Action) -> str:
    names = ", ".join(f"`{each}`" for each in action.option_strings) or f"`[{action.metavar}]`"
    if action.choices is not None:
        return f"{names} {'|'.join(action.choices)}"
    return f"{names} {action.metavar}" if action.option_strings and action.metavar else names


def _indented_examples() -> str:
    return "\n".join(f"  {line}" for line in serving.EXAMPLES.splitlines()[1:])


def _command(command: Any, path: str, level: int) -> Iterator[str]:
    """Yield the sections of a command and, if it is a group, of all that it has."""
    heading = f"{'#' * level} {path}"
    description, _, examples = _plain(command.help).partition(f"{EXAMPLES_TITLE}\n")
    children: dict[str, Any] = getattr(command, "commands", {})
    if children:
        yield _section(heading, description)
        for name, child in children.items():
            yield from _command(child, f"{path} {name}", level + 1)
        return
    parameters = [each for each in command.params if not _is_shared(each)]
    usage = " ".join([path, "[OPTIONS]", *(each.metavar or each.name for each in parameters if _is_argument(each))])
    rows = [(_name(each), _meaning(each)) for each in sorted(parameters, key=lambda each: not _is_argument(each))]
    table = _table("Argument", "Means", rows) if rows else ""
    indented = "\n".join(f"  {line}" for line in examples.splitlines())
    yield _section(heading, f"    {usage}", description, table, indented, _document(command))


def _document(command: Any) -> str:
    """Return what the JSON document of the command holds, nothing if it has none."""
    document = document_of(command)
    if document is None:
        return ""
    rows = ((f"`{path}`", meaning) for path, meaning in field_rows(document))
    return "\n\n".join(filter(None, [meaning_of(document), _table("`--json`", "Means", rows)]))


def _shared(root: Any) -> str:
    known: dict[str, Any] = {}
    for each in root.commands["topics"].commands["list"].params:
        known[each.name] = each
    rows = [(_name(known[name]), _meaning(known[name])) for name in SHARED if name in known]
    return _table("Option", "Means", [*rows, ("`--help`", "Show help and exit.")])


def _is_shared(parameter: Any) -> bool:
    return parameter.name in SHARED and not (parameter.name == "json" and "tables" not in (parameter.help or ""))


def _is_argument(parameter: Any) -> bool:
    return str(parameter.param_type_name) == "argument"


def _name(parameter: Any) -> str:
    if _is_argument(parameter):
        return f"`{parameter.metavar or parameter.name}`"
    names = ", ".join(f"`{each}`" for each in parameter.opts)
    return names if parameter.is_flag else f"{names} {_placeholder(parameter)}"


def _placeholder(parameter: Any) -> str:
    if parameter.metavar:
        return str(parameter.metavar)
    choices = getattr(parameter.type, "choices", None)
    return "|".join(choices) if choices else str(parameter.type.name).upper()


def _meaning(parameter: Any) -> str:
    text = _plain(parameter.help or "")
    default = parameter.default
    if default is None or default is False or parameter.required or callable(default) or default == []:
        return text
    return f"{text} Default: {getattr(default, 'value', default)}."


def _plain(markup: str) -> str:
    return Text.from_markup(markup).plain


def _table(first: str, second: str, rows: Iterable[Row]) -> str:
    lines = [f"| {first} | {second} |", "|---|---|"]
    lines += [f"| {_cell(name)} | {_cell(text)} |" for name, text in rows]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _section(*paragraphs: str) -> str:
    return "\n\n".join(each.strip("\n") for each in paragraphs if each.strip()) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
