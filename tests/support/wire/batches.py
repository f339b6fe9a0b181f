"""Record batches (format V2) with every header field at the test's choice, right or wrong."""

import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import crcmod.predefined

from tests.support.wire.codec import unsigned_varint

_crc32c = crcmod.predefined.mkPredefinedCrcFun("crc-32c")


class Record(NamedTuple):
    """A record as a producer sees it."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFields:
    """Header fields that a test may want to be unusual; None means what a correct producer writes."""

    base_offset: int = 0
    leader_epoch: int = -1
    magic: int = 2
    attributes: int = 0
    timestamp: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    count: int | None = None
    crc_flip: int = 0
    body: bytes | None = None


def build_batch(records: Sequence[Record], fields: BatchFields | None = None) -> bytes:
    """Return one batch with all records at the same timestamp, uncompressed unless `fields.body` brings other bytes."""
    fields = fields or BatchFields()
    timestamp = int(time.time() * 1000) if fields.timestamp is None else fields.timestamp
    body = (
        b"".join(_record(delta, record) for delta, record in enumerate(records)) if fields.body is None else fields.body
    )
    count = len(records) if fields.count is None else fields.count
    checked = (
        struct.pack(
            ">hiqqqhii",
            fields.attributes,
            max(count - 1, 0),
            timestamp,
            timestamp,
            fields.producer_id,
            fields.producer_epoch,
            fields.base_sequence,
            count,
        )
        + body
    )
    crc = _crc32c(checked) ^ fields.crc_flip
    return struct.pack(">qiibI", fields.base_offset, len(checked) + 9, fields.leader_epoch, fields.magic, crc) + checked


def _record(offset_delta: int, record: Record) -> bytes:
    out = b"\0" + _varint(0) + _varint(offset_delta) + _bytes(record.key) + _bytes(record.value)
    out += _varint(len(record.headers))
    for name, value in record.headers:
        out += _bytes(name.encode()) + _bytes(value)
    return _varint(len(out)) + out


def _bytes(value: bytes | None) -> bytes:
    return _varint(-1) if value is None else _varint(len(value)) + value


def _varint(number: int) -> bytes:
    return unsigned_varint((number << 1) ^ (number >> 63))
