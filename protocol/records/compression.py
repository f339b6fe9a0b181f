"""The four codecs of record batches, both ways.

Owns what a compressed blob looks like for Kafka and how much it may grow to; knows nothing of batches or records. Reads
what Kafka 4.3 reads (several gzip members or zstd frames in a row, bare and framed Snappy, one LZ4 frame of independent
blocks) and refuses what it refuses. Decompression never allocates more than the limit, whatever the data claims.
Follows Kafka's storage format, compressed payload containers (KIP-110 zstd, KIP-390 levels).
"""

import zlib

import cramjam

from odradek.protocol.records import lz4, snappy
from odradek.protocol.records.batch import LEAST_COUNTED_BLOCK, Codec
from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.errors import DecompressionError, TooMuchData

DEFAULT_LIMIT = 128 * 1024 * 1024
"""Largest decompressed size of one batch that is accepted.

A batch of the default `max.message.bytes` (1 MB) passes this only at a ratio above 128, where honest data is rare; the
time to go through this much, a fraction of a second, is what a malicious batch can cost.
"""

_GZIP_WINDOW_BITS = 31
"""zlib's way to ask for the gzip container with the largest window."""
_GZIP_MARK = b"\x1f\x8b\x08"
_NEXT_MEMBER_WINDOW = 8 * 1024
"""Bytes fed at a time to members after the first: zlib copies what it was fed in vain, for every member there is."""
_DEFAULT_GZIP_LEVEL = -1
_DEFAULT_ZSTD_LEVEL = 3
_SMALLEST_ZSTD_BUFFER = 64 * 1024
_USUAL_ZSTD_RATIO = 8
_ZSTD_BUFFER_FULL = "whole buffer"
"""What the library's message says where the output does not fit."""


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """Return `data` compressed; `level` is in the codec's own range (gzip -1, 1..9; lz4 1..17; zstd -131072..22)."""
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            stream = zlib.compressobj(_DEFAULT_GZIP_LEVEL if level is None else level, zlib.DEFLATED, _GZIP_WINDOW_BITS)
            return stream.compress(data) + stream.flush()
        case Codec.SNAPPY:
            return snappy.compress(data)
        case Codec.LZ4:
            return lz4.compress(data, level)
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=_DEFAULT_ZSTD_LEVEL if level is None else level))
    raise DecompressionError(f"Unknown compression type id: {codec}")


def decompress(codec: int, data: Buffer, limit: int = DEFAULT_LIMIT) -> bytes:
    """Return the content of `data`, at most `limit` bytes of it being allocated.

    Blocks (LZ4, Snappy) and members (gzip) that hold less than `LEAST_COUNTED_BLOCK` count for so much against the
    limit, but for the last one. Raises DecompressionError where the codec is unknown or the data damaged, TooMuchData
    where it holds more than the limit.
    """
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return _gunzip(data, limit)
        case Codec.SNAPPY:
            return snappy.decompress(data, limit)
        case Codec.LZ4:
            return lz4.decompress(data, limit)
        case Codec.ZSTD:
            return _unzstd(data, limit)
    raise DecompressionError(f"Unknown compression type id: {codec}")


def _gunzip(data: Buffer, limit: int) -> bytes:
    """Decompress gzip members in a row; bytes after one that are no further member are ignored, as Java does."""
    view = memoryview(data)
    window = len(view)
    parts: list[bytes] = []
    total = counted = 0
    position = 0
    stream = zlib.decompressobj(_GZIP_WINDOW_BITS)
    while True:
        piece = view[position : position + window]
        if not piece:
            raise DecompressionError("The gzip data ends too early")
        try:
            content = stream.decompress(piece, limit - total + 1)
        except zlib.error as problem:
            raise DecompressionError(f"The gzip data does not decompress: {problem}") from None
        total += len(content)
        if total > limit or counted > limit:
            raise TooMuchData(limit)
        counted += max(len(content), LEAST_COUNTED_BLOCK)
        parts.append(content)
        position += len(piece)
        if stream.eof:
            position -= len(stream.unused_data)
            if view[position : position + len(_GZIP_MARK)] != _GZIP_MARK:
                return parts[0] if len(parts) == 1 else b"".join(parts)
            stream = zlib.decompressobj(_GZIP_WINDOW_BITS)
            window = _NEXT_MEMBER_WINDOW


def _unzstd(data: Buffer, limit: int) -> bytes:
    """Decompress zstd frames in a row, into a buffer that grows until they fit or the limit is reached.

    Frames need not say how much they hold (Java's do not); the library fills a given buffer, never writing past it.
    """
    if not data:
        return b""  # no frame at all is valid to Java's reader
    size = min(limit, max(_SMALLEST_ZSTD_BUFFER, len(data) * _USUAL_ZSTD_RATIO))
    while True:
        out = bytearray(size)
        try:
            written = cramjam.zstd.decompress_into(data, out)
        except cramjam.DecompressionError as problem:
            if _ZSTD_BUFFER_FULL not in str(problem):
                raise DecompressionError(f"The zstd data does not decompress: {problem}") from None
            if size >= limit:
                raise TooMuchData(limit) from None
            size = min(limit, size * 4)
        else:
            return bytes(memoryview(out)[:written])
