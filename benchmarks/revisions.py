"""Two states of this project beside each other: another revision, taken out of git, and the working tree.

Both are started in the same way, as modules from their folders, so that what is compared is the code alone.
"""

from __future__ import annotations

import compileall
import io
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.target import Target, odradek

REPOSITORY = Path(__file__).resolve().parent.parent
_SERVED = ("broker", "config", "protocol", "storage", "odradek")
"""The folders that a broker runs from."""


class RevisionUnavailableError(Exception):
    """The revision cannot be taken out of git; the message says why."""


def check_out(revision: str, directory: Path) -> Path:
    """Put the files of a revision below `directory` and return their folder; RevisionUnavailableError if git cannot."""
    command = ["git", "-C", str(REPOSITORY), "archive", "--format=tar", revision]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise RevisionUnavailableError(f"comparing with {revision} needs git: {error}") from None
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip()
        raise RevisionUnavailableError(f"git has no revision {revision}: {reason}")
    folder = directory / "revision"
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def target_in(folder: Path, name: str, prefix: Sequence[str] = ()) -> Target:
    """The broker of the sources in `folder`, with their bytecode written; `prefix` is put before its command."""
    for served in _SERVED:
        compileall.compile_dir(folder / served, quiet=2)
    return odradek(prefix, str(folder), name)
