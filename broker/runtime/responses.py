"""What goes back to a client: bytes, regions of files, or the end of its connection. Where it comes later it is a
`Deferred[Response]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol, Union

if TYPE_CHECKING:
    from odradek.broker.runtime.context import RequestContext
    from odradek.broker.runtime.deferred import Deferred


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


Handle = Callable[["RequestContext", memoryview], "Response | Deferred[Response]"]
"""Works on one frame. The view is valid during the call only; raises CloseConnectionError."""


class HandOver(NamedTuple):
    """A response, after which something else works on the frames of the connection: it is known whose it is."""

    answer: bytes
    handle: Handle


class LastAnswer(NamedTuple):
    """A response, or none, after which the connection ends; whoever decides that says why in the log."""

    answer: bytes | None


class Throttled(NamedTuple):
    """A response, or none, after which nothing is read from the connection for a while: the client has taken more than
    its share."""

    answer: bytes | list[Piece] | None
    seconds: float


Response = Union[bytes, list[Piece], CloseConnectionError, HandOver, LastAnswer, Throttled, None]  # noqa: UP007 - not yet defined
"""A whole response without its size prefix; None where the request has none (Produce with acks=0)."""
