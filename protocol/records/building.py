"""Building V2 batches: for metadata, coordinators, rewriting, clients and tests.

Owns how header fields follow from records; the bytes of a record are `record`'s business. Produce does not build
batches: what clients send is stored as it came. Follows Kafka's storage format, record batch V2.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from odradek.protocol.records.batch import (
    ATTRIBUTES_AT,
    CONTROL_BIT,
    CRC_AT,
    CURRENT_MAGIC,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    Codec,
)
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.compression import compress
from odradek.protocol.records.record import Record, append_record

Pair: TypeAlias = tuple[bytes | None, bytes | None]


@dataclass(frozen=True, slots=True)
class BatchFields:
    """What a batch says beside its records; the defaults are those of a plain, uncompressed batch of a client."""

    base_offset: int | None = None
    """None: the offset of the first record."""
    last_offset: int | None = None
    """None: the offset of the last record. Compaction keeps the original one."""
    leader_epoch: int = NO_LEADER_EPOCH
    codec: Codec = Codec.NONE
    level: int | None = None
    """Compression level; None is the codec's default."""
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    transactional: bool = False
    control: bool = False
    log_append_time_ms: int | None = None
    """Where set, the time of every record, whatever each record says."""
    delete_horizon_ms: int | None = None
    """Where set, when tombstones and markers of the batch may be removed (KIP-534)."""


PLAIN = BatchFields()


def make_records(pairs: Iterable[Pair], timestamp: int = NO_TIMESTAMP, first_offset: int = 0) -> list[Record]:
    """Return records of (key, value) `pairs` with one timestamp and offsets in a row."""
    return [Record(first_offset + i, timestamp, key, value) for i, (key, value) in enumerate(pairs)]


def build_batch(records: Sequence[Record], fields: BatchFields = PLAIN) -> bytearray:
    """Return the bytes of a V2 batch of `records`, in the order given.

    Offsets must ascend from `fields.base_offset`. No records at all make the empty batch that compaction leaves behind:
    then `fields` must say both offsets.
    """
    first = records[0] if records else None
    base_offset = fields.base_offset
    if base_offset is None:
        base_offset = first.offset if first else 0
    last_offset = fields.last_offset
    if last_offset is None:
        last_offset = records[-1].offset if records else base_offset
    if fields.delete_horizon_ms is not None:
        base_timestamp = fields.delete_horizon_ms
    else:
        base_timestamp = first.timestamp if first else NO_TIMESTAMP
    body = bytearray()
    max_timestamp = first.timestamp if first else NO_TIMESTAMP
    for record in records:
        append_record(body, record, base_offset, base_timestamp)
        if record.timestamp > max_timestamp:
            max_timestamp = record.timestamp
    return assemble_batch(
        body,
        fields,
        offsets=(base_offset, last_offset),
        timestamps=(base_timestamp, max_timestamp),
        count=len(records),
    )


def assemble_batch(
    body: bytes | bytearray, fields: BatchFields, offsets: tuple[int, int], timestamps: tuple[int, int], count: int
) -> bytearray:
    """Return a batch around `body`, the encoded but uncompressed records.

    `offsets` are those of the first and the last record, `timestamps` the base and the largest; they stand in place of
    what `fields` says of offsets. An append time in `fields` takes the place of the largest timestamp.
    """
    codec = fields.codec if count else Codec.NONE
    attributes: int = codec
    max_timestamp = timestamps[1]
    if fields.transactional:
        attributes |= TRANSACTIONAL_BIT
    if fields.control:
        attributes |= CONTROL_BIT
    if fields.delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON_BIT
    if fields.log_append_time_ms is not None:
        attributes |= LOG_APPEND_TIME_BIT
        max_timestamp = fields.log_append_time_ms
    if codec:
        body = compress(codec, bytes(body), fields.level)
    out = bytearray(HEADER_SIZE)
    out += body
    HEADER.pack_into(
        out,
        0,
        offsets[0],
        len(out) - LOG_OVERHEAD,
        fields.leader_epoch,
        CURRENT_MAGIC,
        0,
        attributes,
        offsets[1] - offsets[0],
        timestamps[0],
        max_timestamp,
        fields.producer_id,
        fields.producer_epoch,
        fields.base_sequence,
        count,
    )
    with memoryview(out) as view, view[ATTRIBUTES_AT:] as covered:
        checksum = crc32c(covered, 0)
    out[CRC_AT:ATTRIBUTES_AT] = checksum.to_bytes(4, "big")
    return out
