"""A batch taken apart to the byte: each field of its header and of its records, where it lies and what it says.

Pure: bytes in, values out. Positions in the header count from the start of the batch; those of records from the start
of the record part, as it is without compression. Follows Kafka's storage format, record batch V2, record inside a V2
batch, message set V0/V1.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from odradek.logs.batch_values import CODEC_NAMES
from odradek.protocol.records.batch import (
    ATTRIBUTES_AT,
    BASE_SEQUENCE_AT,
    BASE_TIMESTAMP_AT,
    CODEC_MASK,
    CONTROL_BIT,
    CRC_AT,
    CURRENT_MAGIC,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LEADER_EPOCH_AT,
    LENGTH_AT,
    LOG_APPEND_TIME_BIT,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    PRODUCER_EPOCH_AT,
    PRODUCER_ID_AT,
    RECORDS_COUNT_AT,
    TRANSACTIONAL_BIT,
)
from odradek.protocol.records.errors import CorruptRecord, InvalidRecord
from odradek.protocol.records.varint import read_varint, read_varlong

MOST_HEADERS: Final = 100
"""Headers of a record that are taken apart; the rest is one piece."""


class FieldBytes(NamedTuple):
    """A field, and the bytes that it is made of."""

    name: str
    """As Kafka has it."""
    start: int
    size: int
    value: int | bytes | None
    """None for null bytes."""
    meaning: str = ""
    """What the value says, where it does not speak for itself."""

    @property
    def end(self) -> int:
        """First byte behind it."""
        return self.start + self.size


class RecordBytes(NamedTuple):
    """A record, and the bytes that it is made of."""

    number: int
    start: int
    size: int
    fields: tuple[FieldBytes, ...]


_HEADER: Final = (
    ("baseOffset", 0, ">q", "offset of the first record"),
    ("batchLength", LENGTH_AT, ">i", "bytes that follow this field"),
    ("partitionLeaderEpoch", LEADER_EPOCH_AT, ">i", "epoch of the leader that took the batch"),
    ("magic", MAGIC_AT, ">b", "version of the format"),
    ("crc", CRC_AT, ">I", "CRC-32C of all that follows"),
    ("attributes", ATTRIBUTES_AT, ">H", ""),
    ("lastOffsetDelta", LAST_OFFSET_DELTA_AT, ">i", "from the base offset to the last one"),
    ("baseTimestamp", BASE_TIMESTAMP_AT, ">q", "records have theirs as a distance from it"),
    ("maxTimestamp", MAX_TIMESTAMP_AT, ">q", "the largest of the records"),
    ("producerId", PRODUCER_ID_AT, ">q", "-1: not idempotent"),
    ("producerEpoch", PRODUCER_EPOCH_AT, ">h", ""),
    ("baseSequence", BASE_SEQUENCE_AT, ">i", "by which a batch that is sent twice is known"),
    ("recordsCount", RECORDS_COUNT_AT, ">i", ""),
)
_MESSAGE: Final = (
    ("offset", 0, ">q", "of a compressed message: that of the last record in it"),
    ("messageSize", LENGTH_AT, ">i", "bytes that follow this field"),
    ("crc", 12, ">I", "CRC-32 of all that follows"),
    ("magic", MAGIC_AT, ">b", "version of the format"),
    ("attributes", MAGIC_AT + 1, ">B", ""),
)


def header_fields(batch: bytes) -> list[FieldBytes]:
    """Return the fields of the header of a batch (61 bytes), or all those of an old message.

    Raises CorruptRecord where the bytes end inside them.
    """
    if len(batch) <= MAGIC_AT:
        raise CorruptRecord(f"No entry of a log has only {len(batch)} bytes")
    if batch[MAGIC_AT] != CURRENT_MAGIC:
        return _message_fields(batch)
    if len(batch) < HEADER_SIZE:
        raise CorruptRecord(f"The data ends inside the batch header, after {len(batch)} bytes")
    return [_fixed(batch, *each) for each in _HEADER]


def attributes_text(attributes: int) -> str:
    """Return what the bits of a batch's attributes mean."""
    told = [f"compression {CODEC_NAMES[attributes & CODEC_MASK]}"]
    told.append("LogAppendTime" if attributes & LOG_APPEND_TIME_BIT else "CreateTime")
    told += [
        text
        for bit, text in (
            (TRANSACTIONAL_BIT, "transactional"),
            (CONTROL_BIT, "control batch"),
            (DELETE_HORIZON_BIT, "baseTimestamp is the delete horizon"),
        )
        if attributes & bit
    ]
    return ", ".join(told)


