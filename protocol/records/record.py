"""One record inside a V2 batch: reading and writing.

Owns the layout of a record and of the record part of a batch; takes the batch header from `batch` and the codecs from
`compression`. This is for those who look at records (compaction, timestamp search, coordinators, tools); produce and
fetch never come here. Follows Kafka's storage format, record inside a V2 batch.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from odradek.protocol.records.batch import HEADER_SIZE, BatchHeader, read_header
from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.compression import DEFAULT_LIMIT, decompress
from odradek.protocol.records.errors import InvalidRecord
from odradek.protocol.records.varint import encode_varint, read_varint, read_varlong

Headers: TypeAlias = tuple[tuple[bytes, bytes | None], ...]
"""Names (UTF-8, unchecked) and values of a record's headers, in order; a name may come more than once."""

MAX_HEADERS = 1 << 19
"""Headers of a record that is read: as many as a megabyte has room for. Each is an object, and a few kilobytes of zstd
can be sixty million."""


class Record(NamedTuple):
    """A record as a reader sees it: `timestamp` is the append time where the batch says so, -1 where there is none."""

    offset: int
    timestamp: int
    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()


def iter_records(batch: Buffer, limit: int = DEFAULT_LIMIT) -> Iterator[Record]:
    """Yield the records of the V2 batch at the start of `batch`, decompressed to at most `limit` bytes.

    The checksum is not looked at. Raises InvalidRecord where the records do not fill the batch exactly or one of them
    is malformed, and the errors of `decompress`; records before the fault have been yielded by then.
    """
    header = read_header(batch)
    if len(batch) < header.size:
        raise InvalidRecord(f"The batch of {header.size} bytes ends after {len(batch)}")
    body: Buffer = memoryview(batch)[HEADER_SIZE : header.size]
    return iter_body(decompress(header.codec, body, limit), header)


def iter_body(body: bytes, header: BatchHeader) -> Iterator[Record]:
    """Yield the records of `body`, the uncompressed record part of a batch with `header`, as `iter_records` does."""
    base_offset = header.base_offset
    base_timestamp = header.base_timestamp
    append_time = header.max_timestamp if header.is_log_append_time else None
    position = 0
    for _ in range(header.records_count):
        position, timestamp_delta, offset_delta, key, value, headers = read_record(body, position)
        timestamp = base_timestamp + timestamp_delta if append_time is None else append_time
        yield Record(base_offset + offset_delta, timestamp, key, value, headers)
    if position != len(body):
        raise InvalidRecord(f"The batch has {len(body) - position} bytes after its {header.records_count} records")


def read_record(body: bytes, position: int) -> tuple[int, int, int, bytes | None, bytes | None, Headers]:
    """Return (end, timestamp delta, offset delta, key, value, headers) of the record there; raise InvalidRecord."""
    length, start = read_varint(body, position)
    end = start + length
    if length <= 0 or end > len(body):
        raise InvalidRecord(
            f"Invalid record size: expected {length} bytes in record payload, but there are {len(body) - start}"
        )
    timestamp_delta, at = read_varlong(body, start + 1)  # the byte before is the record's attributes, all unused
    offset_delta, at = read_varint(body, at)
    key, at = _read_bytes(body, at, end)
    value, at = _read_bytes(body, at, end)
    headers: Headers = ()
    if at < end and body[at] == 0:
        at += 1
    else:
        headers, at = _read_headers(body, at, end)
    if at != end:
        raise InvalidRecord(f"Invalid record size: expected to read {length} bytes, but instead read {at - start}")
    return end, timestamp_delta, offset_delta, key, value, headers


def _read_bytes(body: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, start = read_varint(body, position)
    if length < 0:
        return None, start
    after = start + length
    if after > end:
        raise InvalidRecord(f"A field of {length} bytes does not fit into its record")
    return body[start:after], after


def _read_headers(body: bytes, position: int, end: int) -> tuple[Headers, int]:
    count, position = read_varint(body, position)
    if not 0 <= count <= end - position:
        raise InvalidRecord(f"Found invalid number of record headers {count}")
    if count > MAX_HEADERS:
        raise InvalidRecord(f"A record with {count} headers is not read; at most {MAX_HEADERS} are")
    headers = []
    for _ in range(count):
        name, position = _read_bytes(body, position, end)
        if name is None:
            raise InvalidRecord("Invalid negative header key size")
        value, position = _read_bytes(body, position, end)
        headers.append((name, value))
    return tuple(headers), position


def append_record(out: bytearray, record: Record, base_offset: int, base_timestamp: int) -> None:
    """Append one encoded record to `out`, its offset and timestamp relative to the two bases."""
    _, _, key, value, headers = record
    parts = [
        b"\0",
        encode_varint(record.timestamp - base_timestamp),
        encode_varint(record.offset - base_offset),
        b"\1" if key is None else encode_varint(len(key)) + key,
        b"\1" if value is None else encode_varint(len(value)) + value,
        _encode_headers(headers) if headers else b"\0",
    ]
    body = b"".join(parts)
    out += encode_varint(len(body))
    out += body


def _encode_headers(headers: Sequence[tuple[bytes, bytes | None]]) -> bytes:
    parts = [encode_varint(len(headers))]
    for name, value in headers:
        parts += (encode_varint(len(name)), name)
        if value is None:
            parts.append(b"\1")
        else:
            parts += (encode_varint(len(value)), value)
    return b"".join(parts)
