"""The compaction process as the broker sees it: started when it is first needed, spoken to, ended.

Knows frames and the life of the process, not what is compacted. All waiting is on the event loop but for starting the
process, which takes a thread for some milliseconds.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Executor

from odradek.broker.compaction.frames import BadFrameError, Message, MessageReader, encode

COMMAND = (sys.executable, "-P", "-m", "odradek.broker.compaction.child")
"""-P: the working directory is not searched for modules."""
_RECEIVE_BYTES = 1 << 16
_END_SECONDS = 5.0


class ProcessGoneError(Exception):
    """The compaction process has ended, or does not speak as it should."""


class CompactionProcess:
    """One running process."""

    def __init__(self, loop: asyncio.AbstractEventLoop, child: subprocess.Popen[bytes], ours: socket.socket) -> None:
        self._loop = loop
        self._child = child
        self._socket = ours
        self._reader = MessageReader()
        self._arrived: deque[Message] = deque()

    @property
    def pid(self) -> int:
        """Id of the process."""
        return self._child.pid

    async def send(self, message: Message) -> None:
        """Send a message. Raises ProcessGoneError, BadFrameError for one that is too large."""
        frame = encode(message)
        try:
            await self._loop.sock_sendall(self._socket, frame)
        except OSError as failed:
            raise ProcessGoneError(f"it cannot be written to: {failed}") from failed

    async def receive(self) -> Message:
        """Wait for the next message. Raises ProcessGoneError."""
        while not self._arrived:
            try:
                data = await self._loop.sock_recv(self._socket, _RECEIVE_BYTES)
                self._arrived.extend(self._reader.feed(data))
            except (OSError, BadFrameError) as failed:
                raise ProcessGoneError(f"it cannot be read from: {failed}") from failed
            if not data:
                raise ProcessGoneError("it has ended")
        return self._arrived.popleft()

    def end(self) -> int | None:
        """End the process at once and return its exit code, negative for a signal; blocks until it is gone.

        One that waits for a disk which does not answer cannot be ended before that does: None then.
        """
        self._socket.close()
        self._child.kill()
        try:
            return self._child.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return None


async def start_process(
    loop: asyncio.AbstractEventLoop, threads: Executor, command: Sequence[str] = COMMAND
) -> CompactionProcess:
    """Start the process. Raises OSError."""
    ours, theirs = socket.socketpair()
    try:
        ours.setblocking(False)
        child = await loop.run_in_executor(threads, _spawn, command, theirs)
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return CompactionProcess(loop, child, ours)


def _spawn(command: Sequence[str], theirs: socket.socket) -> subprocess.Popen[bytes]:
    descriptor = theirs.fileno()
    return subprocess.Popen(
        [*command, str(descriptor)],
        pass_fds=(descriptor,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # its standard error is the broker's: a traceback there is all it ever writes
    )
