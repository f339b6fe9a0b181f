"""`odradek console` in a process of its own, on a port that is free."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.support.broker import REPOSITORY
from tests.support.waiting import eventually

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 30


@contextmanager
def console_process(bootstrap: str, arguments: Sequence[str] = ()) -> Iterator[str]:
    """Run a console of this cluster; yields its address, without a slash at the end."""
    command = [sys.executable, "-m", "odradek", "console", "-b", bootstrap, "--listen", "127.0.0.1:0", "--json"]
    with subprocess.Popen([*command, *arguments], cwd=REPOSITORY, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            lines: list[bytes] = []
            for line in process.stdout:
                lines.append(line)
                if line.rstrip() == b"}":
                    break
            assert lines, "the console ended before it was ready"
            yield str(json.loads(b"".join(lines))["url"]).rstrip("/")
        finally:
            process.terminate()
            eventually(lambda: process.poll() is not None, "the console ends", STOP_TIMEOUT_S)
    assert process.returncode == 0
