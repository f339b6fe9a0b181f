"""Where units lie, and what systemctl is asked and answers."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from odradek.service.systemd import ServiceState, Systemd, SystemdError
from odradek.service.unit import MARK


class FakeSystemctl:
    """Answers as it is told, and keeps what it was asked."""

    def __init__(self, code: int = 0, out: str = "", err: str = "") -> None:
        self.asked: list[list[str]] = []
        self._answer = (code, out, err)

    def __call__(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.asked.append(list(command))
        code, out, err = self._answer
        return subprocess.CompletedProcess(command, code, out, err)


def test_a_machine_without_systemd_is_known(tmp_path: Path) -> None:
    """By the directory that sd_booted(3) looks for, not by the programs that are installed."""
    systemd = Systemd(False, tmp_path, tmp_path)
    assert not systemd.is_there
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    assert systemd.is_there


@pytest.mark.parametrize(
    ("user", "place", "asked"),
    [
        (False, "root/etc/systemd/system/x.service", ["systemctl", "daemon-reload"]),
        (True, "home/.config/systemd/user/x.service", ["systemctl", "--user", "daemon-reload"]),
    ],
)
def test_a_unit_is_written_and_removed_where_systemd_looks(
    tmp_path: Path, user: bool, place: str, asked: list[str]
) -> None:
    """Each time systemd reads its units anew; what was written is known as ours."""
    systemctl = FakeSystemctl()
    systemd = Systemd(user, tmp_path / "root", tmp_path / "home", systemctl)
    assert not systemd.is_ours("x")
    assert systemd.write("x", f"{MARK}\n[Unit]\n") == tmp_path / place
    assert systemd.is_ours("x")
    assert [each.name for each in (tmp_path / place).parent.iterdir()] == ["x.service"]
    assert systemd.remove("x") == tmp_path / place
    assert not (tmp_path / place).exists()
    assert systemctl.asked == [asked, asked]


def test_a_unit_of_somebody_else_is_not_ours(tmp_path: Path) -> None:
    """Whatever it has, unless it begins with our mark."""
    systemd = Systemd(False, tmp_path, tmp_path, FakeSystemctl())
    systemd.unit_path("x").parent.mkdir(parents=True)
    for text in ("", "[Unit]\n", f"{MARK} not\n", f"\n{MARK}\n"):
        systemd.unit_path("x").write_text(text)
        assert not systemd.is_ours("x")


def test_what_systemctl_says_is_told() -> None:
    """A failure has its command and its words, in one line."""
    systemd = Systemd(True, Path("/"), Path("/"), FakeSystemctl(1, "", "Job failed.\nSee the journal.\n"))
    with pytest.raises(SystemdError, match=r"`systemctl --user restart x` failed: Job failed. See the journal.$"):
        systemd.ask("restart", "x")


def test_without_systemctl_there_is_a_sentence() -> None:
    """And no traceback."""

    def missing(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        raise FileNotFoundError(command[0])

    with pytest.raises(SystemdError, match="no command systemctl"):
        Systemd(False, Path("/"), Path("/"), missing).ask("status")


@pytest.mark.parametrize(
    ("said", "state"),
    [
        (
            "ActiveState=active\nSubState=running\nStatusText=node 1 serves on port 9092\nMainPID=77\nNRestarts=2\n"
            "UnitFileState=enabled\nFragmentPath=/etc/systemd/system/x.service\n",
            ServiceState(
                "active", "running", "node 1 serves on port 9092", 77, 2, True, "/etc/systemd/system/x.service"
            ),
        ),
        (
            "ActiveState=inactive\nSubState=dead\nStatusText=\nMainPID=0\nNRestarts=0\nUnitFileState=\nFragmentPath=\n",
            ServiceState("inactive", "dead", "", None, 0, False, None),
        ),
        ("", ServiceState("unknown", "", "", None, 0, False, None)),
    ],
)
def test_the_state_is_what_systemctl_shows(said: str, state: ServiceState) -> None:
    """Numbers as numbers, what is not there as None."""
    assert Systemd(False, Path("/"), Path("/"), FakeSystemctl(0, said)).state("x") == state
