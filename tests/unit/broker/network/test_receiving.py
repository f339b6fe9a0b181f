"""Frames out of a byte stream: whole, in pieces, pipelined, hostile, and within the memory allowed."""

import socket
from collections.abc import Callable, Iterator
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.network.receiving import SCRATCH_BYTES, FrameError, FrameReader, ReceiveBuffers
from odradek.broker.network.transport import PlainTransport
from odradek.broker.runtime.request_memory import RequestMemory

MIB = 1024 * 1024


def framed(*bodies: bytes) -> bytes:
    return b"".join(pack(">i", len(body)) + body for body in bodies)


class Scheduled:
    """Stands for the event loop: remembers what was scheduled."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], None]] = []

    def __call__(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def reader(memory: RequestMemory | None = None, limit: int = 100 * MIB) -> FrameReader:
    return FrameReader(ReceiveBuffers(memory or RequestMemory(400 * MIB, Scheduled())), limit)


def drain(frames: FrameReader) -> list[bytes]:
    return [bytes(frame) for frame in frames.take_frames(1000)]


def test_frames_that_arrive_whole_are_handed_out_in_order(pair: tuple[socket.socket, socket.socket]) -> None:
    """Pipelined requests come out one by one, and nothing is kept afterwards."""
    ours, theirs = pair
    frames = reader()
    theirs.sendall(framed(b"one", b"", b"three"))
    frames.receive(PlainTransport(ours))
    assert drain(frames) == [b"one", b"", b"three"]
    assert frames.keep_rest()
    assert not frames.has_rest


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.integers(1, 700), min_size=1, max_size=20))
def test_any_split_of_the_stream_gives_the_same_frames(bodies: list[bytes], cuts: list[int]) -> None:
    """How TCP cuts the stream does not matter."""
    stream = framed(*bodies)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        frames, found, at, turn = reader(), [], 0, 0
        while at < len(stream):
            piece = stream[at : at + cuts[turn % len(cuts)]]
            theirs.sendall(piece)
            at, turn = at + len(piece), turn + 1
            frames.receive(PlainTransport(ours))
            found += drain(frames)
            assert frames.keep_rest()
        assert found == bodies


def test_a_large_frame_passes_through_a_buffer_of_its_own(pair: tuple[socket.socket, socket.socket]) -> None:
    """A frame larger than one read arrives complete, and its buffer is given back."""
    ours, theirs = pair
    memory = RequestMemory(400 * MIB, Scheduled())
    frames = reader(memory)
    body = bytes(range(256)) * (MIB // 256)
    stream = memoryview(framed(body, b"next"))
    found = []
    while stream:
        sent = theirs.send(stream[:100_000])
        stream = stream[sent:]
        frames.receive(PlainTransport(ours))
        found += drain(frames)
        assert frames.keep_rest()
    frames.receive(PlainTransport(ours))  # the buffer was as large as the frame; the next one is still in the socket
    found += drain(frames)
    assert found == [body, b"next"]
    assert frames.keep_rest()
    assert memory.may_hold(400 * MIB)


def test_requests_behind_a_parked_one_survive_other_connections_reads(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """What was kept is a copy: the shared scratch buffer may be overwritten."""
    ours, theirs = pair
    buffers = ReceiveBuffers(RequestMemory(400 * MIB, Scheduled()))
    frames = FrameReader(buffers, MIB)
    theirs.sendall(framed(b"parked", b"waits"))
    frames.receive(PlainTransport(ours))
    taken = frames.take_frames(1000)
    assert bytes(taken[0]) == b"parked"
    frames.put_back(taken[1:])
    frames.keep_rest()
    buffers.scratch[:64] = b"x" * 64
    assert drain(frames) == [b"waits"]


@pytest.mark.parametrize("size", [-1, -(2**31), 101, 2**31 - 1])
def test_a_size_out_of_bounds_is_refused_at_once(size: int, pair: tuple[socket.socket, socket.socket]) -> None:
    """The size alone decides; no byte of the body is waited for."""
    ours, theirs = pair
    frames = reader(limit=100)
    theirs.sendall(pack(">i", size))
    frames.receive(PlainTransport(ours))
    with pytest.raises(FrameError, match=f"announces {size} bytes, allowed are 0 to 100"):
        frames.take_frames(1)


def test_large_frames_over_the_memory_limit_wait_their_turn(pair: tuple[socket.socket, socket.socket]) -> None:
    """A second large request is not read before the first has given its memory back."""
    ours, theirs = pair
    scheduled = Scheduled()
    memory = RequestMemory(SCRATCH_BYTES * 4, scheduled)
    memory.hold(SCRATCH_BYTES * 4 - 5_000)
    frames = reader(memory)
    theirs.sendall(pack(">i", SCRATCH_BYTES * 3) + bytes(5_000))
    frames.receive(PlainTransport(ours))
    assert frames.take_frames(1) == []
    assert not frames.keep_rest()
    asked: list[str] = []
    memory.when_freed(lambda: asked.append("again"))
    memory.release(SCRATCH_BYTES * 4 - 5_000)
    for callback in scheduled.callbacks:
        callback()
    assert asked == ["again"]
    assert frames.keep_rest()


def test_a_single_frame_larger_than_the_memory_limit_still_passes(pair: tuple[socket.socket, socket.socket]) -> None:
    """The limit delays requests, it never makes one impossible."""
    ours, theirs = pair
    frames = reader(RequestMemory(1000, Scheduled()))
    theirs.sendall(pack(">i", MIB) + b"begin")
    frames.receive(PlainTransport(ours))
    assert frames.take_frames(1) == []
    assert frames.keep_rest()


@pytest.mark.parametrize("announced", [5_000, 262_000, 3 * MIB, 100 * MIB])
def test_a_buffer_grows_with_what_arrived(announced: int, pair: tuple[socket.socket, socket.socket]) -> None:
    """Whoever announces much and sends little costs little; what is held is counted, frames of any size."""
    ours, theirs = pair
    memory = RequestMemory(400 * MIB, Scheduled())
    frames = reader(memory)
    theirs.sendall(pack(">i", announced) + b"x")
    frames.receive(PlainTransport(ours))
    arrived = 5
    for _ in range(4):
        assert frames.take_frames(1) == []
        assert frames.keep_rest()
        assert memory.held_bytes == frames.held_bytes <= max(4096, 4 * arrived)
        arrived += theirs.send(bytes(min(4_000, announced - arrived)))
        while frames.rest_bytes < arrived:
            frames.receive(PlainTransport(ours))
            frames.keep_rest()
    frames.close()
    assert memory.held_bytes == 0


def test_a_full_memory_leaves_room_for_small_requests(pair: tuple[socket.socket, socket.socket]) -> None:
    """While nothing large is read, whole small requests pass, and of a large one no more than 4 KiB is kept."""
    ours, theirs = pair
    memory = RequestMemory(MIB, Scheduled())
    memory.hold(MIB)
    frames = reader(memory)
    theirs.sendall(framed(b"heartbeat") + pack(">i", 300_000) + bytes(100_000))
    frames.receive(PlainTransport(ours))
    assert drain(frames) == [b"heartbeat"]
    frames.keep_rest()
    assert frames.held_bytes <= 4096


def test_what_is_kept_over_the_limit_is_counted_and_stops_the_next(pair: tuple[socket.socket, socket.socket]) -> None:
    """The last read before memory is full may pass the limit by what it brought, and the one after it does not."""
    ours, theirs = pair
    memory = RequestMemory(MIB, Scheduled())
    memory.hold(MIB - 1)
    frames = reader(memory)
    theirs.sendall(pack(">i", 300_000) + bytes(100_000))
    frames.receive(PlainTransport(ours))
    assert frames.take_frames(1) == []
    assert not frames.keep_rest()
    assert memory.is_full
    assert memory.held_bytes <= MIB + SCRATCH_BYTES


def receive_in_pieces(frames: FrameReader, ours: socket.socket, theirs: socket.socket, *bodies: bytes) -> list[bytes]:
    """Send frames in pieces that fit into the socket, and return what comes out."""
    stream, found = memoryview(framed(*bodies)), []
    while stream or frames.has_rest:
        stream = stream[theirs.send(stream[:100_000]) :] if stream else stream
        frames.receive(PlainTransport(ours))
        found += drain(frames)
        assert frames.keep_rest()
    return found


def test_large_frames_in_a_row_lie_where_they_arrived(pair: tuple[socket.socket, socket.socket]) -> None:
    """With `in_place` the first bytes of the second are in a buffer for all of it, which is given back in between."""
    ours, theirs = pair
    memory = RequestMemory(400 * MIB, Scheduled())
    frames = FrameReader(ReceiveBuffers(memory), 100 * MIB, in_place=True)
    body = bytes(range(256)) * (MIB // 256)
    assert receive_in_pieces(frames, ours, theirs, body) == [body]
    assert frames.held_bytes == memory.held_bytes == 0
    theirs.send(framed(body)[:1000])
    frames.receive(PlainTransport(ours))
    assert (frames.held_bytes, frames.missing_bytes) == (MIB + 4, MIB + 4 - 1000)


def test_small_frame_after_large_ones_takes_no_memory_again(pair: tuple[socket.socket, socket.socket]) -> None:
    """It comes out of the buffer for a large one, and those behind it pass through the shared one."""
    ours, theirs = pair
    frames = FrameReader(ReceiveBuffers(RequestMemory(400 * MIB, Scheduled())), 100 * MIB, in_place=True)
    receive_in_pieces(frames, ours, theirs, bytes(MIB))
    assert receive_in_pieces(frames, ours, theirs, b"small") == [b"small"]
    theirs.send(framed(b"next"))
    frames.receive(PlainTransport(ours))
    assert frames.held_bytes == 0
    assert drain(frames) == [b"next"]


def test_full_memory_leaves_the_shared_buffer(pair: tuple[socket.socket, socket.socket]) -> None:
    """Even who expects a large frame takes no memory for it while there is none."""
    ours, theirs = pair
    memory = RequestMemory(4 * MIB, Scheduled())
    frames = FrameReader(ReceiveBuffers(memory), 100 * MIB, in_place=True)
    receive_in_pieces(frames, ours, theirs, bytes(MIB))
    memory.hold(4 * MIB - 1000)
    theirs.send(framed(b"small"))
    frames.receive(PlainTransport(ours))
    assert frames.held_bytes == 0
    assert drain(frames) == [b"small"]
