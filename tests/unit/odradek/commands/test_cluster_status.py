"""What `odradek cluster status` says first."""

import pytest

from odradek.cluster.log_dirs import LogDirFacts
from odradek.cluster.status import BrokerStatus, ClusterStatus
from odradek.cluster.topology import ClusterBroker
from odradek.commands.cluster_status import show_status
from odradek.terminal.output import CommandOutput


def test_a_full_disk_is_told_before_all_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """All replicas may be in sync where none takes a record any more."""
    directories = [LogDirFacts("/full", None, usable_bytes=0), LogDirFacts("/free", None, usable_bytes=1 << 30)]
    broker = BrokerStatus(ClusterBroker(1, "h", 9092, None, is_fenced=False), 0, 0, 0, 0, directories, None)
    show_status(CommandOutput(), ClusterStatus("c", 1, None, [broker], [], []))
    shown = capsys.readouterr().out.splitlines()
    assert shown[2] == "broker 1 can write nothing to /full: the disk is full"
    assert [line.split()[1:3] for line in shown if line.split()[:1] == ["1"]][1:] == [
        ["/full", "full"],
        ["/free", "up"],
    ]
