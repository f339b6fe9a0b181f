"""systemd on this machine: where units lie, and what is asked of `systemctl`.

The root of the file system and how processes are run are passed in.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from odradek.service.unit import MARK

TIMEOUT_S: Final = 400
"""For a command of systemctl: a start waits until the broker serves, a stop until it has stopped."""
_SHOWN: Final = ("ActiveState", "SubState", "StatusText", "MainPID", "NRestarts", "UnitFileState", "FragmentPath")

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


class SystemdError(Exception):
    """What systemd could not do, in a sentence."""


@dataclass(frozen=True, slots=True)
class ServiceState:
    """A service as systemd sees it."""

    active: str
    """active, inactive, failed, activating, deactivating; as `systemctl status` has it."""
    detail: str
    status: str
    """What the broker says it is at."""
    pid: int | None
    restarts: int
    enabled: bool
    """Whether it starts with the machine."""
    unit: str | None
    """The file; None where there is no such service."""


class Systemd:
    """The manager of the machine's services, or of one user's."""

    def __init__(self, user: bool, root: Path, home: Path, run: Run | None = None) -> None:
        self._user = user
        self._root = root
        self._home = home
        self._run = run or _run

    @property
    def is_there(self) -> bool:
        """Whether this machine is run by systemd: the test of sd_booted(3)."""
        return (self._root / "run/systemd/system").is_dir()

    def unit_path(self, name: str) -> Path:
        """Return where the unit of a service lies."""
        folder = self._home / ".config/systemd/user" if self._user else self._root / "etc/systemd/system"
        return folder / f"{name}.service"

    def is_ours(self, name: str) -> bool:
        """Whether there is a unit of that name that was written here. Raises OSError where it cannot be read."""
        try:
            with self.unit_path(name).open(encoding="utf-8", errors="replace") as file:
                return file.readline(len(MARK) + 2).rstrip("\n") == MARK
        except FileNotFoundError:
            return False

    def write(self, name: str, text: str) -> Path:
        """Write a unit, all of it or nothing, and have systemd read it. Raises OSError, SystemdError."""
        path = self.unit_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)
        self.ask("daemon-reload")
        return path

    def remove(self, name: str) -> Path:
        """Remove a unit, and have systemd forget it. Raises OSError, SystemdError."""
        path = self.unit_path(name)
        path.unlink()
        self.ask("daemon-reload")
        return path

    def ask(self, *arguments: str) -> str:
        """Return what `systemctl` says. Raises SystemdError with its words where it fails."""
        command = ["systemctl", *(["--user"] if self._user else []), *arguments]
        said = " ".join(command)
        try:
            done = self._run(command)
        except FileNotFoundError:
            raise SystemdError("there is no command systemctl on this machine") from None
        except subprocess.TimeoutExpired:
            raise SystemdError(f"`{said}` had not ended after {TIMEOUT_S} s") from None
        if done.returncode:
            why = " ".join((done.stderr or done.stdout).split()) or f"exit code {done.returncode}"
            raise SystemdError(f"`{said}` failed: {why}")
        return done.stdout

    def state(self, name: str) -> ServiceState:
        """Return how a service is. Raises SystemdError."""
        answer = self.ask("show", f"{name}.service", *(f"--property={one}" for one in _SHOWN))
        return _state({key: value for key, _, value in (line.partition("=") for line in answer.splitlines())})


def _state(properties: Mapping[str, str]) -> ServiceState:
    pid = _number(properties.get("MainPID", ""))
    return ServiceState(
        active=properties.get("ActiveState", "unknown"),
        detail=properties.get("SubState", ""),
        status=properties.get("StatusText", ""),
        pid=pid or None,
        restarts=_number(properties.get("NRestarts", "")),
        enabled=properties.get("UnitFileState", "").startswith("enabled"),
        unit=properties.get("FragmentPath") or None,
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else 0


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}
    return subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
