"""What log-dirs says of brokers that have a failed directory, or say nothing."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from odradek.client.errors import ClientError, ConnectionLostError
from odradek.cluster.connection import ClusterClients
from odradek.cluster.log_dirs import LogDirFacts
from odradek.cluster.topology import ClusterBroker, ClusterBrokers
from odradek.commands import log_dirs
from odradek.terminal.output import CommandOutput


def _told(monkeypatch: pytest.MonkeyPatch, answers: dict[int, list[LogDirFacts] | ClientError]) -> ClusterClients:
    brokers = {each: ClusterBroker(each, "h", 9090 + each, None, is_fenced=each not in answers) for each in (1, 2)}
    found = ClusterBrokers("c", 1, brokers)
    told = {brokers[number].address: answer for number, answer in answers.items()}
    monkeypatch.setattr(log_dirs, "describe_brokers", lambda _requests: found)
    monkeypatch.setattr(log_dirs, "describe_log_dirs", lambda _requests, wanted: {each: told[each] for each in wanted})
    return cast("ClusterClients", SimpleNamespace(requests=None))


@pytest.mark.parametrize(
    ("answers", "code", "said"),
    [
        ({1: [LogDirFacts("a", None)], 2: [LogDirFacts("b", None)]}, 0, ""),
        ({1: [LogDirFacts("a", "KAFKA_STORAGE_ERROR")], 2: []}, 1, ""),
        ({1: [LogDirFacts("a", None, usable_bytes=4096)], 2: []}, 1, ""),
        ({1: [], 2: ConnectionLostError("gone")}, 1, "broker 2 does not tell its directories: gone\n"),
        ({1: []}, 1, "broker 2 does not tell its directories: it is fenced: the controller does not hear of it\n"),
    ],
)
def test_the_exit_code_says_whether_all_is_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answers: Any, code: int, said: str
) -> None:
    """A failed directory, a full disk and a broker that does not answer or is away are something to look after."""
    assert log_dirs.log_dirs(_told(monkeypatch, answers), CommandOutput()) == code
    assert capsys.readouterr().err == said
