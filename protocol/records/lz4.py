"""LZ4 frames as Kafka writes and reads them.

Kafka writes blocks of 64 KB that do not depend on each other, with no content size and no checksums, and refuses to
read frames of dependent blocks. So frames are taken apart here: on the way in, only blocks are handed to the library,
each bounded by the size its frame declares; on the way out, the library's frames lose the checksums it gives each
block. As in Kafka, one frame is read, what follows it is ignored, and the content checksum is not verified (the batch
has its own). Format: LZ4 frame format 1.6; Kafka's codec 3.

In messages of version 0 the checksum of the frame's header is computed over the frame's magic number too, which no
other reader expects; there it is written that way, and not looked at (KIP-57).
"""

from collections.abc import Iterator
from struct import Struct

import cramjam

from odradek.protocol.records.batch import CURRENT_MAGIC, LEAST_COUNTED_BLOCK
from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.errors import DecompressionError, TooMuchData

_MAGIC = b"\x04\x22\x4d\x18"
_VERSION_BITS = 0x40
_VERSION_MASK = 0xC0
_INDEPENDENT_BLOCKS = 0x20
_BLOCK_CHECKSUM = 0x10
_CONTENT_SIZE = 0x08
_RESERVED_FLAGS = 0x03
"""A reserved bit, and that of dictionaries, which Kafka does not know."""
_STORED = 0x80
"""Set in the last byte of the size of a block that is stored as it is, because compressing did not make it smaller."""
_BLOCK_SIZE_MASK = 0x7FFFFFFF
_FLAGS_AT = 4
_DESCRIPTOR_AT = 5
_BLOCK_SIZES = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
"""Largest content of a block, by the upper half of the frame's descriptor byte."""
_HEADER = _MAGIC + b"\x60\x40\x82"
"""Version 1, independent blocks of 64 KB, and the header checksum that belongs to that."""
_HEADER_OF_MAGIC_0 = _MAGIC + b"\x60\x40\x1a"
"""The same with the checksum of all six bytes before it."""
_END_MARK = b"\0\0\0\0"
_MAX_RATIO = 255
"""No LZ4 block holds more than this many times its own size."""
_FAST_LEVEL = 9
"""Kafka's default level, which (only there) means its fast compressor."""
_HIGHEST_LEVEL = 12
"""Kafka takes levels up to 17; those above 12 mean 12 to the library."""

_U32 = Struct("<I")


def compress(data: Buffer, level: int | None = None, magic: int = CURRENT_MAGIC) -> bytes:
    """Return `data` as one LZ4 frame for records of `magic`; `level` is Kafka's, 1 to 17 (default 9, the fast one)."""
    if level is None or level == _FAST_LEVEL:
        level = 0
    library = cramjam.lz4.Compressor(level=min(level, _HIGHEST_LEVEL), content_checksum=False, block_linked=False)
    library.compress(data)
    frame = memoryview(library.finish())
    out: list[Buffer] = [_HEADER if magic > 0 else _HEADER_OF_MAGIC_0]
    for start, end in _blocks(frame, magic):
        out.append(frame[start - 4 : end])
    out.append(_END_MARK)
    return b"".join(out)


def decompress(data: Buffer, limit: int, magic: int = CURRENT_MAGIC) -> bytes:
    """Return the content of the LZ4 frame at the start of `data`; raise DecompressionError or TooMuchData."""
    view = memoryview(data)
    blocks: list[Buffer] = []
    total = counted = 0
    scratch = bytearray()
    for start, end in _blocks(view, magic):
        if view[start - 1] & _STORED and not view[_FLAGS_AT] & _BLOCK_CHECKSUM:
            content: Buffer = view[start:end]
        else:
            room = min(_BLOCK_SIZES[view[_DESCRIPTOR_AT] >> 4], (end - start) * _MAX_RATIO)
            if len(scratch) < room:  # one for all blocks: each may hold little, whatever the frame says of their size
                scratch = bytearray(room)
            if view[_FLAGS_AT] & _BLOCK_CHECKSUM:
                size = _decompress_checked_block(view[start - 4 : end + 4], scratch, view[_DESCRIPTOR_AT])
            else:
                size = _decompress_block(view[start:end], scratch)
            content = bytes(memoryview(scratch)[:size])
        total += len(content)
        if total > limit or counted > limit:
            raise TooMuchData(limit)
        counted += max(len(content), LEAST_COUNTED_BLOCK)
        blocks.append(content)
    return b"".join(blocks)


