"""The answers of one connection on their way: sent as far as the socket takes them and the page cache holds them.

What the socket does not take waits in the queue (`sending`), counts as memory until the client has read it, and goes on
when the event loop says so. The next stretch of a file that is not in the page cache is read on a thread first
(`cold_reads`), and nothing is sent meanwhile. Must not know: frames that come in, requests, sockets.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from concurrent.futures import Executor
from typing import Protocol

from odradek.broker.network.cold_reads import is_cold, read_through
from odradek.broker.network.sending import FileEndedError, SendQueue
from odradek.broker.network.transport import Transport
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import FileRegion


class AnsweredConnection(Protocol):
    """A connection as the sender of its answers knows it."""

    def close(self, reason: str | None = None) -> None:
        """End the connection, and its sender with it; the reason is logged."""

    def advance(self, has_read: bool = False) -> None:
        """More may be sent now, by `AnswerSender.flush`; `has_read` says that the client took something since."""


class AnswerSender:
    """Sends the answers of one connection, in order."""

    __slots__ = (
        "_connection",
        "_fd",
        "_is_writing",
        "_loop",
        "_memory",
        "_threads",
        "_transport",
        "_unsent",
        "is_warming",
        "queue",
    )

    def __init__(
        self,
        loop: AbstractEventLoop,
        transport: Transport,
        memory: RequestMemory,
        threads: Executor,
        connection: AnsweredConnection,
    ) -> None:
        """`memory` counts what is not read; `threads` wait for the disk. The connection is let go by `close`."""
        self._loop = loop
        self._transport = transport
        self._fd = transport.fd
        self._memory = memory
        self._threads = threads
        self._connection: AnsweredConnection | None = connection
        self.queue = SendQueue(transport)
        """What is not sent: added to by the connection, which calls `flush` then."""
        self._unsent = self.queue.pieces
        self._is_writing = False
        self.is_warming = False
        """Whether a thread reads what is to be sent next: then the client waits for the disk."""

    def send(self, data: bytes) -> None:
        """Send bytes that make whole answers, and queue what the socket does not take; `flush` sees to that."""
        if not self._unsent:
            try:
                sent = self._transport.send(data)
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError as broken:
                self._end(f"sending failed: {broken}")
                return
            if sent == len(data):
                return
            self.queue.add_bytes(memoryview(data)[sent:])
        else:
            self.queue.add_bytes(data)

    def flush(self) -> None:
        """Send what is queued; where that cannot go on now, the connection is called when it can."""
        queue = self.queue
        if not self._unsent or self._is_writing or self.is_warming:
            return
        try:
            while self._unsent:
                region = queue.next_region
                if region is not None and is_cold(region):
                    self._warm(region)
                    return
                if not queue.write_some():
                    break
        except (BlockingIOError, InterruptedError):
            pass
        except (OSError, FileEndedError) as broken:
            self._end(f"sending failed: {broken}")
            return
        if self._unsent:
            self._start_writing()

    def close(self) -> None:
        """Send nothing more: files are released, and memory is given back. To be called before the transport ends."""
        self._stop_writing()
        self._connection = None
        self.queue.clear()

    def _end(self, reason: str) -> None:
        if self._connection is not None:
            self._connection.close(reason)

    def _warm(self, region: FileRegion) -> None:
        """Let a thread bring the next part of the region into the page cache, then go on sending."""
        self.is_warming = True
        self._loop.run_in_executor(self._threads, read_through, region).add_done_callback(self._on_warm)

    def _on_warm(self, _: object) -> None:
        self.is_warming = False
        if self._connection is None:
            return
        try:
            # without asking again: under memory pressure the pages may be gone already, and it must go on
            self.queue.write_some()
        except (BlockingIOError, InterruptedError):
            pass
        except (OSError, FileEndedError) as broken:
            self._end(f"sending failed: {broken}")
            return
        self._connection.advance()

    def _on_writable(self) -> None:
        self._stop_writing()
        if self._connection is not None:
            self._connection.advance(True)

    def _start_writing(self) -> None:
        if not self._is_writing and self._connection is not None:
            self._is_writing = True
            self._loop.add_writer(self._fd, self._on_writable)
            self._memory.keep_unread(self._connection, self.queue.held_bytes)

    def _stop_writing(self) -> None:
        if self._is_writing and self._connection is not None:
            self._is_writing = False
            self._loop.remove_writer(self._fd)
            self._memory.forget_unread(self._connection)
