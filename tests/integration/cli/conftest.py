"""The command, run in the process of the tests."""

import io
import sys

import pytest

from odradek.cli.app import run
from odradek.cli.options import BOOTSTRAP_VARIABLE
from tests.integration.cli import Cli, Result
from tests.support.broker import BrokerProcess
from tests.support.documents import check_documents


@pytest.fixture
def cli(broker: BrokerProcess, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Cli:
    """Run the command against the shared broker, which the environment names, with everything that is written to both
    descriptors caught: also what a library in C writes.

    JSON that it prints is held to its description, whatever the test is about."""
    monkeypatch.setenv(BOOTSTRAP_VARIABLE, broker.bootstrap)

    def call(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        code = run(arguments)
        output, error = capfdbinary.readouterr()
        if "--json" in arguments and output:
            check_documents(arguments, output)
        return Result(code, output, error.decode())

    return call
