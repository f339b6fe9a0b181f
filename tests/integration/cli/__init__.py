"""The command against a running broker: what it prints, what its JSON holds, how it ends."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from odradek.cli.app import run
from odradek.cli.options import BOOTSTRAP_VARIABLE
from tests.support.broker import REPOSITORY

COMMAND = (sys.executable, "-P", "-m", "odradek")


class Result(NamedTuple):
    """What a command came to."""

    code: int
    output: bytes
    error: str

    @property
    def lines(self) -> list[str]:
        """The lines of standard output."""
        return self.output.decode().splitlines()

    @property
    def json(self) -> Any:
        """Standard output as one JSON document, of a command that succeeded and had nothing to say beside it."""
        assert self.code == 0, self.error
        return json.loads(self.output)

    @property
    def json_lines(self) -> list[Any]:
        """Standard output as a JSON document a line."""
        return [json.loads(line) for line in self.output.splitlines()]

    @property
    def table(self) -> list[list[str]]:
        """The words of each line."""
        return [line.split() for line in self.lines]


Cli = Callable[..., Result]
"""Runs the command in this process: its arguments, and `stdin=` bytes."""


def in_process(bootstrap: str, patches: pytest.MonkeyPatch, caught: pytest.CaptureFixture[bytes]) -> Cli:
    """Return what runs the command in this process against the brokers that its environment names; a process of its own
    takes half a second to start. What is written to both descriptors is caught: also what a library in C writes."""
    patches.setenv(BOOTSTRAP_VARIABLE, bootstrap)

    def call(*arguments: str, stdin: bytes = b"") -> Result:
        patches.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        caught.readouterr()
        code = run(arguments)
        output, error = caught.readouterr()
        return Result(code, output, error.decode())

    return call


def environment(bootstrap: str) -> dict[str, str]:
    """Return the environment of a command as a process of its own."""
    plain = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    return {**plain, "PYTHONPATH": str(REPOSITORY), "ODRADEK_BOOTSTRAP": bootstrap}


def start(bootstrap: str, arguments: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """Start the command as a process."""
    return subprocess.Popen([*COMMAND, *arguments], env=environment(bootstrap), **how)
