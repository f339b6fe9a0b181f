"""How bytes get to a client and come from it: what stands between a connection and its socket.

A connection, what it receives and what it sends know a `Transport` only, so that another one (TLS) is another class
here. Must not know: frames, requests.
"""

from __future__ import annotations

import os
import socket as sockets
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from contextlib import suppress
from socket import socket
from typing import Protocol

from odradek.broker.runtime.responses import FileRegion

_MSG_MORE = getattr(sockets, "MSG_MORE", 0)


class Transport(Protocol):
    """Bytes to and from one client, without waiting: what cannot go on now raises BlockingIOError, what is broken
    another OSError."""

    @property
    def fd(self) -> int:
        """The descriptor that the event loop watches."""

    @property
    def recv_into(self) -> Callable[[memoryview], int]:
        """Read into the buffer; returns how many bytes came, 0 at the end of the stream."""

    @property
    def send(self) -> Callable[[bytes | memoryview], int]:
        """Send the beginning of the bytes; returns how many went."""

    def send_pieces(self, pieces: Sequence[bytes | memoryview], region_follows: bool) -> int:
        """Send the beginning of several pieces; returns how many bytes went. A region of a file may be to follow."""

    def send_region(self, region: FileRegion, max_bytes: int) -> int:
        """Send the beginning of a region, at most `max_bytes`; returns how many bytes went, 0 where its file ends."""

    def await_bytes(self, count: int) -> None:
        """Call whoever watches reading only once about so many bytes are there, or no more will come: a wish, from now
        on."""

    def watch_reading(self, loop: AbstractEventLoop, callback: Callable[[], object]) -> None:
        """Have the callback called, again and again, while there may be something to read."""

    def unwatch_reading(self, loop: AbstractEventLoop) -> None:
        """Have it called no more."""

    def close(self) -> None:
        """End the connection."""


class PlainTransport:
    """Bytes as they are. Receiving and sending are the socket's own methods, without a call in between."""

    __slots__ = ("_awaited", "_sock", "fd", "recv_into", "send")

    def __init__(self, sock: socket) -> None:
        self._sock = sock
        self._awaited = 1
        self.fd = sock.fileno()
        self.recv_into: Callable[[memoryview], int] = sock.recv_into
        self.send: Callable[[bytes | memoryview], int] = sock.send

    def send_pieces(self, pieces: Sequence[bytes | memoryview], region_follows: bool) -> int:
        """Send several pieces with one `sendmsg`, MSG_MORE where a region follows; returns the bytes that went."""
        # MSG_MORE: the head of a fetch response travels in one packet with the first record bytes
        return self._sock.sendmsg(pieces, (), _MSG_MORE if region_follows else 0)

    def send_region(self, region: FileRegion, max_bytes: int) -> int:
        """Send with `os.sendfile`, from the page cache to the socket; returns the bytes that went."""
        return os.sendfile(self.fd, region.file.fd, region.position, min(region.length, max_bytes))

    def await_bytes(self, count: int) -> None:
        """Have the kernel call for reading only then (SO_RCVLOWAT); it never waits for more than its buffer holds."""
        if count != self._awaited:
            self._awaited = count
            with suppress(OSError):  # then there are more calls, that is all
                self._sock.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVLOWAT, count)

    def watch_reading(self, loop: AbstractEventLoop, callback: Callable[[], object]) -> None:
        """Have the loop watch the socket."""
        loop.add_reader(self.fd, callback)

    def unwatch_reading(self, loop: AbstractEventLoop) -> None:
        """Have it watched no more."""
        loop.remove_reader(self.fd)

    def close(self) -> None:
        """Close the socket."""
        self._sock.close()
