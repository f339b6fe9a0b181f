"""Records of a produce request that outlive the call their frame was handed to: copied only if that is needed.

Buffers up to `REUSED_BYTES` are used again for the frames that come next (`network.receiving`), so what is kept of them
is copied. A larger one belongs to one frame, and lives for as long as anything refers to it: copying tens of megabytes
would hold up the event loop. Then all of it counts as memory, whatever part is kept.
"""

from collections.abc import Iterable
from typing import Final

REUSED_BYTES: Final = 4 * 1024 * 1024
"""The largest buffer that more than one frame arrives in."""


def kept_bytes(records: Iterable[memoryview]) -> int:
    """Return how much memory it takes to keep these; the same before and after `kept`."""
    copied = 0
    whole: dict[int, int] = {}
    for view in records:
        size = _buffer_size(view)
        if size > REUSED_BYTES:
            whole[id(view.obj)] = size
        else:
            copied += len(view)
    return copied + sum(whole.values())


def kept(records: memoryview) -> memoryview:
    """Return records as they may be kept: themselves, or a copy."""
    return records if _buffer_size(records) > REUSED_BYTES else memoryview(bytearray(records))


def _buffer_size(view: memoryview) -> int:
    with memoryview(view.obj) as whole:
        return whole.nbytes
