"""The compaction process: waits for tasks, does one at a time, and says what it has written.

It runs below the priority of all that serve somebody, reads closed segments and writes new files, and ends when the
broker does: the socket to it is closed then, however the broker ended, and is looked at before every wait and between
any two pieces of data. Where the kernel can do so, it ends the process at once: one that waits for the disk or for its
turn might otherwise go on with files that the process of the next broker writes already.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from math import ceil

from odradek.broker.compaction.frames import Message, MessageReader, encode
from odradek.storage.compaction.round import compact
from odradek.storage.compaction.values import Cancel, Cancelled, Task
from odradek.storage.files import FileSystem, PosixFiles

LONGEST_WAIT_S = 86_400.0
"""Longer than that no pause has to be."""
_PR_SET_PDEATHSIG = 1
"""Of prctl(2): the signal that a process gets when the thread which started it ends."""
NICENESS = 19
"""The lowest priority for the processor."""
_RECEIVE_BYTES = 1 << 16


class BrokerGoneError(Exception):
    """There is nobody left to work for."""


class RoundCancelledError(Exception):
    """The round that is under way is not wanted any more."""


class BrokerSocket:
    """The socket to the broker."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        # Not select(): the descriptor has its number from the broker, which may have thousands of others open.
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        self._reader = MessageReader()
        self._arrived: deque[Message] = deque()

    @property
    def is_closed(self) -> bool:
        """Whether there is nobody at the other end, whatever may be left to be read."""
        return any(event & select.POLLHUP for _, event in self._poll.poll(0))

    def send(self, message: Message) -> None:
        """Send a message; BrokerGoneError if there is nobody to send it to."""
        try:
            self._socket.sendall(encode(message))
        except OSError as closed:
            raise BrokerGoneError from closed

    def next_message(self) -> Message:
        """Wait for a message."""
        while not self._arrived:
            self._receive()
        return self._arrived.popleft()

    def wait(self, seconds: float) -> bool:
        """Wait, but only until a message arrives; return whether there is one."""
        if not self._arrived and self._poll.poll(ceil(min(seconds, LONGEST_WAIT_S) * 1000)):
            self._receive()
        return bool(self._arrived)

    def _receive(self) -> None:
        try:
            data = self._socket.recv(_RECEIVE_BYTES)
        except OSError as closed:
            raise BrokerGoneError from closed
        if not data:
            raise BrokerGoneError
        self._arrived.extend(self._reader.feed(data))


class Pacer:
    """Keeps one round to its bytes per second, and ends it when it is told to."""

    def __init__(self, link: BrokerSocket, task: Task, seconds: Callable[[], float] = time.monotonic) -> None:
        self._link = link
        self._task = task
        self._seconds = seconds
        self._rate = max(1.0, task.max_bytes_per_second)
        self._due = seconds()
        """When what was read and written until now should have been."""

    def __call__(self, size: int) -> None:
        now = self._seconds()
        self._due = max(self._due, now - 1) + size / self._rate
        while self._link.wait(max(0.0, self._due - now)):
            if self._link.next_message() == Cancel(self._task.number):
                raise RoundCancelledError
            now = self._seconds()


def work(link: BrokerSocket, fs: FileSystem) -> None:
    """Do tasks as they come. Raises BrokerGoneError at the end."""
    while True:
        message = link.next_message()
        if not isinstance(message, Task):
            continue  # told to end a round that has ended already
        try:
            for event in compact(fs, message, Pacer(link, message), time.monotonic):
                link.send(event)
        except RoundCancelledError:
            link.send(Cancelled(message.number))


def main(descriptor: int) -> None:
    """Work for the broker at the other end of the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole terminal; the broker ends this in order
    os.nice(NICENESS)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    link = BrokerSocket(socket.socket(fileno=descriptor))
    if link.is_closed:  # before the kernel was told
        return
    try:
        work(link, PosixFiles())
    except BrokerGoneError:
        return


if __name__ == "__main__":
    main(int(sys.argv[1]))
