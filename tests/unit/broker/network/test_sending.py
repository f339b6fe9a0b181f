"""The queue of what a connection still has to send."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from socket import socket, socketpair

import pytest

from odradek.broker.network.sending import SendQueue
from odradek.broker.network.transport import PlainTransport
from odradek.broker.runtime.responses import FileRegion
from odradek.storage.files import PosixFiles

Ends = tuple[socket, socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Two connected sockets: one to send on, one to receive from."""
    ours, theirs = socketpair()
    with ours, theirs:
        yield ours, theirs


def send_all(outgoing: SendQueue) -> int:
    """Send everything; return how many steps it took."""
    steps = 0
    while outgoing.pieces:
        outgoing.write_some()
        steps += 1
        assert steps < 100
    return steps


@pytest.mark.parametrize("pieces", [[b"", b""], [b"", b"ab"], [b"ab", b""], [b"a", b"", b"b"]])
def test_empty_pieces_go_without_a_trace(ends: Ends, pieces: list[bytes]) -> None:
    """Pieces without a byte leave the queue with those around them."""
    outgoing = SendQueue(PlainTransport(ends[0]))
    outgoing.add(pieces)
    send_all(outgoing)
    ends[0].close()
    assert ends[1].recv(100) == b"".join(pieces)


@pytest.mark.parametrize("before", [[b""], [b"", b""], [b"head", b""]])
def test_empty_pieces_before_a_region_do_not_hold_it_up(ends: Ends, tmp_path: Path, before: list[bytes]) -> None:
    """A region of a file is sent after pieces without a byte, too."""
    (tmp_path / "data").write_bytes(b"0123456789")
    outgoing = SendQueue(PlainTransport(ends[0]))
    outgoing.add([*before, FileRegion(PosixFiles().open(str(tmp_path / "data")), 2, 5)])
    send_all(outgoing)
    assert ends[1].recv(100) == b"".join(before) + b"23456"


def test_what_the_socket_does_not_take_stays_at_the_head(ends: Ends) -> None:
    """A piece that is sent in part goes on where it stopped, in order with those behind it."""
    ends[0].setblocking(False)
    outgoing = SendQueue(PlainTransport(ends[0]))
    expected = bytes(range(256)) * 8192
    outgoing.add([expected[:1_000_000], expected[1_000_000:1_500_000], expected[1_500_000:]])
    received = bytearray()
    while outgoing.pieces:
        try:
            outgoing.write_some()
        except BlockingIOError:
            received += ends[1].recv(1 << 20)
    ends[0].close()
    while data := ends[1].recv(1 << 20):
        received += data
    assert received == expected
