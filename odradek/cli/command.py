"""Registering subcommands: what every one of them has in common is added here.

    @online(topics, "list", examples="odradek topics list")
    def list_topics(cluster: Cluster, output: Output, internal: Annotated[bool, Option("--internal")] = False) -> None:
        '''List topics.'''

`offline` is the same for commands that talk to no broker: their function takes the Output alone, then its own
parameters. A function returns None, or its exit code; what it raises becomes one sentence (see `errors`). Its docstring
is its help.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import typer

from odradek.cli import options
from odradek.cli.target import cluster_arguments, cluster_target
from odradek.documents.document import Document
from odradek.terminal.errors import EXIT_OK, report
from odradek.terminal.output import CommandOutput

Function = TypeVar("Function", bound=Callable[..., int | None])


class Registration(Protocol):
    """A decorator that leaves the function as it is."""

    def __call__(self, function: Function, /) -> Function: ...


EXAMPLES_TITLE = "Examples:"
CLUSTER_OPTIONS: Mapping[str, object] = {
    "bootstrap_server": options.BootstrapServer,
    "command_config": options.CommandConfig,
    "profile": options.Profile,
    "settings": options.ClientSettings,
}
"""Which cluster is meant, by the names of the parameters."""
_DOCUMENT = "json_document"
_MARKUP = re.compile(r"(\\*)(\[[a-z#/@][^[]*?])")


def group(name: str, summary: str) -> typer.Typer:
    """Return an application for `odradek NAME ...`, to which commands are registered."""
    return typer.Typer(name=name, help=summary, no_args_is_help=True, rich_markup_mode="rich", add_completion=False)


def part() -> typer.Typer:
    """Return an application whose commands a group takes among its own, with `add_typer`."""
    return typer.Typer(rich_markup_mode="rich", add_completion=False)


def online(
    app: typer.Typer,
    name: str,
    *,
    examples: str,
    details: str = "",
    json: object = options.Json,
    document: Document | None = None,
    found_by: Callable[[Mapping[str, Any]], str | None] | None = None,
    alone: Callable[[Mapping[str, Any]], bool] | None = None,
) -> Registration:
    """Register a function `(cluster, output, ...)` as a command that talks to a cluster.

    Adds --bootstrap-server, --command-config, --profile, -X, --json and --debug. `json` replaces the declaration of
    --json where it means more than the form of the output; `details` are paragraphs of help that are put together from
    tables.
    `document` describes what --json prints. `found_by` gives the addresses of the cluster where the command's own
    arguments tell them, None where they do not. `alone` tells of arguments that they need no cluster: then None takes
    its place.
    """

    def register(function: Function) -> Function:
        def call(given: dict[str, Any], output: CommandOutput) -> int | None:
            meant = cluster_arguments({name: given.pop(name) for name in CLUSTER_OPTIONS})
            if alone is not None and alone(given):
                return function(None, output, **given)
            found = found_by(given) if found_by is not None else None
            bootstrap, settings = cluster_target(meant if found is None else replace(meant, bootstrap_server=found))
            from odradek.cluster.connection import connect  # only now: --help needs no Kafka client

            with closing(connect(bootstrap, settings, debug=output.debug)) as cluster:
                return function(cluster, output, **given)

        shared = [_option(each, declared, None) for each, declared in CLUSTER_OPTIONS.items()]
        command = _wrap(function, call, taken=2, shared=shared, json=json, document=document)
        _register(app, name, command, details, examples)
        return function

    return register


def offline(
    app: typer.Typer,
    name: str,
    *,
    examples: str,
    details: str = "",
    json: object = options.Json,
    document: Document | None = None,
) -> Registration:
    """Register a function `(output, ...)` as a command that needs no cluster; adds --json and --debug."""

    def register(function: Function) -> Function:
        def call(given: dict[str, Any], output: CommandOutput) -> int | None:
            return function(output, **given)

        command = _wrap(function, call, taken=1, shared=[], json=json, document=document)
        _register(app, name, command, details, examples)
        return function

    return register


def document_of(command: object) -> Document | None:
    """Return how a command, as typer made it, describes what its --json prints; None if it does not."""
    document: Document | None = getattr(getattr(command, "callback", None), _DOCUMENT, None)
    return document


def _register(app: typer.Typer, name: str, command: Callable[..., None], details: str, examples: str) -> None:
    app.command(name, help=help_text(f"{inspect.getdoc(command)}\n\n{details}", examples))(command)


def _wrap(
    function: Callable[..., int | None],
    call: Callable[[dict[str, Any], CommandOutput], int | None],
    *,
    taken: int,
    shared: Sequence[inspect.Parameter],
    json: object,
    document: Document | None,
) -> Callable[..., None]:
    """Return `call` under the signature of `function` without its first parameters, with the shared ones added."""

    @functools.wraps(function)
    def command(context: typer.Context, **given: Any) -> None:
        _with_root_options(given, context.obj or {})
        output = CommandOutput(json=given.pop("json"), debug=given.pop("debug"))
        try:
            code = call(given, output)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  a person sees a sentence, whatever it was
            code = report(error, output.debug)
        if code not in (None, EXIT_OK):
            raise typer.Exit(code)

    own = list(inspect.signature(function, eval_str=True).parameters.values())[taken:]
    always = [_option("json", json, False), _option("debug", options.Debug, False)]
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (context, *own, *shared, *always)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    del command.__wrapped__
    setattr(command, _DOCUMENT, document)  # typer keeps what a function has on it
    return command


def help_text(description: str, examples: str) -> str:
    """Return what --help shows: the paragraphs of the description, then the examples, one a line."""
    paragraphs = [" ".join(each.split()) for each in description.split("\n\n")]
    paragraphs = list(filter(None, paragraphs))
    if len(paragraphs) == 1:
        paragraphs.append("")  # typer would take the indentation off, as it does after the first line of a docstring
    lines = "\n".join(f"  {line.strip()}" for line in examples.strip().splitlines())
    return _escaped("\n\n".join([*paragraphs, f"{EXAMPLES_TITLE}\n{lines}"]))


def _escaped(text: str) -> str:
    """Return text that rich shows as it is: what looks like its markup is escaped, as `rich.markup.escape` does."""
    return _MARKUP.sub(lambda found: f"{found[1] * 2}\\{found[2]}", text)


def _with_root_options(given: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Add what was given before the command's name, where the command takes it and was not told otherwise."""
    for name, value in before.items():
        if name == "settings":
            for own in {"settings", "kafka"} & given.keys():
                given[own] = [*value, *(given[own] or ())]
        elif name in given:
            given[name] = given[name] or value


def _option(name: str, annotation: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