def _blocks(frame: memoryview, magic: int) -> Iterator[tuple[int, int]]:
    """Yield where each block of the frame starts and ends; its size is in the four bytes before it."""
    position, block_size, checksum_size = _read_header(frame, magic)
    while True:
        if len(frame) < position + 4:
            raise DecompressionError("The LZ4 frame ends before its end mark")
        (size,) = _U32.unpack_from(frame, position)
        size &= _BLOCK_SIZE_MASK
        if size == 0:
            return
        start = position + 4
        position = start + size + checksum_size
        if size > block_size or position > len(frame):
            raise DecompressionError(f"An LZ4 block of {size} bytes exceeds its frame")
        yield start, start + size


def _read_header(frame: memoryview, magic: int) -> tuple[int, int, int]:
    """Return where the blocks start, their largest size, and the bytes of each block's checksum."""
    if len(frame) < len(_HEADER) or frame[:_FLAGS_AT] != _MAGIC:
        raise DecompressionError("The compressed records are not an LZ4 frame")
    flags, descriptor = frame[_FLAGS_AT], frame[_DESCRIPTOR_AT]
    end = 6 + (8 if flags & _CONTENT_SIZE else 0)
    block_size = _BLOCK_SIZES.get(descriptor >> 4)
    if flags & _VERSION_MASK != _VERSION_BITS or flags & _RESERVED_FLAGS or block_size is None or descriptor & 0x0F:
        raise DecompressionError(f"The LZ4 frame has unknown flags {flags:#04x} {descriptor:#04x}")
    if not flags & _INDEPENDENT_BLOCKS:
        raise DecompressionError("LZ4 frames of dependent blocks are not supported")
    if len(frame) <= end or (magic > 0 and frame[end] != _header_checksum(frame[_FLAGS_AT:end])):
        raise DecompressionError("The header of the LZ4 frame does not have the checksum it says")
    return end + 1, block_size, 4 if flags & _BLOCK_CHECKSUM else 0


def _decompress_block(block: memoryview, out: bytearray) -> int:
    """Decompress a block into `out`; return its size."""
    try:
        return cramjam.lz4.decompress_block_into(block, out, output_len=len(out))
    except cramjam.DecompressionError as problem:
        raise DecompressionError(f"An LZ4 block does not decompress: {problem}") from None


def _decompress_checked_block(block: memoryview, out: bytearray, descriptor: int) -> int:
    """Decompress a block with its size before it and its checksum after it into `out`; return its size.

    The checksum is the library's to verify, which it does only in frames; so the block becomes a frame of its own.
    """
    fields = bytes([_VERSION_BITS | _INDEPENDENT_BLOCKS | _BLOCK_CHECKSUM, descriptor])
    frame = b"".join((_MAGIC, fields, bytes([_header_checksum(fields)]), block, _END_MARK))
    try:
        return cramjam.lz4.decompress_into(frame, out)
    except cramjam.DecompressionError as problem:
        raise DecompressionError(f"An LZ4 block does not decompress: {problem}") from None


def _header_checksum(fields: Buffer) -> int:
    """Return the second byte of xxHash32 (seed 0) of the 2 to 14 bytes of a frame header."""
    value = (374761393 + len(fields)) & 0xFFFFFFFF
    whole = len(fields) & ~3
    for (word,) in _U32.iter_unpack(fields[:whole]):
        value = (value + word * 3266489917) & 0xFFFFFFFF
        value = ((value << 17 | value >> 15) * 668265263) & 0xFFFFFFFF
    for byte in fields[whole:]:
        value = (value + byte * 374761393) & 0xFFFFFFFF
        value = ((value << 11 | value >> 21) * 2654435761) & 0xFFFFFFFF
    value = ((value ^ value >> 15) * 2246822519) & 0xFFFFFFFF
    value = ((value ^ value >> 13) * 3266489917) & 0xFFFFFFFF
    return (value ^ value >> 16) >> 8 & 0xFF
