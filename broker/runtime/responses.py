"""What goes back to a client: bytes, regions of files, or the end of its connection. Where it comes later it is a
`Deferred[Response]`."""

from __future__ import annotations

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
"""What a response consists of: bytes, or regions of files that the kernel sends without passing them through Python."""


class CloseConnectionError(Exception):
    """The request has no response but the end of its connection, for the reason given."""


Response = bytes | list[Piece] | CloseConnectionError | None
"""A whole response without its size prefix; None where the request has none (Produce with acks=0)."""
