"""Tools of Apache Kafka, which share one JVM: most of what a tool takes in a JVM of its own is to begin.

Owns: the JVM of this process, started with the first tool and ended with the process. Must not know: what tools do.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import struct
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

SERVER = Path(__file__).with_name("ToolServer.java")
_NUMBER = struct.Struct(">i")
_END_S = 30
_TURN_S = 5.0
"""How long a tool waits for another one: it may be one that waits for this."""


class ToolServer:
    """A JVM that runs main classes one after another."""

    def __init__(self, command: Sequence[str]) -> None:
        """`command` starts a JVM with the program `SERVER`."""
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._busy = threading.Lock()

    def run(
        self, main_class: str, arguments: Sequence[str], stdin: bytes, timeout: float
    ) -> subprocess.CompletedProcess[bytes] | None:
        """Run a tool to its end; None where another one runs for long.

        Raises:
            subprocess.TimeoutExpired: it has not ended after `timeout` seconds.
            RuntimeError: the JVM has ended.
        """
        if not self._busy.acquire(timeout=_TURN_S):
            return None
        try:
            process = self._started()
            return self._asked(process, [main_class, *arguments], stdin, time.monotonic() + timeout)
        except (subprocess.TimeoutExpired, RuntimeError, OSError):
            self._discard()
            raise
        finally:
            self._busy.release()

    def close(self) -> None:
        """End the JVM."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def _discard(self) -> None:
        if self._process is not None:
            self._process.kill()
            self.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        return self._process

    def _asked(
        self, process: subprocess.Popen[bytes], words: Sequence[str], stdin: bytes, deadline: float
    ) -> subprocess.CompletedProcess[bytes]:
        name, *arguments = words
        request = [_sized(name.encode()), _NUMBER.pack(len(arguments))]
        request += [_sized(each.encode()) for each in arguments]
        assert process.stdin is not None
        process.stdin.write(b"".join([*request, _sized(stdin)]))
        process.stdin.flush()
        (code,) = _NUMBER.unpack(self._received(process, 4, words, deadline))
        output, errors = (self._received_sized(process, words, deadline) for _ in range(2))
        return subprocess.CompletedProcess(words, code, output, errors)

    def _received_sized(self, process: subprocess.Popen[bytes], words: Sequence[str], deadline: float) -> bytes:
        (size,) = _NUMBER.unpack(self._received(process, 4, words, deadline))
        return self._received(process, size, words, deadline)

    @staticmethod
    def _received(process: subprocess.Popen[bytes], size: int, words: Sequence[str], deadline: float) -> bytes:
        assert process.stdout is not None
        source = process.stdout.fileno()
        received = bytearray()
        while len(received) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([source], [], [], left)[0]:
                raise subprocess.TimeoutExpired(list(words), deadline)
            some = os.read(source, size - len(received))
            if not some:
                raise RuntimeError(f"the JVM ended while it ran {' '.join(words)}")
            received += some
        return bytes(received)


def _sized(data: bytes) -> bytes:
    return _NUMBER.pack(len(data)) + data


_server: ToolServer | None = None


def shared_server(command: Sequence[str]) -> ToolServer:
    """Return the JVM for tools of this process, which `command` starts."""
    global _server  # noqa: PLW0603 - one for each process, ended with it
    if _server is None:
        _server = ToolServer(command)
        atexit.register(_server.close)
    return _server
