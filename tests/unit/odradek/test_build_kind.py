"""Which build runs is told by what is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from odradek import build_kind

EXTENSION = build_kind.COMPILED_MODULE.rpartition(".")[2]


def _kind(copied: Path) -> str:
    command = [sys.executable, "-c", "from odradek.build_kind import build_kind; print(build_kind())"]
    return subprocess.run(command, cwd=copied, env={}, capture_output=True, text=True, check=True).stdout.strip()


def test_the_build_is_compiled_where_compiled_modules_are_found(tmp_path: Path) -> None:
    """What all compiled modules share decides; one for another Python is not found by this one, nor are they."""
    package = tmp_path / "odradek"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(build_kind.__file__, package)
    (package / f"{EXTENSION}.cpython-27-x86_64-linux-gnu.so").touch()
    assert _kind(tmp_path) == "plain"
    (package / f"{EXTENSION}.so").touch()
    assert _kind(tmp_path) == "compiled"
