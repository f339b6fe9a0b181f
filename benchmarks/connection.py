"""One blocking connection to a broker: send a ready-made request, wait for its answer. Raw sockets, nothing else.

It is not the project's own client (`odradek.client`): that one encodes and decodes messages with the broker's codec,
which would be client CPU in every figure, and a change of the codec would change both sides of a comparison.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from types import TracebackType

from benchmarks import wire

_ANSWER_DEADLINE_SECONDS = 60


class Connection:
    """A blocking TCP connection that exchanges size-prefixed frames; a context manager.

    Every receive gives up after a minute with OSError, so that a broker that hangs ends the run.
    """

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = open_socket(address)
        self._buffer = bytearray(1 << 16)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def ask(self, request: bytes | bytearray) -> memoryview:
        """Send the frame and return its answer without the size; valid until the next call."""
        self.socket.sendall(request)
        return self.receive()

    def receive(self) -> memoryview:
        """The next answer without the size; valid until the next call. Raises WireError when the broker hung up."""
        self._fill(0, 4)
        (size,) = wire.SIZE.unpack_from(self._buffer)
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        self._fill(0, size)
        return memoryview(self._buffer)[:size]

    def _fill(self, start: int, end: int) -> None:
        with memoryview(self._buffer) as view:
            while start < end:
                got = self.socket.recv_into(view[start:end], 0, socket.MSG_WAITALL)
                if not got:
                    raise wire.WireError("the broker closed the connection")
                start += got


def open_socket(address: tuple[str, int]) -> socket.socket:
    """A connected blocking socket without Nagle's delay; the kernel, not Python, bounds its waits.

    Python's own timeouts would put a poll before every call, which is client CPU that the figures would pay for.
    """
    sock = socket.create_connection(address)
    sock.settimeout(None)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    limit = struct.pack("ll", _ANSWER_DEADLINE_SECONDS, 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    return sock


def produce_when_ready(connection: Connection, topic: str, request: bytes | bytearray, deadline: float) -> int:
    """Send the Produce request until it is acknowledged: a topic just made may not have its leader yet.

    Returns the size of the answer. `deadline` is a time of the monotonic clock; raises WireError on any other error, or
    when it has passed.
    """

    def attempt() -> int:
        answer = connection.ask(request)
        wire.acknowledged(answer, topic)
        return len(answer)

    return _until_ready(attempt, deadline)


def await_leaders(connection: Connection, topic: str, partitions: int, deadline: float) -> int:
    """Return as soon as every partition has a leader that answers: how many records the topic holds.

    Raises WireError when `deadline`, a time of the monotonic clock, passes before.
    """
    return _until_ready(lambda: record_count(connection, topic, partitions), deadline)


def record_count(connection: Connection, topic: str, partitions: int = 1) -> int:
    """How many records the topic has taken: the sum of its partitions' end offsets."""
    answer = connection.ask(wire.list_offsets(topic, range(partitions), wire.LATEST))
    return sum(wire.listed_offsets(answer, topic))


def _until_ready(attempt: Callable[[], int], deadline: float) -> int:
    while True:
        try:
            return attempt()
        except wire.WireError as error:
            if not error.retriable or time.monotonic() > deadline:
                raise
        time.sleep(0.001)
