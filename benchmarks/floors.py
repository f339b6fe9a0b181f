"""The floors: for each load, the smallest program that moves the same bytes. What a broker costs above is its own.

    python -m benchmarks.floors receive FILE     take bytes from a socket, append them to a file
    python -m benchmarks.floors send FILE        send the file to whoever connects, with sendfile
    python -m benchmarks.floors answer FILE      append each request to a file, answer it with a few bytes
    python -m benchmarks.floors forward FILE     append each request to a file, hand it on to a second connection
    python -m benchmarks.floors reply FILE       answer each request with the bytes of the file

Each prints the port it listens on and runs until killed. They know nothing of Kafka but that a frame begins with its
size and its correlation id. `FloorServer` starts one and reads its CPU, as `Broker` does for a broker.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from benchmarks import machine
from benchmarks.target import Endpoint

# Measured: the larger a write, the less ext4 takes for each byte of it, up to about this size.
_CHUNK = 1 << 20
_REQUEST_CHUNK = 1 << 16
_ANSWER_SIZE = 60
"""What a Produce answer of one partition has."""


# A bare interpreter that listens and answers once: what exec to first answer, and being resident, cost at least.
BARE_SERVER = """
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    client, _ = listener.accept()
    client.recv(4096)
    client.sendall(bytes((0, 0, 0, 6, 0, 0, 0, 1, 0, 0)))
    client.close()
"""


class FloorServer:
    """A running floor program; a context manager that ends it."""

    def __init__(self, kind: str, file: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.floors", kind, str(file)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None  # asked for above
        port = self._process.stdout.readline()
        if not port:
            raise RuntimeError(f"the floor program {kind} did not start")
        self.endpoint = Endpoint(("127.0.0.1", int(port)), self._process.pid)

    def __enter__(self) -> FloorServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None  # as above
        self._process.stdout.close()

    def cpu_seconds(self) -> float:
        """User and system CPU seconds used so far."""
        return machine.cpu_seconds(self.endpoint.pid)


def receive(listener: socket.socket, file: int) -> None:
    """Append what each connection sends; when it has sent all, tell it so with one byte."""
    buffer = memoryview(bytearray(_CHUNK))
    while True:
        client, _ = listener.accept()
        with client:
            while size := client.recv_into(buffer):
                os.write(file, buffer[:size])
            client.sendall(b"!")


def send(listener: socket.socket, file: int) -> None:
    """Send the whole file to each connection."""
    while True:
        client, _ = listener.accept()
        with client:
            position = 0
            while sent := os.sendfile(client.fileno(), file, position, _CHUNK):
                position += sent


def answer(listener: socket.socket, file: int) -> None:
    """Append whole requests, one write for what came in at once, and answer each one of them."""
    connections, poll = _served(listener)
    blank = bytes(_ANSWER_SIZE - 8)
    size = (_ANSWER_SIZE - 4).to_bytes(4)
    while True:
        for descriptor, _event in poll.poll():
            if descriptor == listener.fileno():
                _accept(listener, connections, poll)
                continue
            data = _receive(descriptor, connections, poll)
            if not data:
                continue
            os.write(file, data)
            out: list[bytes] = []
            position = 0
            while position < len(data):
                out += (size, data[position + 8 : position + 12], blank)
                position += 4 + int.from_bytes(data[position : position + 4])
            os.write(descriptor, b"".join(out))


def forward(listener: socket.socket, file: int) -> None:
    """Append whole requests and hand them on: the first connection receives what all later ones send."""
    connections, poll = _served(listener)
    subscriber = -1
    while True:
        for descriptor, _event in poll.poll():
            if descriptor == listener.fileno():
                accepted = _accept(listener, connections, poll)
                subscriber = accepted if subscriber < 0 else subscriber
                continue
            data = _receive(descriptor, connections, poll)
            if data:
                os.write(file, data)
                os.write(subscriber, data)


def reply(listener: socket.socket, file: int) -> None:
    """Answer each request, one connection after another, with what the file holds."""
    content = os.pread(file, _CHUNK, 0)
    while True:
        client, _ = listener.accept()
        with client:
            while client.recv(_REQUEST_CHUNK):
                client.sendall(content)


def _served(listener: socket.socket) -> tuple[dict[int, socket.socket], select.epoll]:
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    return {}, poll


def _accept(listener: socket.socket, connections: dict[int, socket.socket], poll: select.epoll) -> int:
    client, _ = listener.accept()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connections[client.fileno()] = client
    poll.register(client, select.EPOLLIN)
    return client.fileno()


def _receive(descriptor: int, connections: dict[int, socket.socket], poll: select.epoll) -> bytes:
    """What has arrived, up to the end of a request; empty when the connection ended, which closes it."""
    data = os.read(descriptor, _REQUEST_CHUNK)
    end = 0
    while end < len(data):
        data = _at_least(descriptor, data, end + 4)
        end += 4 + int.from_bytes(data[end : end + 4])
    data = _at_least(descriptor, data, end)
    if not data:
        poll.unregister(descriptor)
        connections.pop(descriptor).close()
    return data


def _at_least(descriptor: int, data: bytes, size: int) -> bytes:
    while data and len(data) < size:
        more = os.read(descriptor, size - len(data))
        data = data + more if more else b""
    return data


_PROGRAMS = {"receive": receive, "send": send, "answer": answer, "forward": forward, "reply": reply}


def main() -> None:
    """Listen on a free port, print it, and run the named program on the named file, which is made new if it writes."""
    kind, path = sys.argv[1:]
    flags = os.O_RDONLY if kind in ("send", "reply") else os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    file = os.open(path, flags, 0o644)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        print(listener.getsockname()[1], flush=True)
        _PROGRAMS[kind](listener, file)


if __name__ == "__main__":
    main()
