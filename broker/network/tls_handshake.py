"""Handshakes of TLS: what happens on a socket before its first byte counts.

Every step is done on threads: a signature or the check of a chain takes up to a millisecond, a flood of them would hold
the event loop, and OpenSSL lets others run meanwhile. The steps of all connections wait in one row, so that a flood
costs at most those threads. Before the client has sent its first byte nothing is made for it, and what has not come to
an end in time is closed. OpenSSL bounds what is read until then: some hundred kilobytes.
"""

from __future__ import annotations

import ssl
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from socket import MSG_PEEK, socket
from typing import Final, NamedTuple

from odradek.broker.network.security import Established
from odradek.broker.network.tls_transport import TlsSession, TlsTransport
from odradek.broker.runtime.disk_threads import Threads

HANDSHAKE_TIMEOUT_S: Final = 10.0
HANDSHAKE_RECORD: Final = 0x16
"""The first byte of whoever speaks TLS."""
NO_TLS_ALERT: Final = bytes((0x15, 3, 3, 0, 2, 2, 80))
"""What Kafka answers to whom speaks something else: internal_error, fatal."""
RECEIVED_BYTES: Final = 16 * 1024
"""Of a handshake so much is read at a time; OpenSSL refuses what goes beyond all measure."""
_DRAINED_BYTES: Final = 64 * 1024


class RefusedError(Exception):
    """The handshake ended well or not, and the connection is not wanted; the message says why."""


class HandshakeServices(NamedTuple):
    """What handshakes share."""

    loop: AbstractEventLoop
    threads: Threads
    timeout_s: float = HANDSHAKE_TIMEOUT_S


class _Next(Enum):
    READ = "wait for bytes"
    WRITE = "wait until bytes can go"
    DONE = "it is done"


class TlsHandshake:
    """One handshake; tells its end once, unless it is closed before."""

    def __init__(
        self,
        services: HandshakeServices,
        sock: socket,
        begin: Callable[[socket], TlsSession],
        finish: Callable[[ssl.SSLObject], None],
        established: Established,
    ) -> None:
        """`begin` makes OpenSSL's side once there is something to say, `finish` looks at who is there and raises
        RefusedError where he is not wanted; both run on a thread."""
        self._loop, self._threads, self._timeout_s = services
        self._sock = sock
        self._fd = sock.fileno()
        self._begin_session = begin
        self._finish = finish
        self._established = established
        self._session: TlsSession | None = None
        self._unsent = b""
        self._next = _Next.READ
        self._is_working = False
        self._is_closed = False
        self._timer: TimerHandle | None = None

    def accept(self) -> None:
        """Begin as the one who is connected to: with the first byte that comes."""
        self._begin()
        self._wait()

    def connect(self) -> None:
        """Begin as the one who connects, which speaks first."""
        self._begin()
        self._work()

    def close(self) -> None:
        """End it; nobody is told."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._ignore()
        if not self._is_working:
            self._close_socket()

    def _begin(self) -> None:
        self._timer = self._loop.call_later(self._timeout_s, self._on_timeout)

    def _on_timeout(self) -> None:
        self._end(f"no TLS handshake within {self._timeout_s:g} s")

    def _wait(self) -> None:
        if self._next is _Next.READ:
            self._loop.add_reader(self._fd, self._work)
        else:
            self._loop.add_writer(self._fd, self._work)

    def _ignore(self) -> None:
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)

    def _work(self) -> None:
        self._ignore()
        self._is_working = True
        self._threads.submit(self._step, self._stepped)

    def _stepped(self, failed: BaseException | None) -> None:
        self._is_working = False
        if self._is_closed:
            self._close_socket()
        elif failed is not None:
            self._end(explain(failed))
        elif self._next is not _Next.DONE:
            self._wait()
        else:
            assert self._session is not None
            self._is_closed = True
            if self._timer is not None:
                self._timer.cancel()
            self._established(TlsTransport(self._sock, self._session, self._loop))

    def _end(self, reason: str) -> None:
        self.close()
        self._established(reason)

    # on a thread

    def _step(self) -> None:
        if self._is_closed:
            return  # it waited in the row for too long: those behind it need not wait for it, too
        if self._session is None:
            self._session = self._begin_session(self._sock)
        session = self._session
        if self._next is _Next.READ:
            self._receive(session)
        self._next = _Next.DONE
        try:
            session.tls.do_handshake()
        except ssl.SSLWantReadError:
            self._next = _Next.READ
        except ssl.SSLError:
            with suppress(OSError):
                self._sock.send(session.outgoing.read())  # the alert that says why
            raise
        if not self._send(session):
            self._next = _Next.WRITE
        elif self._next is _Next.DONE:
            self._finish(session.tls)

    def _receive(self, session: TlsSession) -> None:
        with suppress(BlockingIOError):  # who connects speaks first
            data = self._sock.recv(RECEIVED_BYTES)
            if not data:
                raise RefusedError("the other side closed in the middle of the TLS handshake")
            session.incoming.write(data)

    def _send(self, session: TlsSession) -> bool:
        """Send what the handshake has to say; returns whether all of it has gone."""
        self._unsent += session.outgoing.read()
        with suppress(BlockingIOError):
            self._unsent = self._unsent[self._sock.send(self._unsent) :] if self._unsent else b""
        return not self._unsent

    def _close_socket(self) -> None:
        with suppress(OSError):
            self._sock.setblocking(False)
            socket.recv(self._sock, _DRAINED_BYTES)  # what is left unread would take our last words with it
        with suppress(OSError):
            self._sock.close()


def check_speaks_tls(sock: socket) -> None:
    """Raise RefusedError where the first byte is no TLS; OSError where there is none."""
    begin = sock.recv(1, MSG_PEEK)
    if not begin:
        raise RefusedError("the client closed before it said anything")
    if begin[0] != HANDSHAKE_RECORD:
        with suppress(OSError):
            sock.send(NO_TLS_ALERT)
        raise RefusedError("the client speaks no TLS; has it security.protocol=SSL, or SASL_SSL?")


_IN_WORDS: Final = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client showed no certificate (ssl.client.auth=required)",
    "UNSUPPORTED_PROTOCOL": "no version of TLS that both speak (ssl.enabled.protocols)",
    "NO_SHARED_CIPHER": "no cipher suite that both have (ssl.cipher.suites)",
    "WRONG_VERSION_NUMBER": "what came is no TLS",
    "HTTP_REQUEST": "what came is HTTP, not TLS",
}


def explain(failed: BaseException) -> str:
    """Return in words why a handshake failed."""
    if isinstance(failed, ssl.SSLCertVerificationError):
        return f"the certificate of the other side is not trusted: {failed.verify_message}"
    if isinstance(failed, ssl.SSLEOFError | ConnectionResetError | BrokenPipeError):
        return "the other side closed in the middle of the TLS handshake"
    if isinstance(failed, ssl.SSLError):
        reason = failed.reason or str(failed)
        if "ALERT" in reason:
            alert = reason.partition("ALERT_")[2] or reason
            return f"the other side refused the TLS handshake: {alert.lower().replace('_', ' ')}"
        return _IN_WORDS.get(reason, f"the TLS handshake failed: {reason.lower().replace('_', ' ')}")
    if isinstance(failed, OSError):
        return f"the TLS handshake failed: {failed.strerror or failed}"
    if isinstance(failed, RefusedError):
        return str(failed)
    return f"the TLS handshake failed: {failed!r}"
