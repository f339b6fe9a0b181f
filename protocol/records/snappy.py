"""Snappy as Kafka writes and reads it: blocks in the framing of the Java library (xerial), or one bare block.

The framing is a header of 16 bytes (an eight-byte mark and two version numbers, which readers ignore), then blocks,
each with its size before it as a big-endian int32. Streams may follow each other. Data that does not begin with the
mark is one bare Snappy block, which is what librdkafka sends. Kafka's codec 2.
"""

from struct import Struct

import cramjam

from odradek.protocol.records.batch import LEAST_COUNTED_BLOCK
from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.errors import DecompressionError, TooMuchData

_MARK = b"\x82SNAPPY\0"
_HEADER = _MARK + b"\0\0\0\1\0\0\0\1"
_BLOCK_SIZE = 32 * 1024
"""Content of each block written, the Java library's default."""
_MAX_RATIO = 32
"""No Snappy block holds more than this many times its own size (at most 64 bytes per element of 3)."""

_I32 = Struct(">i")


def compress(data: Buffer) -> bytes:
    """Return `data` in the Java library's framing."""
    out = [_HEADER]
    view = memoryview(data)
    for start in range(0, len(view), _BLOCK_SIZE):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _BLOCK_SIZE]))
        out += (_I32.pack(len(block)), block)
    return b"".join(out)


def decompress(data: Buffer, limit: int) -> bytes:
    """Return the content of `data`, framed or one bare block; raise DecompressionError or TooMuchData."""
    view = memoryview(data)
    if view[: len(_MARK)] != _MARK:
        return bytes(_decompress_block(view, 0, limit))
    if len(view) < len(_HEADER):
        raise DecompressionError("The Snappy data ends inside its header")
    blocks = []
    total = counted = 0
    position = len(_HEADER)
    while len(view) >= position + 4:  # fewer bytes than a size are the end, as in the Java library
        if view[position : position + 4] == _MARK[:4]:
            position += len(_HEADER)
            continue
        (size,) = _I32.unpack_from(view, position)
        position += 4
        if not 0 < size <= len(view) - position:
            raise DecompressionError(f"A Snappy block of {size} bytes exceeds the data")
        block = _decompress_block(view[position : position + size], total, limit)
        total += len(block)
        if counted > limit:
            raise TooMuchData(limit)
        counted += max(len(block), LEAST_COUNTED_BLOCK)
        blocks.append(block)
        position += size
    return b"".join(blocks)


def _decompress_block(block: memoryview, before: int, limit: int) -> memoryview:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > len(block) * _MAX_RATIO:
            raise DecompressionError(f"A Snappy block of {len(block)} bytes cannot hold the {size} bytes it says")
        if before + size > limit:
            raise TooMuchData(limit)
        return memoryview(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as problem:
        raise DecompressionError(f"A Snappy block does not decompress: {problem}") from None
