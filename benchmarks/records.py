"""Record batches (format v2) as load: built once by the client, sent as they are.

Kafka's record format: https://kafka.apache.org/documentation/#recordbatch. Written anew here, apart from the broker's
own code, so that a mistake there cannot hide behind the same mistake here. Only what load needs: no headers, no
compression, no producer id.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import crc32c

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE = HEADER.size
_CRC_AT = 17
_CRC_FROM = 21
_CRC = struct.Struct(">I")
_PREFIX = struct.Struct(">qi")
_LAST_DELTA_AT = 23
_LAST_DELTA = struct.Struct(">i")


class BatchSpan(NamedTuple):
    """Where one batch lies in a buffer, and the first offset after it."""

    start: int
    end: int
    next_offset: int


def zigzag(value: int) -> bytes:
    """A signed varint as records use it."""
    return unsigned_varint((value << 1) ^ (value >> 63))


def unsigned_varint(value: int) -> bytes:
    """An unsigned varint, seven bits a byte, lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def build_batch(values: Sequence[bytes], timestamp_ms: int, keys: Sequence[bytes] = ()) -> bytearray:
    """One uncompressed batch that holds `values`, offsets from 0, all with the same timestamp; without keys, or each
    with its own."""
    body = bytearray()
    for delta, value in enumerate(values):
        key = zigzag(len(keys[delta])) + keys[delta] if keys else zigzag(-1)
        record = b"".join((b"\0", zigzag(0), zigzag(delta), key, zigzag(len(value)), value, zigzag(0)))
        body += zigzag(len(record))
        body += record
    last = len(values) - 1
    length = HEADER_SIZE - _PREFIX.size + len(body)
    batch = bytearray(HEADER_SIZE)
    HEADER.pack_into(batch, 0, 0, length, -1, 2, 0, 0, last, timestamp_ms, timestamp_ms, -1, -1, -1, len(values))
    batch += body
    seal(batch)
    return batch


def seal(batch: bytearray | memoryview, start: int = 0) -> None:
    """Write the checksum of the batch that begins at `start` and ends with the buffer."""
    with memoryview(batch) as view:
        _CRC.pack_into(view, start + _CRC_AT, crc32c.crc32c(view[start + _CRC_FROM :]))


def batch_spans(buffer: memoryview) -> Iterator[BatchSpan]:
    """The whole batches in `buffer`, in order; a batch that is cut off at the end is left out."""
    position, end = 0, len(buffer)
    while position + HEADER_SIZE <= end:
        base_offset, length = _PREFIX.unpack_from(buffer, position)
        after = position + _PREFIX.size + length
        if after > end:
            return
        last_delta: int = _LAST_DELTA.unpack_from(buffer, position + _LAST_DELTA_AT)[0]
        yield BatchSpan(position, after, base_offset + last_delta + 1)
        position = after


def values_of(count: int, size: int) -> list[bytes]:
    """`count` different values of `size` bytes that look like log lines: text, numbers, some repetition.

    Fixed from run to run. They compress about as well as real events do (three to four times with lz4 in batches).
    """
    values = []
    state = 0x9E3779B97F4A7C15
    for index in range(count):
        words = []
        length = 0
        while length <= size:
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            word = f'{{"event":{index},"user":"u{state >> 40:06x}","path":"/items/{state >> 52}","ms":{state % 997}}}'
            words.append(word)
            length += len(word) + 1
        values.append("\n".join(words).encode()[:size])
    return values
