"""Turns what arrives on a connection into frames: size-prefixed, bounded, without copying where it can be helped.

Sans-I/O except for the transport's `recv_into`. All connections share one scratch buffer: a frame that arrives whole is
handed out as a view of it and never copied. Only what is left over - the beginning of a frame that is still arriving,
or requests behind one that is being worked on - moves into a buffer of the connection's own, so that an idle connection
holds none.

Kafka's framing: an int32 size that does not count itself, at most socket.request.max.bytes of a client.
"""

from contextlib import suppress
from mmap import mmap
from struct import Struct
from typing import Final

from odradek.broker.network.transport import Transport
from odradek.broker.runtime.kept_records import REUSED_BYTES
from odradek.broker.runtime.request_memory import RequestMemory

SCRATCH_BYTES: Final = 256 * 1024
"""One read takes at most this much: about what a loopback or LAN socket buffer holds, small enough to stay in the CPU
cache."""

SMALL_BYTES: Final = 4096
"""A buffer's least size: what a connection may always hold of a request that has begun to arrive."""

GROWTH: Final = 4
"""A buffer grows to so many times what has arrived, but not beyond the frame that was announced: announcing costs
nothing."""

SWALLOWED_READS: Final = 4
"""How often it is read from a client that is not answered any more."""
TLS_BEGIN: Final = 0x1603
"""How a connection begins that speaks TLS."""

_SIZE: Final = Struct(">i")
_unpack_size: Final = _SIZE.unpack_from

Buffer = bytearray | mmap


class FrameError(Exception):
    """The stream cannot go on: the size of a frame is negative or over the limit."""


class ReceiveBuffers:
    """The scratch buffer that all connections share, and buffers for frames that do not arrive in one piece."""

    def __init__(self, memory: RequestMemory) -> None:
        self.memory = memory
        self.scratch = memoryview(bytearray(SCRATCH_BYTES))
        self.small_scratch = self.scratch[:SMALL_BYTES]
        """What one read takes while memory is full: enough for the small requests that keep clients alive."""
        self._spare: Buffer | None = None

    def take(self, size: int, frame_size: int) -> Buffer:
        """A buffer of at least `size` bytes, and of `frame_size` if that costs no memory before bytes are written."""
        spare = self._spare
        if spare is not None and len(spare) >= frame_size:
            self._spare = None
            return spare
        if size > SCRATCH_BYTES:
            with suppress(OSError, ValueError):
                return mmap(-1, frame_size)  # pages cost memory only as they are written
        return bytearray(size)  # all of whose bytes are written at once, with zeros

    def give_back(self, buffer: Buffer) -> None:
        """Return a buffer whose frames are worked on.

        One up to `REUSED_BYTES` is kept for the next large frame: its pages are already mapped, which a fresh one would
        pay for. A larger one had a single frame, and whoever works on that may go on to refer to it.
        """
        if len(buffer) <= REUSED_BYTES and (self._spare is None or len(self._spare) < len(buffer)):
            self._spare = buffer


def _size_problem(size: int, limit: int) -> str:
    if size >> 16 == TLS_BEGIN:
        return "what came is TLS, and this listener speaks none; has the client security.protocol=SSL by mistake?"
    return f"a frame announces {size} bytes, allowed are 0 to {limit} (socket.request.max.bytes)"


