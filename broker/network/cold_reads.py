"""Regions of files that are not in the page cache: finding them before they are sent, and bringing them there; small
ones that are in it, as bytes.

Sending a region that only the disk has on the event loop would hold up everybody until the disk has answered. Must not
know: sockets, connections, event loops.
"""

from __future__ import annotations

import os
from mmap import PAGESIZE

from odradek.broker.runtime.responses import FileRegion

WARM_CHUNK_BYTES = 1024 * 1024
"""How much of a cold region is brought into the page cache at a time."""

_NOWAIT = getattr(os, "RWF_NOWAIT", 0)
_ANY_BYTE = (bytearray(1),)
"""Where a byte goes that nobody looks at."""


def is_cold(region: FileRegion) -> bool:
    """Whether the next stretch of the region would have to come from the disk; False where nobody can tell.

    Only its first and its last byte are asked for: what lies between came with them.
    """
    fd, first = region.file.fd, region.position
    last = first + min(region.length, WARM_CHUNK_BYTES) - 1
    return _is_absent(fd, first) or (first // PAGESIZE != last // PAGESIZE and _is_absent(fd, last))


def bytes_at_hand(region: FileRegion) -> bytearray | None:
    """Return what a region holds; None where not all of it is in the page cache, or nobody can tell."""
    data = bytearray(region.length)
    try:
        read = os.preadv(region.file.fd, (data,), region.position, _NOWAIT) if _NOWAIT else 0
    except OSError:  # the disk would have to be waited for, or the file system cannot tell
        return None
    return data if read == region.length else None


def _is_absent(fd: int, position: int) -> bool:
    """Whether reading a byte there would have to wait for the disk."""
    try:
        os.preadv(fd, _ANY_BYTE, position, _NOWAIT)
    except BlockingIOError:
        return True
    except OSError:
        return False  # the file system cannot tell: read as usual
    return False


def read_through(region: FileRegion) -> None:
    """Read the beginning of a region into the page cache, on a thread; errors show when it is sent."""
    try:
        os.posix_fadvise(region.file.fd, region.position, WARM_CHUNK_BYTES, os.POSIX_FADV_WILLNEED)
        os.pread(region.file.fd, min(region.length, WARM_CHUNK_BYTES), region.position)
    except OSError:
        return
