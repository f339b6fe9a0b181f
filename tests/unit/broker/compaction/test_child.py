"""The compaction process from its own side."""

import fcntl
import resource
import socket
from collections.abc import Iterator

import pytest

from odradek.broker.compaction.child import BrokerGoneError, BrokerSocket, Pacer, RoundCancelledError, work
from odradek.broker.compaction.frames import Message, MessageReader, encode
from odradek.storage.compaction.values import Cancel, Cancelled, RoundFailed, Task
from tests.support.memory_files import MemoryFiles

TASK = Task(1, "/data/t-0", (), 0, 0, 0, 0, 1, 1, 1, 1, 24, 0.9, 100, 1e308, b"", b"")


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, BrokerSocket]]:
    """The broker's end of the connection, and the process's."""
    ours, theirs = socket.socketpair()
    ours.settimeout(5)
    with ours, theirs:
        yield ours, BrokerSocket(theirs)


def answers(ours: socket.socket) -> list[Message]:
    """What has arrived at the broker's end."""
    return list(MessageReader().feed(ours.recv(1 << 16)))


def test_a_round_is_paced_to_its_bytes_per_second() -> None:
    """It waits for as long as what it has read and written should have taken; a pause before gives no credit."""
    now = 0.0
    waits: list[float] = []

    class Waiting:
        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            return False

    pacer = Pacer(Waiting(), TASK._replace(max_bytes_per_second=1000.0), lambda: now)  # type: ignore[arg-type]
    pacer(500)
    pacer(500)
    now = 100.0
    pacer(2000)
    assert waits == [0.5, 1.0, 1.0]


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_a_rate_that_makes_no_sense_is_slow_but_no_failure(
    pair: tuple[socket.socket, BrokerSocket], rate: float
) -> None:
    """log.cleaner.io.max.bytes.per.second has no lower bound."""
    ours, link = pair
    pacer = Pacer(link, TASK._replace(max_bytes_per_second=rate), lambda: 0.0)
    ours.sendall(encode(Cancel(1)))
    with pytest.raises(RoundCancelledError):
        pacer(10)


def test_a_round_ends_when_it_is_told_to_and_when_the_broker_is_gone(pair: tuple[socket.socket, BrokerSocket]) -> None:
    """Another round's end does not concern it."""
    ours, link = pair
    pacer = Pacer(link, TASK)
    pacer(1)
    ours.sendall(encode(Cancel(7)))
    pacer(1)
    ours.sendall(encode(Cancel(1)))
    with pytest.raises(RoundCancelledError):
        pacer(1)
    ours.close()
    with pytest.raises(BrokerGoneError):
        Pacer(link, TASK)(1)


def test_it_hears_the_broker_whatever_the_number_of_its_descriptor(pair: tuple[socket.socket, BrokerSocket]) -> None:
    """It has the number that the broker had free: above 1023, where many clients are connected or files open."""
    ours, link = pair
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    try:
        high = fcntl.fcntl(ours, fcntl.F_DUPFD, 1024)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with socket.socket(fileno=high) as end:
        assert not BrokerSocket(end).wait(0.0)
        link.send(Cancel(1))
        assert BrokerSocket(end).wait(5.0)


def test_a_round_that_fails_does_not_end_the_process(pair: tuple[socket.socket, BrokerSocket]) -> None:
    """It says where and why, and waits for the next task; when the broker is gone it ends."""
    ours, link = pair
    ours.sendall(encode(Cancel(3)) + encode(TASK) + encode(TASK._replace(number=2)))
    ours.shutdown(socket.SHUT_WR)
    with pytest.raises(BrokerGoneError):
        work(link, MemoryFiles())
    failed = answers(ours)
    assert [type(one) for one in failed] == [RoundFailed, RoundFailed]
    assert [one.number for one in failed] == [1, 2]


def test_a_cancelled_round_says_so(pair: tuple[socket.socket, BrokerSocket], monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the broker knows that nothing more comes of it."""
    ours, link = pair

    def cancelled(*_: object) -> Iterator[Message]:
        raise RoundCancelledError

    monkeypatch.setattr("odradek.broker.compaction.child.compact", cancelled)
    ours.sendall(encode(TASK))
    ours.shutdown(socket.SHUT_WR)
    with pytest.raises(BrokerGoneError):
        work(link, MemoryFiles())
    assert answers(ours) == [Cancelled(1)]
