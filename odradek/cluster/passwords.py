"""A password for a user: from the terminal, a file or the environment, never from the command line.

What stands on a command line is in the list of processes and in the history of the shell.
"""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path
from typing import Final

from odradek.terminal.errors import WrongUsageError

MAX_BYTES: Final = 4096


def read_password(name: str, file: Path | None, variable: str | None) -> str:
    """Return the password for a user; WrongUsageError where there is none."""
    if file is not None and variable is not None:
        raise WrongUsageError("give either --password-file or --password-env")
    if file is not None:
        password = _from_file(file)
    elif variable is not None:
        found = os.environ.get(variable)
        if found is None:
            raise WrongUsageError(f"--password-env: there is no variable {variable}")
        password = found
    elif sys.stdin.isatty():
        password = getpass.getpass(f"Password for {name}: ")
        if getpass.getpass("Once more: ") != password:
            raise WrongUsageError("the two passwords are not the same")
    else:
        password = sys.stdin.readline(MAX_BYTES + 1).rstrip("\r\n")
    if not password:
        raise WrongUsageError("the password is empty; give --password-file, --password-env, or type it in")
    if len(password.encode()) > MAX_BYTES:
        raise WrongUsageError(f"the password has more than {MAX_BYTES} bytes")
    return password


def _from_file(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(MAX_BYTES + 2).rstrip("\r\n")
    except (OSError, ValueError) as failed:
        raise WrongUsageError(f"--password-file: {path} cannot be read: {failed}") from None
