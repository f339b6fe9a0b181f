"""The command, run in the process of the tests."""

import pytest

from tests.integration.cli import Cli, Result, in_process
from tests.support.broker import BrokerProcess
from tests.support.documents import check_documents


@pytest.fixture
def cli(broker: BrokerProcess, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Cli:
    """Run the command against the shared broker.

    JSON that it prints is held to its description, whatever the test is about."""
    command = in_process(broker.bootstrap, monkeypatch, capfdbinary)

    def call(*arguments: str, stdin: bytes = b"") -> Result:
        result = command(*arguments, stdin=stdin)
        if "--json" in arguments and result.output:
            check_documents(arguments, result.output)
        return result

    return call
