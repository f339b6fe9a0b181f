"""Messages of versions 0 and 1 made by hand, any field of them wrong if need be; shares no code with what is tested."""

import gzip
import struct
import zlib


def message(
    magic: int = 1,
    offset: int = 0,
    timestamp: int = 1000,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    attributes: int = 0,
    *,
    tail: bytes = b"",
    length: int | None = None,
    crc: int | None = None,
) -> bytes:
    """Return one message; `tail` comes after the value, `length` and `crc` stand in place of the right ones."""
    body = struct.pack(">bb", magic, attributes)
    if magic >= 1:
        body += struct.pack(">q", timestamp)
    for field in (key, value):
        body += struct.pack(">i", -1) if field is None else struct.pack(">i", len(field)) + field
    body += tail
    checksum = zlib.crc32(body) if crc is None else crc
    size = len(body) + 4 if length is None else length
    return struct.pack(">qiI", offset, size, checksum) + body


def gzip_wrapper(
    content: bytes, magic: int = 1, offset: int = 0, timestamp: int = 1000, log_append_time: bool = False
) -> bytes:
    """Return a wrapper around any bytes."""
    attributes = 1 | (8 if log_append_time else 0)
    return message(magic, offset, timestamp, None, gzip.compress(content, mtime=0), attributes)
