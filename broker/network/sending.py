"""The sending side of a connection: an ordered queue of pieces, written as far as the transport takes them.

Bytes that follow each other go out in one call; regions of files are the transport's (`sendfile`, where it is a plain
one), so that record data never enters Python, but where an answer is so small that a copy and one call are less work
than the calls for each of its pieces. The queue is bounded by the protocol itself: a connection has one request
in work at a time, and its next requests are not read before the answer is on its way.
"""

from collections import deque
from collections.abc import Sequence
from struct import Struct
from typing import Final

from odradek.broker.network.cold_reads import bytes_at_hand
from odradek.broker.network.transport import Transport
from odradek.broker.runtime.responses import FileRegion, Piece, Response

MAX_IOVEC: Final = 64
"""Pieces per `sendmsg`: far below the kernel's limit of 1024, more than any usual answer has."""

REGION_BYTES_PER_CALL: Final = 1024 * 1024
"""One call sends at most this much of a region, so that one fast consumer does not hold the loop."""

SMALL_ANSWER_BYTES: Final = 16 * 1024
"""An answer up to this size goes out in one call, the regions in it copied where they are in the page cache."""

pack_size: Final = Struct(">i").pack
"""The size in front of a frame."""


class FileEndedError(Exception):
    """A region's file ended before the region did: the response cannot be completed any more."""


class SendQueue:
    """What one connection still has to send."""

    __slots__ = ("_transport", "pieces")

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.pieces: deque[Piece] = deque()
        """What has not been handed to the kernel yet, oldest first; the same object for the life of the connection."""

    @property
    def next_region(self) -> FileRegion | None:
        """The file region at the head of the queue, if it is one."""
        head = self.pieces[0] if self.pieces else None
        return head if isinstance(head, FileRegion) else None

    @property
    def held_bytes(self) -> int:
        """Memory that the queue takes; regions of files take none."""
        return sum(len(piece) for piece in self.pieces if not isinstance(piece, FileRegion))

    def add(self, pieces: Sequence[Piece]) -> None:
        """Queue a response."""
        self.pieces.extend(pieces)

    def add_bytes(self, data: bytes | memoryview) -> None:
        """Queue bytes."""
        self.pieces.append(data)

    def add_answer(self, answer: Response) -> None:
        """Queue a whole answer with its size in front; nothing, where there is none."""
        if isinstance(answer, bytes):
            self.add_bytes(pack_size(len(answer)) + answer)
        elif isinstance(answer, list):
            size = 0
            for piece in answer:
                size += piece.length if isinstance(piece, FileRegion) else len(piece)
            small = _as_bytes(pack_size(size), answer) if size <= SMALL_ANSWER_BYTES else None
            if small is not None:
                self.add_bytes(small)
            else:
                self.add_bytes(pack_size(size))
                self.add(answer)

    def write_some(self) -> bool:
        """Send one stretch of bytes or of a file; returns whether the socket may take more at once.

        Raises:
            BlockingIOError: the socket is full.
            FileEndedError: a file is shorter than its region.
            OSError: the connection broke.
        """
        pieces = self.pieces
        head = pieces[0]
        if isinstance(head, FileRegion):
            return self._send_region(head)
        if len(pieces) == 1:
            sent = self._transport.send(head)
            pieces.popleft()
            if sent < len(head):
                pieces.appendleft(memoryview(head)[sent:])
                return False
            return True
        return self._send_bytes()

    def _send_bytes(self) -> bool:
        batch: list[bytes | memoryview] = []
        region_follows = False
        for piece in self.pieces:
            if isinstance(piece, FileRegion):
                region_follows = True
                break
            batch.append(piece)
            if len(batch) == MAX_IOVEC:
                break
        total = sum(map(len, batch))
        sent = self._transport.send_pieces(batch, region_follows)
        self._drop_sent(sent)
        return sent == total

    def _drop_sent(self, sent: int) -> None:
        """Drop the pieces that went out whole, empty ones among them, and what was sent of the next."""
        pieces = self.pieces
        while pieces:
            head = pieces[0]
            if isinstance(head, FileRegion):
                return
            if sent < len(head):
                if sent:
                    pieces[0] = memoryview(head)[sent:]
                return
            pieces.popleft()
            sent -= len(head)

    def _send_region(self, region: FileRegion) -> bool:
        wanted = min(region.length, REGION_BYTES_PER_CALL)
        sent = self._transport.send_region(region, REGION_BYTES_PER_CALL)
        if sent == 0:
            raise FileEndedError(f"a file ended at byte {region.position}, {region.length} bytes short of the response")
        if sent == region.length:
            self.pieces.popleft()
            return True
        self.pieces[0] = FileRegion(region.file, region.position + sent, region.length - sent)
        return sent == wanted

    def clear(self) -> None:
        """Drop everything, releasing the files."""
        self.pieces.clear()


def _as_bytes(size: bytes, answer: Sequence[Piece]) -> bytes | None:
    """Return an answer with its size in front; None where records in it are not in the page cache."""
    parts: list[bytes | bytearray | memoryview] = [size]
    for piece in answer:
        part = bytes_at_hand(piece) if isinstance(piece, FileRegion) else piece
        if part is None:
            return None
        parts.append(part)
    return b"".join(parts)
