"""Distributions built from the repository, and a virtual environment in which one of them is installed.

Nothing is fetched: the tools that build are those of the environment that runs the tests, and so is everything that
odradek depends on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.broker import REPOSITORY

TIMEOUT_S = 120
INSTALLED = ("odradek", "pyspark_odradek", "pyspark_odradek_log")
"""The packages that a user of the wheel can import."""
_HIDDEN = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class Distributions:
    """What is published."""

    sdist: Path
    wheel: Path
    """Built from the repository."""
    wheel_of_sdist: Path


def run(*command: object, cwd: Path, timeout: float = TIMEOUT_S, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command that sees nothing of the repository; the caller looks at how it ended."""
    environment = {name: value for name, value in os.environ.items() if name not in _HIDDEN}
    return subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def build(source: Path, target: Path, *kinds: str) -> Path:
    """Build the sdist and a wheel of it, or what `kinds` (`--wheel`, `--sdist`) says; return `target`."""
    done = run(sys.executable, "-P", "-m", "build", "--no-isolation", *kinds, "--outdir", target, source, cwd=source)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def build_all(directory: Path) -> Distributions:
    """Build everything that is published, and a wheel straight from the repository."""
    (wheel,) = build(REPOSITORY, directory / "wheel", "--wheel").iterdir()
    (published,) = [build(REPOSITORY, directory / "published")]
    return Distributions(next(published.glob("*.tar.gz")), wheel, next(published.glob("*.whl")))


class InstalledEnvironment:
    """A virtual environment that has odradek from a wheel, and what it depends on from that of the tests."""

    def __init__(self, directory: Path, wheel: Path) -> None:
        venv.create(directory, symlinks=True)
        self.bin = directory / "bin"
        self.python = self.bin / "python"
        paths: dict[str, Any] = {"base": str(directory), "platbase": str(directory)}
        self.site_packages = Path(sysconfig.get_path("purelib", "venv", paths))
        self.names_before = self.names()
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", str(self.python)]
        done = run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=directory)
        assert done.returncode == 0, done.stdout + done.stderr
        self.names_after = self.names()
        # A path in a .pth file is searched after the environment's own, and .pth files in it are not followed: what is
        # installed editable there, as odradek is, is not found.
        (self.site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def names(self) -> set[str]:
        """Return what is in the folder that packages are installed to, but for the notes about them."""
        return {path.name for path in self.site_packages.iterdir() if path.suffix != ".dist-info"}

    def run(self, *command: object, cwd: Path, timeout: float = TIMEOUT_S) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment in a folder."""
        return run(
            self.bin / str(command[0]),
            *command[1:],
            cwd=cwd,
            timeout=timeout,
            PATH=f"{self.bin}{os.pathsep}{os.environ['PATH']}",
        )
