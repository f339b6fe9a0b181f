"""How large a request may be, for everybody who takes requests or hands them on.

Names and numbers become objects of many times their size, so what is not Produce has narrower bounds than
socket.request.max.bytes, the same ones at a broker and at the controller that it hands requests on to.
"""

from typing import Final

from odradek.protocol.registry import ApiKey

LARGEST_FRAME: Final = 1024 * 1024
"""Bytes of the largest frame of anything but Produce: some 25,000 partitions or topics."""

_LARGEST: Final = {
    # mostly texts of clients; worked on in portions
    ApiKey.OFFSET_COMMIT: 4 * LARGEST_FRAME,
    # a frame of another API, the client's address and principal, and the header
    ApiKey.ENVELOPE: LARGEST_FRAME + 128 * 1024,
}


def largest_frame(key: int) -> int:
    """Return how many bytes a frame of an API may have."""
    return _LARGEST.get(key, LARGEST_FRAME)  # type: ignore[call-overload,no-any-return]  # an int finds its API, too
