"""The messages between the broker and its compaction process: msgpack in frames of a bounded size.

A frame is an int32 (big-endian) with the number of bytes that follow, and these: an array of the name of the message
and its fields. Both ends are the same program of the same version, so fields go by their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any, TypeAlias

import msgpack

from odradek.storage.compaction.values import (
    Cancel,
    Cancelled,
    RoundFailed,
    RoundFinished,
    Task,
    Written,
    finished_from,
    task_from,
)

MAX_FRAME_BYTES = 64 << 20
"""The largest message is a task with an entry of 18 bytes for each active producer: 3.5 million of them fit."""

Message: TypeAlias = Task | Cancel | Written | RoundFinished | RoundFailed | Cancelled

_SIZE = Struct(">I")
_KINDS: dict[str, Callable[[tuple[Any, ...]], Message]] = {
    Task.__name__: task_from,
    Cancel.__name__: Cancel._make,
    Written.__name__: Written._make,
    RoundFinished.__name__: finished_from,
    RoundFailed.__name__: RoundFailed._make,
    Cancelled.__name__: Cancelled._make,
}


class BadFrameError(Exception):
    """The bytes are no message, or one that is too large."""


def encode(message: Message) -> bytes:
    """Return the frame of a message. Raises BadFrameError where it would be too large."""
    payload: bytes = msgpack.packb((type(message).__name__, *message))
    if len(payload) > MAX_FRAME_BYTES:
        raise BadFrameError(f"a message of {len(payload)} bytes is larger than {MAX_FRAME_BYTES}")
    return _SIZE.pack(len(payload)) + payload


class MessageReader:
    """Puts frames together from the pieces in which they arrive."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Take bytes in, and yield the messages that are complete. Raises BadFrameError."""
        self._data += data
        while len(self._data) >= _SIZE.size:
            (size,) = _SIZE.unpack_from(self._data)
            if size > MAX_FRAME_BYTES:
                raise BadFrameError(f"a message of {size} bytes is larger than {MAX_FRAME_BYTES}")
            end = _SIZE.size + size
            if len(self._data) < end:
                return
            payload = bytes(self._data[_SIZE.size : end])
            del self._data[:end]
            yield _decode(payload)


def _decode(payload: bytes) -> Message:
    try:
        name, *fields = msgpack.unpackb(payload, use_list=False)
        return _KINDS[name](tuple(fields))
    except (ValueError, TypeError, KeyError, msgpack.UnpackException) as wrong:
        raise BadFrameError(f"the bytes are no message: {wrong!r}") from wrong
