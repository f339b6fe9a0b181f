"""Making messages of versions 0 and 1: for old clients that fetch, for rewriting old logs, and for tests.

Owns how the fields of a wrapper follow from what it wraps. Headers of records have no place in a message and are left
out. Follows Kafka's storage format, message set V0/V1.
"""

import zlib
from collections.abc import Iterable, Sequence
from struct import Struct

from odradek.protocol.records import lz4
from odradek.protocol.records.batch import LOG_APPEND_TIME_BIT, LOG_OVERHEAD, NO_TIMESTAMP, Codec
from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.compression import compress
from odradek.protocol.records.errors import UnsupportedCompression
from odradek.protocol.records.record import Record

_HEAD = Struct(">qiI")
_FRONT = (Struct(">bBi"), Struct(">bBqi"))
"""Magic, attributes, (V1) timestamp, length of the key."""
_INT32 = Struct(">i")
_NULL = -1


def build_message(record: Record, magic: int, attributes: int = 0) -> bytes:
    """Return the message of `magic` 0 or 1 that says what `record` does, headers excepted."""
    return _message(record.offset, record.timestamp, record.key, record.value, magic, attributes)


def _message(offset: int, timestamp: int, key: bytes | None, value: bytes | None, magic: int, attributes: int) -> bytes:
    key_length = _NULL if key is None else len(key)
    if magic == 0:
        front = _FRONT[0].pack(0, attributes, key_length)
    else:
        front = _FRONT[1].pack(magic, attributes, timestamp, key_length)
    body = b"".join((front, key or b"", _INT32.pack(_NULL if value is None else len(value)), value or b""))
    return _HEAD.pack(offset, len(body) + 4, zlib.crc32(body)) + body


def build_wrapper(
    records: Sequence[Record],
    magic: int,
    codec: Codec,
    log_append_time_ms: int | None = None,
    level: int | None = None,
) -> bytes:
    """Return the one message that wraps `records` (at least one), compressed.

    Offsets inside are relative in version 1, absolute in version 0. `log_append_time_ms`, where set, is the time of
    every record (version 1 only). Raises UnsupportedCompression for zstd, which came with version 2.
    """
    if codec is Codec.ZSTD:
        raise UnsupportedCompression(f"Messages of version {magic} cannot be compressed with zstd")
    base = records[0].offset if magic else 0
    append_time = log_append_time_ms if magic else None
    attributes = LOG_APPEND_TIME_BIT if append_time is not None else 0
    inner = b"".join(
        _message(
            record.offset - base,
            record.timestamp if append_time is None else append_time,
            record.key,
            record.value,
            magic,
            attributes,
        )
        for record in records
    )
    timestamp = append_time
    if timestamp is None:
        timestamp = max((record.timestamp for record in records), default=NO_TIMESTAMP)
    return _message(
        records[-1].offset, timestamp, None, _compress(codec, inner, level, magic), magic, attributes | codec
    )


def build_message_set(
    records: Iterable[Record], magic: int, codec: Codec = Codec.NONE, log_append_time_ms: int | None = None
) -> bytes:
    """Return `records` as messages in a row, or as one wrapper where there is a codec; nothing if there are none."""
    given = list(records)
    if codec is not Codec.NONE:
        return build_wrapper(given, magic, codec, log_append_time_ms) if given else b""
    append_time = log_append_time_ms if magic else None
    attributes = LOG_APPEND_TIME_BIT if append_time is not None else 0
    if append_time is not None:
        given = [record._replace(timestamp=append_time) for record in given]
    return b"".join(build_message(record, magic, attributes) for record in given)


def message_size(key: Buffer | None, value: Buffer | None, magic: int) -> int:
    """Return the bytes of an uncompressed message with this key and value."""
    overhead = LOG_OVERHEAD + (22 if magic else 14)
    return overhead + len(key or b"") + len(value or b"")


def _compress(codec: Codec, data: bytes, level: int | None, magic: int) -> bytes:
    if codec is Codec.LZ4:
        return lz4.compress(data, level, magic)
    return compress(codec, data, level)
