"""The way into the command."""

import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_command

from odradek.cli.app import COMMANDS, application, named_command, run
from tests.support.broker import REPOSITORY


def _imported(*arguments: str, **more: str) -> set[str]:
    """Return the names of all modules that the command imports with these arguments."""
    command = [sys.executable, "-P", "-X", "importtime", "-m", "odradek", *arguments]
    environment = {"PYTHONPATH": str(REPOSITORY), **more}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_serving_imports_nothing_of_the_other_commands() -> None:
    """What the other commands are made with would double the time until the broker answers."""
    imported = {name.partition(".")[0] for name in _imported("serve", "--help")}
    assert "argparse" in imported
    assert not imported & {"typer", "rich", "confluent_kafka", "pydantic"}


@pytest.mark.parametrize(
    ("arguments", "completed"), [(["--help"], ""), (["--version"], ""), ([], "odradek "), ([], "odradek to")]
)
def test_what_needs_no_subcommand_imports_none(arguments: list[str], completed: str) -> None:
    """The list of commands, the version and the completion of a command's name are there without the Kafka client and
    without what any command does."""
    words = {"_ODRADEK_COMPLETE": "complete_bash", "COMP_WORDS": completed, "COMP_CWORD": "1"} if completed else {}
    imported = _imported(*arguments, **words)
    assert "odradek.cli.app" in imported
    others = {name for name in imported if name.startswith(("odradek.commands.", "odradek.cluster", "odradek.broker"))}
    assert not others
    assert not imported & {"confluent_kafka", "asyncio", "ssl", "urllib.request"}
    if arguments == ["--version"]:
        assert not {name for name in imported if name.startswith("rich.")}


def test_a_command_imports_only_its_own() -> None:
    """Help of one group brings in no module of another one, and nothing that only progress is drawn with."""
    imported = _imported("topics", "list", "--help")
    assert "odradek.cluster.topics" in imported
    assert not imported & {"odradek.cluster.groups", "odradek.cluster.consuming", "odradek.storage.files"}
    assert not imported & {"rich.progress", "urllib.request", "odradek.cluster.broker_requests"}


def test_the_list_of_commands_says_what_they_say() -> None:
    """The summary of a command in the list is the beginning of its own help."""
    root: Any = get_command(application())
    told = {name: command.help.partition("\n")[0] for name, command in root.commands.items()}
    assert told == COMMANDS


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["topics", "list"], {"topics"}),
        (["-b", "topics", "--json", "groups", "list"], {"groups"}),
        (["--bootstrap-server=h:1", "log"], {"log"}),
        (["topicz", "log"], set()),
        (["-b"], set()),
    ],
)
def test_the_command_is_found_behind_options(words: list[str], named: set[str]) -> None:
    """The first word that is neither an option nor its value names the command."""
    assert named_command(words) == named


def test_examples_stay_indented_in_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Whether the description is one paragraph or several, the examples stand out below it."""
    for command in ("list", "create"):
        assert run(["topics", command, "--help"]) == 0
        shown = capsys.readouterr().out.splitlines()
        [title] = [number for number, line in enumerate(shown) if line.strip() == "Examples:"]
        assert shown[title + 1].startswith(f"   odradek topics {command}")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["consume", "--key"], "odradek: Option '--key' requires an argument; `odradek consume --help` says more"),
        (["produce", "t", "--rate", "1d"], "'1d' is no number; `odradek produce --help` says more"),
        (["topics", "create", "t", "-p", "x"], "'x' is no number; `odradek topics create --help` says more"),
    ],
)
def test_wrong_arguments_are_told_in_plain_words(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    """With the command whose help says more."""
    assert run(words) == 2
    assert said in capsys.readouterr().err