class FrameReader:
    """The receiving side of one connection."""

    __slots__ = (
        "_buffer",
        "_buffers",
        "_end",
        "_expected",
        "_in_place",
        "_max_frame",
        "_memory",
        "_room",
        "_scratch",
        "_start",
        "_view",
        "_widest",
    )

    def __init__(self, buffers: ReceiveBuffers, max_frame_bytes: int, in_place: bool = False) -> None:
        """`in_place`: what follows a large frame is received where another one could lie whole, and not moved there
        once its size is known. Not for strangers: memory for it is taken with its first bytes."""
        self._buffers = buffers
        self._in_place = in_place
        self._expected = 0
        """Size of the largest of the large frames that came last, one after the other."""
        self._memory = buffers.memory
        self._scratch = buffers.scratch
        self._max_frame = self._widest = max_frame_bytes
        self._buffer: Buffer | None = None
        self._room = 0
        """How much of the own buffer may be filled, and is counted: it grows with what has arrived."""
        self._view: memoryview = buffers.scratch  # what frames are cut from: scratch, or the own buffer
        self._start = 0
        self._end = 0

    @property
    def held_bytes(self) -> int:
        """Memory that the frame which is arriving takes; 0 while all fits into the shared scratch buffer."""
        return self._room

    @property
    def rest_bytes(self) -> int:
        """How much has arrived that is not handed out yet."""
        return self._end - self._start

    @property
    def missing_bytes(self) -> int:
        """How much more has to be received before anything can be done with it: of the frame that is arriving, and no
        more than there is room for; 1 while there is none."""
        rest = self._end - self._start
        if self._buffer is None or rest < 4:
            return 1
        size: int = _unpack_size(self._view, self._start)[0]
        return max(1, min(self._room - self._end, size + 4 - rest))

    @property
    def has_rest(self) -> bool:
        """Whether bytes wait here that are not handed out yet."""
        return self._end > self._start

    def narrow(self, max_frame_bytes: int | None) -> None:
        """Take frames of so many bytes at the most from now on; None for the most there may ever be."""
        self._max_frame = self._widest if max_frame_bytes is None else min(max_frame_bytes, self._widest)

    def receive(self, transport: Transport) -> int:
        """Read once from the socket; returns the number of bytes, 0 at the end of the stream, -1 if there is no room.

        There is none while more than one whole frame waits here; take frames first.

        Raises:
            BlockingIOError: nothing to read now.
            OSError: the connection broke.
        """
        if self._buffer is None and not (self._expected and self._has_room_for(self._expected)):
            self._view = self._scratch
            self._start = 0
            scratch = self._buffers.small_scratch if self._memory.is_full else self._scratch
            self._end = received = transport.recv_into(scratch)
            return received
        if self._end == self._room:
            return -1
        received = transport.recv_into(self._view[self._end : self._room])
        self._end += received
        return received

    def take_only(self) -> memoryview | None:
        """The frame that has come whole and alone, as nearly all do; None, with nothing taken, where that is not so."""
        end = self._end
        if end < 4 or self._start or self._buffer is not None:
            return None
        (size,) = _unpack_size(self._view)
        if size != end - 4 or size > self._max_frame:
            return None
        self._start = end
        return self._view[4:end]

    def take_frames(self, limit: int) -> list[memoryview]:
        """The next whole frames, `limit` at the most; valid until the next call of `receive` or `keep_rest`.

        Raises:
            FrameError: the announced size of the very next frame is negative or over the limit.
        """
        view, start, end = self._view, self._start, self._end
        frames: list[memoryview] = []
        while end - start >= 4 and len(frames) < limit:
            (size,) = _unpack_size(view, start)
            if size < 0 or size > self._max_frame:
                if frames:
                    break  # those before it are answered first
                raise FrameError(_size_problem(size, self._max_frame))
            stop = start + 4 + size
            if stop > end:
                break
            frames.append(view[start + 4 : stop])
            start = stop
        self._start = start
        if self._in_place and frames:
            last = len(frames[-1]) + 4
            self._expected = max(last, self._expected) if last > SCRATCH_BYTES else 0
        return frames

    def put_back(self, frames: list[memoryview]) -> None:
        """Return the last of the frames that were taken, to be taken again."""
        for frame in frames:
            self._start -= len(frame) + 4

    def keep_rest(self) -> bool:
        """Make the bytes that were not handed out survive the next `receive`.

        Returns:
            False where memory for the frame that is arriving may not be taken now; ask again later, and read nothing
            until then.
        """
        start, end = self._start, self._end
        rest = end - start
        if rest == 0:
            if self._buffer is not None:
                self._release()
            return True
        if self._buffer is not None and start == 0 and end < self._room:
            return True
        frame_size = self._frame_size(rest)
        wanted = min(frame_size, max(rest * GROWTH, SMALL_BYTES))
        if wanted > SMALL_BYTES and not self._memory.may_hold(wanted, instead_of=self._room):
            if self._buffer is None:
                self._move(rest, rest)
            return False
        if self._buffer is None or len(self._buffer) < wanted:
            self._move(wanted, frame_size)
        else:
            if start:
                self._buffer[:rest] = bytes(self._view[start:end])
                self._start, self._end = 0, rest
            self._grow(wanted)
        return True

    def close(self) -> None:
        """Let go of the buffer."""
        self._start = self._end = 0
        self._release()

    def swallow(self, transport: Transport) -> None:
        """Read what has come and will not be answered, a few times at the most."""
        with suppress(OSError):
            for _ in range(SWALLOWED_READS):
                if not transport.recv_into(self._buffers.scratch):
                    return

    def _frame_size(self, rest: int) -> int:
        """The buffer that the waiting bytes call for in the end: the announced frame, or room to read on."""
        if rest >= 4:
            size: int = _SIZE.unpack_from(self._view, self._start)[0]
            if 0 <= size <= self._max_frame and size + 4 > rest:
                return max(size + 4, SMALL_BYTES)
        return max(rest, SMALL_BYTES)

    def _has_room_for(self, size: int) -> bool:
        """Whether what comes next is received in a buffer of its own, which is empty now."""
        if not self._memory.may_hold(size):
            return False
        self._start = self._end = 0
        self._move(size, size)
        return True

    def _move(self, size: int, frame_size: int) -> None:
        """Go on in another buffer of at least `size` bytes, in which the frame may have its place already."""
        rest = self._end - self._start
        buffer = self._buffers.take(size, frame_size)
        buffer[:rest] = self._view[self._start : self._end]
        self._release()
        self._buffer = buffer
        self._view = memoryview(buffer)
        self._start, self._end = 0, rest
        self._grow(size)

    def _grow(self, room: int) -> None:
        if room > self._room:
            self._memory.hold(room - self._room)
            self._room = room

    def _release(self) -> None:
        buffer = self._buffer
        if buffer is not None:
            self._buffer = None
            self._buffers.give_back(buffer)
            room, self._room = self._room, 0
            self._memory.release(room)
        self._view = self._scratch
        self._start = self._end = 0
