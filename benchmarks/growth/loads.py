"""A load for growth that no other benchmark has: many groups that commit an offset."""

from __future__ import annotations

import struct
import time

from benchmarks import wire
from benchmarks.clients.figures import Meter
from benchmarks.connection import Connection
from benchmarks.target import Endpoint

_FIND_COORDINATOR, _OFFSET_COMMIT = 10, 8
_IN_FLIGHT = 100
_READY_SECONDS = 60


def commit_offsets(endpoint: Endpoint, topic: str, first: int, groups: int) -> float:
    """Commit one offset for each of so many new groups; returns the broker's µs of CPU for each."""
    with Connection(endpoint.address) as connection:
        _await_coordinator(connection)
        requests = [_commit(f"growth-{number}", topic) for number in range(first, first + groups)]
        with Meter(endpoint.pid) as meter:
            for begin in range(0, groups, _IN_FLIGHT):
                some = requests[begin : begin + _IN_FLIGHT]
                connection.socket.sendall(b"".join(some))
                for _ in some:
                    answer = connection.receive()
                    (error,) = struct.unpack_from(">h", answer, len(answer) - 2)
                    if error:
                        raise wire.WireError("committing an offset", error)
    return meter.broker_cpu * 1e6 / groups


def _commit(group: str, topic: str) -> bytes:
    """OffsetCommit 2 of a group without members."""
    body = wire.string(group) + wire.SIZE.pack(-1) + wire.string("") + struct.pack(">qi", -1, 1) + wire.string(topic)
    return wire.request(_OFFSET_COMMIT, 2, body + struct.pack(">iiq", 1, 0, 1) + wire.string(""))


def _await_coordinator(connection: Connection) -> None:
    """The first question for a coordinator makes the broker create the topic of committed offsets."""
    deadline = time.monotonic() + _READY_SECONDS
    while True:
        answer = connection.ask(wire.request(_FIND_COORDINATOR, 1, wire.string("growth-0") + b"\0"))
        (error,) = struct.unpack_from(">h", answer, 8)
        if not error:
            return
        if time.monotonic() > deadline:
            raise wire.WireError("there is no group coordinator", error)
        time.sleep(0.01)
