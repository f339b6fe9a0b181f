"""What a request handler gives back to the connection: bytes, pieces of files, or a promise of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol


class RegionFile(Protocol):
    """An open file that a region refers to; holding the reference keeps the descriptor open."""

    @property
    def fd(self) -> int:
        """The descriptor, for `os.sendfile`."""


class FileRegion(NamedTuple):
    """`length` bytes of `file` from `position` on; stays readable although the file is deleted meanwhile."""

    file: RegionFile
    position: int
    length: int


Piece = bytes | memoryview | FileRegion
"""What an answer consists of: bytes, or regions of files that the kernel sends without passing them through Python."""


class CloseConnectionError(Exception):
    """The request has no answer but the end of its connection, for the reason given."""


Answer = bytes | list[Piece] | CloseConnectionError | None
"""A whole response without its size prefix; None where the request has no response (Produce with acks=0)."""


class Pending(Protocol):
    """An answer that is not there yet: a long poll, a produce that waits for replicas or fsync, a coroutine at work."""

    def on_done(self, callback: Callable[[Answer], None]) -> None:
        """Call back with the answer, exactly once, on the event loop, and not before this call has returned."""

    def cancel(self) -> None:
        """Nobody waits for the answer any more: the connection is gone."""