def iter_record_bytes(body: bytes, count: int) -> Iterator[RecordBytes]:
    """Yield `count` records of the record part of a V2 batch, uncompressed. Raises InvalidRecord at a malformed one."""
    position = 0
    for number in range(count):
        record = _record(body, position, number)
        yield record
        position = record.start + record.size


def _record(body: bytes, start: int, number: int) -> RecordBytes:
    length, at = read_varint(body, start)
    end = at + length
    if length <= 0 or end > len(body):
        raise InvalidRecord(f"The record at byte {start} says it has {length} bytes, but {len(body) - at} are left")
    fields = [FieldBytes("length", start, at - start, length, "bytes that follow this field")]
    fields.append(FieldBytes("attributes", at, 1, body[at], "unused"))
    at += 1
    delta, after = read_varlong(body, at)
    fields.append(FieldBytes("timestampDelta", at, after - at, delta, "from baseTimestamp"))
    offset_delta, at = read_varint(body, after)
    fields.append(FieldBytes("offsetDelta", after, at - after, offset_delta, "from baseOffset"))
    for name in ("key", "value"):
        at = _bytes(body, at, end, name, fields)
    count, after = read_varint(body, at)
    if not 0 <= count <= end - after:
        raise InvalidRecord(f"Found invalid number of record headers {count}")
    fields.append(FieldBytes("headersCount", at, after - at, count))
    at = after
    for each in range(min(count, MOST_HEADERS)):
        at = _bytes(body, at, end, f"header {each} key", fields)
        if fields[-1].value is None:
            raise InvalidRecord("Invalid negative header key size")
        at = _bytes(body, at, end, f"header {each} value", fields)
    if count > MOST_HEADERS:
        rest = FieldBytes(f"{count - MOST_HEADERS} more headers", at, end - at, bytes(body[at:end]))
        fields.append(rest)
    elif at != end:
        raise InvalidRecord(f"The record at byte {start} has {end - at} bytes behind its headers")
    return RecordBytes(number, start, end - start, tuple(fields))


def _bytes(body: bytes, at: int, end: int, name: str, fields: list[FieldBytes]) -> int:
    """Add the size of a field of bytes and its content; return where it ends."""
    length, start = read_varint(body, at)
    if start + max(length, 0) > end:
        raise InvalidRecord(f"A field of {length} bytes does not fit into its record")
    fields.append(FieldBytes(f"{name} length", at, start - at, length, "null" if length < 0 else ""))
    content = None if length < 0 else bytes(body[start : start + length])
    fields.append(FieldBytes(name, start, max(length, 0), content))
    return start + max(length, 0)


def _message_fields(batch: bytes) -> list[FieldBytes]:
    fields = [_fixed(batch, *each) for each in _MESSAGE]
    at = MAGIC_AT + 2
    if batch[MAGIC_AT] == 1:
        fields.append(_fixed(batch, "timestamp", at, ">q", "of the record, or the largest of those in it"))
        at += 8
    for name in ("key", "value"):
        size = _fixed(batch, f"{name} length", at, ">i", "")
        assert isinstance(size.value, int)
        fields.append(size)
        at, length = size.end, max(size.value, 0)
        if at + length > len(batch):
            raise CorruptRecord(f"A field of {length} bytes does not fit into its message")
        fields.append(FieldBytes(name, at, length, None if size.value < 0 else bytes(batch[at : at + length])))
        at += length
    return fields


def _fixed(batch: bytes, name: str, at: int, form: str, meaning: str) -> FieldBytes:
    layout = Struct(form)
    if at + layout.size > len(batch):
        raise CorruptRecord(f"The data ends inside the field {name} at byte {at}")
    (value,) = layout.unpack_from(batch, at)
    if name == "attributes":
        meaning = attributes_text(value)
    return FieldBytes(name, at, layout.size, value, meaning)
