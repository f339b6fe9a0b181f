"""`odradek service`: what installing does and refuses, with a systemd that only notes what it is asked."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from odradek.cli.app import run
from odradek.commands import service
from odradek.service.account import ServiceAccount
from odradek.service.systemd import Systemd

RUNNING = (
    "ActiveState=active\nSubState=running\nStatusText=node 1 serves on port 9092\nMainPID=77\nNRestarts=0\n"
    "UnitFileState=enabled\nFragmentPath=/etc/x.service\n"
)


class Machine:
    """A machine that systemd runs, below a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked: list[str] = []
        self.shown = RUNNING
        self.failing = ""
        (root / "run/systemd/system").mkdir(parents=True)

    def systemctl(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Note the command, fail where it is the failing one."""
        words = [each for each in command[1:] if each != "--user"]
        self.asked.append(" ".join(words[:1] if words[0] == "show" else words))
        failed = words[0] == self.failing
        return subprocess.CompletedProcess(command, int(failed), self.shown, "Job failed." if failed else "")

    def systemd(self, _name: str, user: bool) -> Systemd:
        """Stand for the machine's own."""
        return Systemd(user, self.root, self.root / "home", self.systemctl)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The machine that the command runs on; the user odradek is the one who runs the tests."""
    found = Machine(tmp_path / "machine")
    me = ServiceAccount("odradek", os.getuid(), os.getgid(), frozenset(os.getgroups()), "odradek")
    monkeypatch.setattr(service, "_systemd", found.systemd)
    monkeypatch.setattr(service, "find_account", {"odradek": me}.get)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda *_: None)
    return found


def test_install_writes_enables_and_starts(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The unit runs the file with absolute paths, the data directory is made, and the broker's own words are told."""
    properties = tmp_path / "server.properties"
    properties.write_text(f"log.dirs={tmp_path}/data\nnode.id=1\n")
    assert run(["service", "install", str(properties), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    unit = machine.root / "etc/systemd/system/odradek.service"
    assert document["unit"] == str(unit)
    assert document["text"] == unit.read_text()
    assert f"serve {properties}\n" in unit.read_text()
    assert "User=odradek\nGroup=odradek\n" in unit.read_text()
    assert document["directories"] == [f"{tmp_path}/data"]
    assert (tmp_path / "data").is_dir()
    assert document["status"] == "node 1 serves on port 9092"
    assert machine.asked == ["daemon-reload", "enable odradek.service", "restart odradek.service", "show"]
    machine.asked.clear()
    assert run(["service", "install", str(properties), "--no-start"]) == 0
    assert machine.asked == ["daemon-reload", "enable odradek.service", "show"]
    assert "enabled, not started" in capsys.readouterr().out


def test_a_service_of_a_user_needs_no_root(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its data is where data of users is; it is said how it outlives the log-in."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert run(["service", "install"]) == 1
    assert "needs root" in capsys.readouterr().err
    assert run(["service", "install", "--user"]) == 0
    unit = (machine.root / "home/.config/systemd/user/odradek.service").read_text()
    assert f"--override log.dirs={tmp_path}/share/odradek" in unit
    assert "User=" not in unit
    assert "enable-linger" in capsys.readouterr().err


def test_print_changes_nothing(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not even where systemd, root and the user are missing."""
    (machine.root / "run/systemd/system").rmdir()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert run(["service", "install", "--print", "--run-as", "kafka", "--override", f"log.dirs={tmp_path}/d"]) == 0
    assert "User=kafka\n" in capsys.readouterr().out
    assert machine.asked == []
    assert not (tmp_path / "d").exists()
    assert run(["service", "install"]) == 1
    said = capsys.readouterr().err
    assert "not run by systemd" in said
    assert "--print" in said


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--run-as", "nobody-of-that-name"], 1, "useradd --system"),
        (["--run-as", "a b"], 2, "no name of a user"),
        (["--override", "log.dirs=data"], 2, "relative path"),
        (["--override", "num.partitions=many"], 2, "num.partitions=many"),
        (["missing.properties"], 2, "missing.properties"),
    ],
)
def test_what_would_not_run_is_refused(
    machine: Machine, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    """With a sentence, before anything is written."""
    assert run(["service", "install", *arguments]) == code
    assert said in capsys.readouterr().err
    assert machine.asked == []


def test_a_directory_that_the_user_cannot_write_to_is_refused(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sentence has the command that mends it."""
    stranger = ServiceAccount("odradek", 2**31 - 7, 2**31 - 7, frozenset(), "odradek")
    monkeypatch.setattr(service, "find_account", {"odradek": stranger}.get)
    monkeypatch.setattr(service, "first_closed", lambda *_: None)
    (tmp_path / "data").mkdir(mode=0o755)
    assert run(["service", "install", "--override", f"log.dirs={tmp_path}/data"]) == 1
    assert f"chown -R odradek: {tmp_path}/data" in capsys.readouterr().err
    assert machine.asked == []


def test_a_unit_of_somebody_else_is_left_alone(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    """It is neither written over nor removed."""
    unit = machine.root / "etc/systemd/system/odradek.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Unit]\n")
    for command in (["install", "--override", f"log.dirs={machine.root}/d"], ["uninstall"]):
        assert run(["service", *command]) == 1
        assert "left alone" in capsys.readouterr().err
    assert unit.read_text() == "[Unit]\n"


def test_a_start_that_fails_says_where_to_look(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What systemctl said, and the journal."""
    machine.failing = "restart"
    assert run(["service", "install", "--override", f"log.dirs={tmp_path}/d"]) == 1
    said = capsys.readouterr().err
    assert "Job failed." in said
    assert "journalctl -u odradek" in said


def test_uninstall_removes_the_unit_and_nothing_else(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is stopped first, data stays, and a second time there is nothing to remove."""
    assert run(["service", "install", "--override", f"log.dirs={tmp_path}/d"]) == 0
    machine.asked.clear()
    assert run(["service", "uninstall"]) == 0
    assert machine.asked == ["disable --now odradek.service", "daemon-reload"]
    assert (tmp_path / "d").is_dir()
    assert run(["service", "uninstall"]) == 1
    assert "nothing was removed" in capsys.readouterr().err


@pytest.mark.parametrize(("active", "code"), [("active", 0), ("failed", 1), ("activating", 1)])
def test_status_is_for_scripts_too(
    machine: Machine, capsys: pytest.CaptureFixture[str], active: str, code: int
) -> None:
    """Exit code 0 while it serves; one document with all that systemd knows."""
    machine.shown = RUNNING.replace("=active", f"={active}")
    assert run(["service", "status", "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["active"] == active
    assert document["pid"] == 77
    machine.shown = RUNNING.replace("/etc/x.service", "")
    assert run(["service", "status"]) == 1
    assert "`odradek service install` makes one" in capsys.readouterr().err
