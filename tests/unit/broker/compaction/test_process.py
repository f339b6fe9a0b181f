"""The life of the compaction process, as the broker sees it."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from typing import cast

from odradek.broker.compaction.process import CompactionProcess


class HungChild:
    """A process that waits for a disk which does not answer."""

    killed = False

    def kill(self) -> None:
        self.killed = True

    def wait(self, timeout: float) -> int:
        raise subprocess.TimeoutExpired("child", timeout)


def test_a_process_that_hangs_in_the_disk_does_not_keep_the_broker_from_stopping() -> None:
    """It is killed, waited for as long as is sensible, and has no exit code."""
    ours, theirs = socket.socketpair()
    loop = asyncio.new_event_loop()
    child = HungChild()
    with theirs:
        process = CompactionProcess(loop, cast("subprocess.Popen[bytes]", child), ours)
        assert process.end() is None
    assert child.killed
    loop.close()
