"""The queue of what a connection still has to send."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from socket import AF_UNIX, SOCK_SEQPACKET, socket, socketpair

import pytest

from odradek.broker.network.sending import SMALL_ANSWER_BYTES, FileEndedError, SendQueue
from odradek.broker.network.transport import PlainTransport
from odradek.broker.runtime.responses import FileRegion, Piece
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


def _answer(path: Path, size: int) -> tuple[list[Piece], bytes]:
    """Return an answer of `size` bytes with two regions in it, and what the client is to get of it."""
    path.write_bytes(bytes(range(256)) * 256)
    file = PosixFiles().open(str(path))
    rest = size - 14
    data = b"head" + path.read_bytes()[2:7] + b"+" + path.read_bytes()[9 : 9 + rest] + b"tail"
    return [b"head", FileRegion(file, 2, 5), b"+", FileRegion(file, 9, rest), b"tail"], size.to_bytes(4, "big") + data


@pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="nobody can tell here what is in the page cache")
def test_a_small_answer_goes_out_in_one_call(tmp_path: Path) -> None:
    """Records in the page cache are copied where that is less than a call for each piece; such sockets keep calls
    apart."""
    ours, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
    with ours, theirs:
        outgoing = SendQueue(PlainTransport(ours))
        answer, expected = _answer(tmp_path / "data", SMALL_ANSWER_BYTES)
        outgoing.add_answer(answer)
        assert send_all(outgoing) == 1
        assert theirs.recv(1 << 20) == expected


def test_a_larger_answer_is_not_copied(tmp_path: Path, ends: Ends) -> None:
    """From a size on the regions stay regions, which take no memory while the client does not read."""
    outgoing = SendQueue(PlainTransport(ends[0]))
    answer, expected = _answer(tmp_path / "data", SMALL_ANSWER_BYTES + 1)
    outgoing.add_answer(answer)
    assert outgoing.held_bytes == 4 + len("head+tail")
    send_all(outgoing)
    assert ends[1].recv(1 << 20) == expected


@pytest.mark.parametrize("error", [errno.EAGAIN, errno.EOPNOTSUPP])
def test_a_small_answer_does_not_wait_for_the_disk(
    tmp_path: Path, ends: Ends, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """Where the page cache lacks some of it, or nobody can tell, its regions are left to be read on a thread first."""

    def preadv(_fd: int, _buffers: Sequence[bytearray], position: int, _flags: int) -> int:
        if position == 9:
            raise OSError(error, os.strerror(error))
        return 5

    answer, expected = _answer(tmp_path / "data", 100)
    monkeypatch.setattr(os, "preadv", preadv)
    outgoing = SendQueue(PlainTransport(ends[0]))
    outgoing.add_answer(answer)
    assert [piece for piece in outgoing.pieces if isinstance(piece, FileRegion)] == [answer[1], answer[3]]
    send_all(outgoing)
    assert ends[1].recv(1 << 20) == expected


def test_a_small_answer_whose_file_has_ended_stays_a_region(tmp_path: Path, ends: Ends) -> None:
    """What is missing shows when it is sent, and ends the connection; it is not made up of zeros."""
    answer, _ = _answer(tmp_path / "data", 100)
    (tmp_path / "data").write_bytes(b"0123456789")
    outgoing = SendQueue(PlainTransport(ends[0]))
    outgoing.add_answer(answer)
    with pytest.raises(FileEndedError):
        send_all(outgoing)
