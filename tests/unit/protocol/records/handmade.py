"""Batches made by hand, field by field, so that any of them can be wrong; shares nothing with the code under test."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from crcmod.predefined import mkPredefinedCrcFun

castagnoli = mkPredefinedCrcFun("crc-32c")


def zigzag(value: int) -> bytes:
    """Encode a varint the slow way."""
    rest = value * 2 if value >= 0 else -value * 2 - 1
    out = []
    while rest >= 128:
        out.append(rest % 128 + 128)
        rest //= 128
    return bytes([*out, rest])


def nullable(data: bytes | None) -> bytes:
    """Encode bytes with their length before them."""
    return zigzag(-1) if data is None else zigzag(len(data)) + data


@dataclass(frozen=True)
class HandmadeRecord:
    """A record, valid as it stands by default."""

    place: int = 0
    timestamp_delta: int = 0
    key: bytes | None = b"a"
    value: bytes | None = b"1"
    headers: Sequence[tuple[bytes, bytes | None]] = ()
    attributes: int = 0
    length: int | None = None
    """What the length field says; None is the truth."""
    tail: bytes = b""
    """Bytes after the fields, inside the record."""

    def encode(self) -> bytes:
        """Return the record as it lies in a batch."""
        body = bytes([self.attributes]) + zigzag(self.timestamp_delta) + zigzag(self.place)
        body += nullable(self.key) + nullable(self.value) + zigzag(len(self.headers))
        encoded = {header: nullable(header[0]) + nullable(header[1]) for header in set(self.headers)}
        body += b"".join([encoded[header] for header in self.headers]) + self.tail
        return zigzag(len(body) if self.length is None else self.length) + body


def records(count: int, **fields: object) -> bytes:
    """Return `count` encoded records that differ in nothing but their place."""
    return b"".join(HandmadeRecord(place, **fields).encode() for place in range(count))  # type: ignore[arg-type]  # forwarded


@dataclass(frozen=True)
class HandmadeBatch:
    """A batch; with the right `count` and times it is valid as it stands by default."""

    body: bytes
    count: int = 1
    attributes: int = 0
    last_offset_delta: int | None = None
    base_timestamp: int = 0
    max_timestamp: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    base_offset: int = 0
    magic: int = 2
    leader_epoch: int = -1
    checksum: int | None = None
    length: int | None = None

    def encode(self) -> bytearray:
        """Return the bytes of the batch."""
        covered = struct.pack(
            ">hiqqqhii",
            self.attributes,
            self.count - 1 if self.last_offset_delta is None else self.last_offset_delta,
            self.base_timestamp,
            self.base_timestamp if self.max_timestamp is None else self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.count,
        )
        covered += self.body
        head = struct.pack(
            ">qiibI",
            self.base_offset,
            len(covered) + 9 if self.length is None else self.length,
            self.leader_epoch,
            self.magic,
            castagnoli(covered) if self.checksum is None else self.checksum,
        )
        return bytearray(head + covered)


def legacy_entry(offset: int, magic: int, value: bytes, timestamp: int = -1, attributes: int = 0) -> bytes:
    """Return an entry of a message set of version 0 or 1, with no key."""
    content = struct.pack(">bb", magic, attributes)
    if magic == 1:
        content += struct.pack(">q", timestamp)
    content += struct.pack(">i", -1) + struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", offset, len(content) + 4, zlib.crc32(content)) + content
