"""Bytes over TLS: a transport on a socket and OpenSSL's buffers in memory.

Of OpenSSL's two ways this one was chosen by measuring. Reading records from the socket itself takes two system calls
for each, and librdkafka makes two records of every message: that cost a multiple of one read for many of them.

What is to be known of it. OpenSSL hands out at most one record (16 KiB) at a time, so reading goes on until the buffer
is full; what is left then waits where no selector sees it, so that whoever waits for readiness is called again. What
was encrypted has to be sent, whatever comes: while the socket does not take all of it, the last byte that was accepted
is not told to be, so that the caller keeps something to send and comes back.
"""

from __future__ import annotations

import os
import ssl
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from contextlib import suppress
from socket import socket
from typing import Final

from odradek.broker.runtime.responses import FileRegion

BUFFER_BYTES: Final = 64 * 1024
"""One read from a socket takes, and one write gives it, at most this much: OpenSSL's buffers never shrink, and every
connection has two of them."""
RECORD_BYTES: Final = 17 * 1024
"""A whole record, with what belongs to it: what is read at least, so that what is left undecrypted is little."""
READS: Final = 64
"""From a socket within one call; who sends records without content is not read from for ever."""
SEND_BYTES: Final = 256 * 1024
"""So much is encrypted in one call: some tenths of a millisecond, then others get their turn."""
JOINED_BYTES: Final = 64 * 1024
"""Pieces are put together up to this size: each call makes a record of its own."""
MAX_UNREAD_BYTES: Final = 64 * 1024
"""Of what TLS itself has to say (new keys) so much may wait for a client that does not read."""

_read_buffer = memoryview(bytearray(BUFFER_BYTES))
_region_buffer = memoryview(bytearray(SEND_BYTES))
"""Both are used within one call, on the event loop; all connections share them."""


class TlsSession:
    """OpenSSL's side of one connection, with its buffers."""

    __slots__ = ("incoming", "outgoing", "tls")

    def __init__(self, context: ssl.SSLContext, server_hostname: str | None = None) -> None:
        """As the one who connects to `server_hostname`, or without it as the one who is connected to."""
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        is_server = server_hostname is None
        self.tls = context.wrap_bio(self.incoming, self.outgoing, is_server, server_hostname)


class TlsTransport:
    """A `Transport` over TLS, once the handshake is done."""

    __slots__ = ("_callback", "_incoming", "_loop", "_outgoing", "_owed", "_sock", "_tls", "_unsent", "fd")

    def __init__(self, sock: socket, session: TlsSession, loop: AbstractEventLoop) -> None:
        self._sock = sock
        self._tls = session.tls
        self._incoming, self._outgoing = session.incoming, session.outgoing
        self._loop = loop
        self._callback: Callable[[], object] | None = None
        self._unsent = memoryview(b"")
        """Encrypted, and not taken by the socket yet."""
        self._owed = 0
        """1 while a byte is in there that the caller was not told of."""
        self.fd = sock.fileno()

    def await_bytes(self, count: int) -> None:
        """What is there is decrypted as it comes, in pieces that stay in the cache of the processor."""

    def watch_reading(self, loop: AbstractEventLoop, callback: Callable[[], object]) -> None:
        """Call when there may be something to read: on the socket, or here already."""
        self._callback = callback
        loop.add_reader(self.fd, callback)
        if self._incoming.pending or self._tls.pending():
            loop.call_soon(self._again, callback)

    def unwatch_reading(self, loop: AbstractEventLoop) -> None:
        """Call no more."""
        self._callback = None
        loop.remove_reader(self.fd)

    def recv_into(self, buffer: memoryview) -> int:
        """Read into the buffer until it is full or nothing is there; 0 at the end of the stream."""
        room, is_over = len(buffer), False
        received = self._decrypt(buffer, 0)
        for _ in range(READS):
            if received == room:
                break
            wanted = min(max(room - received, RECORD_BYTES), BUFFER_BYTES)
            try:
                count = self._sock.recv_into(_read_buffer[:wanted])
            except BlockingIOError:
                break
            if not count:
                is_over = True
                break
            self._incoming.write(_read_buffer[:count])
            received = self._decrypt(buffer, received)
            if count < wanted:
                break
        if self._outgoing.pending:
            self._answer()
        if not received:
            if is_over or self._is_over():
                return 0
            raise BlockingIOError
        if received == room or is_over:
            self._call_again()  # there may be more here, or the end, of which the socket does not tell
        return received

    def _decrypt(self, buffer: memoryview, received: int) -> int:
        read, room = self._tls.read, len(buffer)
        try:
            while received < room:
                count = int(read(room - received, buffer[received:] if received else buffer))
                if not count:
                    break
                received += count
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            pass  # the end
        except ssl.SSLError:
            if not received:
                raise
        return received

    def _is_over(self) -> bool:
        """Whether the other side has said that this is the end."""
        try:
            return self._tls.read(1) == b""
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLZeroReturnError:
            return True

    def _answer(self) -> None:
        """Send what TLS itself has to say; raises OSError where the other side asks for it and does not read it."""
        self._unsent = memoryview(bytes(self._unsent) + self._outgoing.read())
        with suppress(BlockingIOError):
            self._unsent = self._unsent[self._sock.send(self._unsent) :]
        if len(self._unsent) > MAX_UNREAD_BYTES + SEND_BYTES * 2:
            raise OSError("new keys are asked for again and again, and not read")

    def send(self, data: bytes | memoryview) -> int:
        """Encrypt the beginning of the bytes and send it; returns how many went, but for the last while it waits."""
        if self._unsent:
            self._unsent = self._unsent[self._sock.send(self._unsent) :]
            if self._unsent:
                raise BlockingIOError
        encrypted, self._owed = self._owed, 0
        end, view = min(len(data), encrypted + SEND_BYTES), memoryview(data)
        while encrypted < end:
            encrypted = self._encrypt(view, encrypted, min(encrypted + BUFFER_BYTES, end))
            out = self._outgoing.read()
            try:
                sent = self._sock.send(out)
            except BlockingIOError:
                sent = 0
            if sent < len(out):
                self._unsent = memoryview(out)[sent:]
                self._owed = 1
                if encrypted == 1:
                    raise BlockingIOError
                return encrypted - 1
        return encrypted

    def _encrypt(self, view: memoryview, begin: int, end: int) -> int:
        write = self._tls.write
        while begin < end:
            begin += write(view[begin:end])
        return begin

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
        """Read the beginning of a region and send it encrypted; returns how much went, 0 where its file ends."""
        wanted = min(region.length, max_bytes, SEND_BYTES)
        count = os.preadv(region.file.fd, [_region_buffer[:wanted]], region.position)
        return self.send(_region_buffer[:count]) if count else 0

    def close(self) -> None:
        """Tell the other side that this is the end, as far as the socket takes it, and close."""
        self._callback = None
        with suppress(OSError, ValueError):
            self._tls.unwrap()
        with suppress(OSError):
            if not self._unsent:
                self._sock.send(self._outgoing.read())
        self._sock.close()

    def _call_again(self) -> None:
        if self._callback is not None:
            self._loop.call_soon(self._again, self._callback)

    def _again(self, callback: Callable[[], object]) -> None:
        if self._callback is callback:
            callback()
