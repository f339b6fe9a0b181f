"""Bytes over TLS: a transport on OpenSSL's own socket, which reads and writes records without a copy in between.

Of OpenSSL's two ways this one was chosen by measuring: reading from and writing to the socket itself takes as much
processor time as buffers in memory (`ssl.MemoryBIO`), and what is sent is what was accepted, as with a plain socket.

What is to be known of it: OpenSSL hands out at most one record (16 KiB) at a time, so reading goes on until the buffer
is full; what remains of a record then waits where no selector sees it, so that whoever waits for readiness is called
again. Nothing is read ahead: a record is read from the socket when it is asked for.
"""

from __future__ import annotations

import os
import ssl
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from odradek.broker.runtime.responses import FileRegion

REGION_BYTES: Final = 256 * 1024
"""Of a region this much is read and encrypted at a time: some tenths of a millisecond, then others get their turn."""
JOINED_BYTES: Final = 64 * 1024
"""Pieces are put together up to this size: each call makes a record of its own, which has to be encrypted and sent."""
RETRY_S: Final = 0.05
"""When reading needs to write first (a new key is asked for) and the socket is full: how long until the next try."""

_region_buffer = memoryview(bytearray(REGION_BYTES))
"""What is encrypted lies here for one call, on the event loop; all connections share it."""


class TlsTransport:
    """A `Transport` over TLS, once the handshake is done."""

    __slots__ = ("_callback", "_loop", "_sock", "fd")

    def __init__(self, sock: ssl.SSLSocket, loop: AbstractEventLoop) -> None:
        self._sock = sock
        self._loop = loop
        self._callback: Callable[[], object] | None = None
        self.fd = sock.fileno()

    def watch_reading(self, loop: AbstractEventLoop, callback: Callable[[], object]) -> None:
        """Call when there may be something to read: on the socket, or decrypted already."""
        self._callback = callback
        loop.add_reader(self.fd, callback)
        if self._sock.pending():
            loop.call_soon(self._again, callback)

    def unwatch_reading(self, loop: AbstractEventLoop) -> None:
        """Call no more."""
        self._callback = None
        loop.remove_reader(self.fd)

    def recv_into(self, buffer: memoryview) -> int:
        """Read into the buffer, record by record, until it is full or nothing is there; 0 at the end of the stream."""
        sock, room, received = self._sock, len(buffer), 0
        try:
            while received < room:
                count = sock.recv_into(buffer[received:] if received else buffer)
                if not count:
                    self._call_again()  # the end is seen by the next call; the socket may not tell of it
                    break
                received += count
        except ssl.SSLWantReadError:
            if not received:
                raise BlockingIOError from None
        except ssl.SSLWantWriteError:
            if not received:
                self._retry_later()
                raise BlockingIOError from None
        except OSError:
            if not received:
                raise
        if received == room and sock.pending():
            self._call_again()
        return received

    def send(self, data: bytes | memoryview) -> int:
        """Send the beginning of the bytes, as far as the socket takes them."""
        sock, size, sent = self._sock, len(data), 0
        try:
            sent = sock.send(data)
            if sent < size:
                view = memoryview(data)
                while sent < size:
                    sent += sock.send(view[sent:])
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
            if not sent:
                raise BlockingIOError from None
        return sent

    def send_pieces(self, pieces: Sequence[bytes | memoryview], region_follows: bool) -> int:
        """Send the beginning of several pieces as one."""
        del region_follows  # what is encrypted goes as a record of its own
        size = 0
        for count, piece in enumerate(pieces, 1):  # noqa: B007 - how many fit is needed behind the loop
            size += len(piece)
            if size >= JOINED_BYTES:
                break
        return self.send(pieces[0] if count == 1 else b"".join(pieces[:count]))

    def send_region(self, region: FileRegion, max_bytes: int) -> int:
        """Read the beginning of a region and send it encrypted; returns how much went, 0 where its file ends.

        What was not taken is read again by the next call: records of a log do not change, and OpenSSL wants to be given
        the same bytes again.
        """
        wanted = min(region.length, max_bytes, REGION_BYTES)
        count = os.preadv(region.file.fd, [_region_buffer[:wanted]], region.position)
        return self.send(_region_buffer[:count]) if count else 0

    def close(self) -> None:
        """Tell the other side that this is the end, as far as the socket takes it, and close."""
        self._callback = None
        with suppress(OSError, ValueError):
            self._sock.unwrap()
        self._sock.close()

    def _call_again(self) -> None:
        if self._callback is not None:
            self._loop.call_soon(self._again, self._callback)

    def _retry_later(self) -> None:
        callback = self._callback
        if callback is not None:
            self._loop.remove_reader(self.fd)
            self._loop.call_later(RETRY_S, self._watch_again, callback)

    def _watch_again(self, callback: Callable[[], object]) -> None:
        if self._callback is callback:
            self.watch_reading(self._loop, callback)

    def _again(self, callback: Callable[[], object]) -> None:
        if self._callback is callback:
            callback()
