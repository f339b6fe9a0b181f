"""The way into the command."""

import subprocess
import sys

import pytest

from odradek.cli.app import run
from tests.support.broker import REPOSITORY


def test_serving_imports_nothing_of_the_other_commands() -> None:
    """What the other commands are made with would double the time until the broker answers."""
    command = [sys.executable, "-P", "-X", "importtime", "-m", "odradek", "serve", "--help"]
    environment = {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "argparse" in imported
    assert not imported & {"typer", "rich", "confluent_kafka", "pydantic"}


def test_examples_stay_indented_in_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Whether the description is one paragraph or several, the examples stand out below it."""
    for command in ("list", "create"):
        assert run(["topics", command, "--help"]) == 0
        shown = capsys.readouterr().out.splitlines()
        [title] = [number for number, line in enumerate(shown) if line.strip() == "Examples:"]
        assert shown[title + 1].startswith(f"   odradek topics {command}")
