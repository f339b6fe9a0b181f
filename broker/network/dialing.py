"""Making a connection to another node: its name is looked up, its addresses are tried, TLS is begun where it is spoken.

Owns the socket until it is a transport. Must not know: what goes over it.
"""

from __future__ import annotations

import errno
import os
import socket
from asyncio import AbstractEventLoop
from collections.abc import Sequence
from typing import Final

from odradek.broker.network.security import Established, NodeSecurity, OpeningConnection
from odradek.broker.network.transport import PlainTransport, Transport
from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.runtime.disk_threads import Threads

_CONNECTING: Final = frozenset({0, errno.EINPROGRESS, errno.EWOULDBLOCK})

_Resolved = Sequence[tuple[int, tuple[object, ...]]]
"""Address family and socket address of each way to a node."""


class Dialing:
    """One attempt to connect to a node."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        threads: Threads,
        security: NodeSecurity,
        address: NodeAddress,
        established: Established,
    ) -> None:
        """`established` is called in a later turn of the event loop."""
        self._loop = loop
        self._threads = threads
        self._security = security
        self._address = address
        self._done = established
        self._sock: socket.socket | None = None
        """What is being connected."""
        self._opening: OpeningConnection | None = None
        """What says who the other side is, once it is connected."""
        self._is_given_up = False

    def begin(self) -> None:
        """Look the name up, and go on from there."""
        if self._is_given_up:
            return
        found: list[tuple[int, tuple[object, ...]]] = []

        def look_up() -> None:
            host, port = self._address
            for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                found.append((int(family), address))

        def looked_up(failed: BaseException | None) -> None:
            if self._is_given_up:
                return
            if failed is not None or not found:
                self._done(f"the name of {self._address} cannot be looked up: {failed}")
            else:
                self._try_addresses(found)

        self._threads.submit(look_up, looked_up)

    def close(self) -> None:
        """Give it up; nobody is told."""
        self._is_given_up = True
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.close()
        sock, self._sock = self._sock, None
        if sock is not None:
            self._loop.remove_writer(sock.fileno())
            sock.close()

    def _try_addresses(self, ways: _Resolved, refused: str = "") -> None:
        """Connect to the first of the addresses that can be reached."""
        if not ways:
            self._established(refused)
            return
        (family, address), others = ways[0], ways[1:]
        try:
            sock = socket.socket(family, socket.SOCK_STREAM)
        except OSError as failed:
            self._try_addresses(others, failed.strerror or str(failed))
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        code = sock.connect_ex(address)
        if code not in _CONNECTING:
            sock.close()
            self._try_addresses(others, os.strerror(code))
            return
        self._sock = sock
        self._loop.add_writer(sock.fileno(), self._on_connected, sock, others)

    def _on_connected(self, sock: socket.socket, others: _Resolved) -> None:
        self._loop.remove_writer(sock.fileno())
        self._sock = None
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            sock.close()
            self._try_addresses(others, os.strerror(code))
            return
        begin = self._security.open
        if begin is None:
            self._established(PlainTransport(sock))
        else:
            self._opening = begin(sock, self._address, self._established)

    def _established(self, outcome: Transport | str) -> None:
        self._opening = None
        self._done(f"no connection to {self._address}: {outcome}" if isinstance(outcome, str) else outcome)
