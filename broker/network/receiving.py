"""Turns what arrives on a connection into frames: size-prefixed, bounded, without copying where it can be helped.

Sans-I/O except for the transport's `recv_into`. All connections share one scratch buffer: a frame that arrives whole is
handed out as a view of it and never copied. Only what is left over - the beginning of a frame that is still arriving,
or requests behind one that is being worked on - moves into a buffer of the connection's own, so that an idle connection
holds none.

Kafka's framing: an int32 size that does not count itself, at most socket.request.max.bytes.
"""

from collections.abc import Callable
from mmap import mmap
from struct import Struct

from odradek.broker.network.transport import Transport

SCRATCH_BYTES = 256 * 1024
"""One read takes at most this much: about what a loopback or LAN socket buffer holds, small enough to stay in the CPU
cache."""

SPARE_BYTES = 4 * 1024 * 1024
"""A buffer up to this size is kept for the next large frame: its pages are already mapped, which a fresh one would pay
for."""

_SIZE = Struct(">i")
_unpack_size = _SIZE.unpack_from

Buffer = bytearray | mmap


class FrameError(Exception):
    """The stream cannot go on: the size of a frame is negative or over the limit."""


class ReceiveMemory:
    """Buffers for frames that do not arrive in one piece, and how many bytes of them may be held at once by all
    connections."""

    def __init__(self, limit_bytes: int, schedule: Callable[[Callable[[], None]], object]) -> None:
        self.scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._limit = limit_bytes
        self._schedule = schedule
        self._waiting: list[Callable[[], None]] = []
        self._held = 0
        self._spare: Buffer | None = None

    def may_hold(self, size: int, instead_of: int = 0) -> bool:
        """Whether another `size` bytes fit, `instead_of` those that are held already.

        Where nobody else holds any they always fit, so that a single large frame can pass.
        """
        others = self._held - instead_of
        return others == 0 or others + size <= self._limit

    def take(self, size: int) -> Buffer:
        """A buffer of at least `size` bytes; its pages cost memory only as they are written."""
        spare = self._spare
        if spare is not None and len(spare) >= size:
            self._spare = None
            buffer = spare
        else:
            # bytearray writes zeros to all of it; a mapping costs nothing before bytes arrive, whatever was announced
            buffer = bytearray(max(size, 4096)) if size <= SPARE_BYTES else mmap(-1, size)
        self._held += len(buffer)
        return buffer

    def give_back(self, buffer: Buffer) -> None:
        """Return a buffer that nothing refers to any more."""
        self._held -= len(buffer)
        if len(buffer) <= SPARE_BYTES and (self._spare is None or len(self._spare) < len(buffer)):
            self._spare = buffer
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for callback in waiting:
                self._schedule(callback)

    @property
    def is_short(self) -> bool:
        """Whether somebody waits for memory."""
        return bool(self._waiting)

    def when_freed(self, callback: Callable[[], None]) -> None:
        """Schedule the callback once after memory was given back."""
        self._waiting.append(callback)


class FrameReader:
    """The receiving side of one connection."""

    __slots__ = ("_buffer", "_end", "_max_frame", "_memory", "_scratch", "_start", "_view")

    def __init__(self, memory: ReceiveMemory, max_frame_bytes: int) -> None:
        self._memory = memory
        self._scratch = memory.scratch
        self._max_frame = max_frame_bytes
        self._buffer: Buffer | None = None
        self._view: memoryview = memory.scratch  # what frames are cut from: scratch, or the own buffer
        self._start = 0
        self._end = 0

    @property
    def held_bytes(self) -> int:
        """Memory that the frame which is arriving takes; 0 while all fits into the shared scratch buffer."""
        return 0 if self._buffer is None else len(self._buffer)

    @property
    def rest_bytes(self) -> int:
        """How much has arrived that is not handed out yet."""
        return self._end - self._start

    @property
    def has_rest(self) -> bool:
        """Whether bytes wait here that are not handed out yet."""
        return self._end > self._start

    def receive(self, transport: Transport) -> int:
        """Read once from the socket; returns the number of bytes, 0 at the end of the stream, -1 if there is no room.

        There is none while more than one whole frame waits here; take frames first.

        Raises:
            BlockingIOError: nothing to read now.
            OSError: the connection broke.
        """
        if self._buffer is None:
            self._view = self._scratch
            self._start = 0
            self._end = received = transport.recv_into(self._scratch)
            return received
        if self._end == len(self._buffer):
            return -1
        received = transport.recv_into(self._view[self._end :])
        self._end += received
        return received

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
                raise FrameError(
                    f"a request announces {size} bytes, allowed are 0 to {self._max_frame} (socket.request.max.bytes)"
                )
            stop = start + 4 + size
            if stop > end:
                break
            frames.append(view[start + 4 : stop])
            start = stop
        self._start = start
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
        needed = self._needed(rest)
        buffer = self._buffer
        if buffer is not None and start == 0 and len(buffer) >= needed:
            return True
        if needed > SCRATCH_BYTES and not self._memory.may_hold(needed, instead_of=self.held_bytes):
            if buffer is None:
                self._move(self._memory.take(rest))
            return False
        if buffer is not None and len(buffer) >= needed:
            buffer[:rest] = bytes(self._view[start:end])
            self._start, self._end = 0, rest
        else:
            self._move(self._memory.take(needed))
        return True

    def close(self) -> None:
        """Let go of the buffer."""
        self._start = self._end = 0
        self._release()

    def _needed(self, rest: int) -> int:
        """The buffer that the waiting bytes call for: the announced frame, or room to read on."""
        if rest >= 4:
            size: int = _SIZE.unpack_from(self._view, self._start)[0]
            if 0 <= size <= self._max_frame and size + 4 > rest:
                return max(size + 4, 4096)
        return max(rest, 4096)

    def _move(self, buffer: Buffer) -> None:
        rest = self._end - self._start
        buffer[:rest] = self._view[self._start : self._end]
        self._release()
        self._buffer = buffer
        self._view = memoryview(buffer)
        self._start, self._end = 0, rest

    def _release(self) -> None:
        buffer = self._buffer
        if buffer is not None:
            self._buffer = None
            self._memory.give_back(buffer)
        self._view = self._scratch
        self._start = self._end = 0
