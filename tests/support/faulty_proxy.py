"""A way to a server that can be cut, in either direction: bytes wait then, as on a network that loses all packets."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

_CHUNK = 1 << 16
_MOST_HELD = 1 << 20
"""Bytes that wait for a side before no more are read from the other."""


class _Pipe:
    """One direction of a connection."""

    def __init__(self, source: socket.socket, target: socket.socket, is_inward: bool) -> None:
        self.source = source
        self.target = target
        self.is_inward = is_inward
        self.held = bytearray()


class FaultyProxy:
    """Listens on a port of 127.0.0.1 and carries every connection to another one, unless it is cut.

    A thread of its own carries the bytes. `cut` and `heal` may be called by any thread.
    """

    def __init__(self, port: int, target_port: int) -> None:
        self.port = port
        self._target_port = target_port
        self._selector = selectors.DefaultSelector()
        self._pipes: dict[socket.socket, tuple[_Pipe, _Pipe]] = {}
        """By each of the two sockets of a connection: the pipe out of it, and the one into it."""
        self._cut_inward = self._cut_outward = False
        self._calls: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_in.setblocking(False)
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self._listener.setblocking(False)
        self._selector.register(self._wake_in, selectors.EVENT_READ)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name=f"proxy-{port}", daemon=True)
        self._thread.start()

    def cut(self, inward: bool = True, outward: bool = True) -> None:
        """Carry nothing to the server (inward), or nothing from it (outward), from now on."""
        self._call(lambda: self._set(inward, outward))

    def heal(self) -> None:
        """Carry everything again, also what has been held."""
        self._call(lambda: self._set(False, False))

    def close(self) -> None:
        """End it, with all connections."""
        self._is_closed = True
        self._call(lambda: None)
        self._thread.join(60)

    def _call(self, work: Callable[[], None]) -> None:
        with self._lock:
            self._calls.append(work)
        self._wake_out.send(b"x")

    def _set(self, inward: bool, outward: bool) -> None:
        self._cut_inward, self._cut_outward = inward, outward
        for sock in list(self._pipes):
            self._watch(sock)

    def _is_cut(self, pipe: _Pipe) -> bool:
        return self._cut_inward if pipe.is_inward else self._cut_outward

    def _run(self) -> None:
        while not self._is_closed:
            for key, events in self._selector.select():
                if key.fileobj is self._wake_in:
                    self._wake_in.recv(_CHUNK)
                    with self._lock:
                        calls, self._calls = self._calls, []
                    for call in calls:
                        call()
                elif key.fileobj is self._listener:
                    self._accept()
                else:
                    assert isinstance(key.fileobj, socket.socket)
                    self._carry(key.fileobj, events)
        for sock in [*self._pipes, self._listener, self._wake_in, self._wake_out]:
            sock.close()
        self._selector.close()

    def _accept(self) -> None:
        with suppress(OSError):
            client, _ = self._listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self._target_port), 5)
            except OSError:
                client.close()  # nobody listens there
                return
            inward, outward = _Pipe(client, server, True), _Pipe(server, client, False)
            self._pipes[client] = inward, outward
            self._pipes[server] = outward, inward
            for sock in (client, server):
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._selector.register(sock, selectors.EVENT_READ)
                self._watch(sock)

    def _watch(self, sock: socket.socket) -> None:
        """Wait for what can be done with a socket: reading while there is room, writing what is held."""
        if sock not in self._pipes:
            return
        out_of, into = self._pipes[sock]
        events = selectors.EVENT_READ if len(out_of.held) < _MOST_HELD else 0
        if into.held and not self._is_cut(into):
            events |= selectors.EVENT_WRITE
        known = self._selector.get_map().get(sock)
        if known is None:
            if events:
                self._selector.register(sock, events)
        elif events:
            self._selector.modify(sock, events)
        else:
            self._selector.unregister(sock)

    def _carry(self, sock: socket.socket, events: int) -> None:
        if sock not in self._pipes:
            return
        out_of, into = self._pipes[sock]
        try:
            if events & selectors.EVENT_READ:
                data = sock.recv(_CHUNK)
                if not data:
                    self._end(sock)
                    return
                out_of.held += data
                self._send(out_of)
            if events & selectors.EVENT_WRITE:
                self._send(into)
        except BlockingIOError:
            pass
        except OSError:
            self._end(sock)
            return
        self._watch(out_of.source)
        self._watch(out_of.target)

    def _send(self, pipe: _Pipe) -> None:
        if pipe.held and not self._is_cut(pipe):
            with suppress(BlockingIOError):
                del pipe.held[: pipe.target.send(pipe.held)]

    def _end(self, sock: socket.socket) -> None:
        """One side has ended: so does the other, which learns it even where it is cut off, unlike on a real network."""
        for each in self._pipes[sock][0].source, self._pipes[sock][0].target:
            self._pipes.pop(each, None)
            with suppress(KeyError, ValueError):
                self._selector.unregister(each)
            each.close()
