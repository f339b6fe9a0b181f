"""The JVM that tools of Apache Kafka share, played by a small program."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tools import ToolServer

PLAYED = r"""
import os, struct, sys, time
source, target = sys.stdin.buffer, sys.stdout.buffer
number = lambda: struct.unpack(">i", source.read(4))[0]
while size := source.read(4):
    name = source.read(struct.unpack(">i", size)[0]).decode()
    given = [source.read(number()) for _ in range(number())]
    read = source.read(number())
    if name == "ends":
        os._exit(3)
    if name == "waits":
        time.sleep(60)
    answers = [b" ".join(given) + b"|" + read, str(os.getpid()).encode()]
    target.write(struct.pack(">i", len(given)))
    for each in answers:
        target.write(struct.pack(">i", len(each)) + each)
    target.flush()
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ToolServer]:
    """A server that answers how many arguments it was given as exit code, and its process id as errors."""
    program = tmp_path / "played.py"
    program.write_text(PLAYED)
    made = ToolServer([sys.executable, str(program)])
    yield made
    made.close()


def run(server: ToolServer, name: str, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[bytes]:
    """Run a tool, which nobody else does."""
    done = server.run(name, arguments, b"in", timeout)
    assert done is not None
    return done


def test_tools_share_a_process(server: ToolServer) -> None:
    """Each with its arguments, input, output and exit code."""
    first, second = run(server, "one", "a", "ü"), run(server, "two")
    assert (first.returncode, first.stdout) == (2, "a ü|in".encode())
    assert (second.returncode, second.stdout) == (0, b"|in")
    assert first.stderr == second.stderr


@pytest.mark.parametrize(
    ("name", "timeout", "error"), [("ends", 60, RuntimeError), ("waits", 0.2, subprocess.TimeoutExpired)]
)
def test_a_tool_that_ends_its_process_or_hangs_keeps_no_other_from_running(
    server: ToolServer, name: str, timeout: float, error: type[Exception]
) -> None:
    """The next one has a new process."""
    before = run(server, "one").stderr
    with pytest.raises(error):
        run(server, name, timeout=timeout)
    assert run(server, "one").stderr != before


def test_tools_of_several_threads_take_turns(server: ToolServer) -> None:
    """Answers are not mixed."""
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(run(server, "one", "x" * 100_000).stdout)) for _ in "1234"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [b"x" * 100_000 + b"|in"] * 4
