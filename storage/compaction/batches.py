"""Batches in place of those that lose records: with fewer, or with none.

They say the same as the batch that they stand for: offsets, sequence, producer, leader epoch, codec. Records that stay
are copied as they are; only where a delete horizon is set are they encoded again, since it takes the place of the time
that theirs count from (KIP-534). Follows Kafka's storage format, record batch V2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from odradek.protocol.records.batch import NO_TIMESTAMP, BatchHeader, Codec
from odradek.protocol.records.building import BatchFields, assemble_batch
from odradek.protocol.records.errors import InvalidRecord
from odradek.protocol.records.varint import encode_varint, read_varint, read_varlong
from odradek.storage.compaction.entries import RecordPlace

_MIN_INT64 = -(1 << 63)
_MAX_INT64 = (1 << 63) - 1


def empty_batch(header: BatchHeader) -> bytearray:
    """Return the batch without records that stands for this one: its offsets, producer and sequence are still known."""
    fields = _fields_of(header, Codec.NONE, None)  # whatever codec it names, known or not: there is nothing to compress
    return assemble_batch(
        b"", fields, (header.base_offset, header.last_offset), (NO_TIMESTAMP, header.max_timestamp), 0
    )


def partial_batch(
    header: BatchHeader, data: bytes, portions: Iterable[Sequence[RecordPlace]], horizon_ms: int | None
) -> bytearray:
    """Return the batch with only these records of its uncompressed `data`, and a delete horizon if one is given.

    `portions` has the places of at least one record. Raises InvalidRecord where a time is not an int64.
    """
    base_timestamp = header.base_timestamp if horizon_ms is None else horizon_ms
    shift = header.base_timestamp - base_timestamp
    pieces: list[bytes] = []
    count, largest = 0, _MIN_INT64
    for records in portions:
        if not records:
            continue
        latest = max(record[2] for record in records)
        largest = max(largest, latest)
        count += len(records)
        if horizon_ms is None:
            pieces.append(b"".join([data[record[0] : record[1]] for record in records]))
        else:
            pieces.append(b"".join([_shifted(data, record, shift) for record in records]))
    max_timestamp = largest + header.base_timestamp
    if not _MIN_INT64 <= max_timestamp <= _MAX_INT64:
        raise InvalidRecord(f"A record has the timestamp {max_timestamp}, which is no int64")
    return assemble_batch(
        pieces[0] if len(pieces) == 1 else b"".join(pieces),
        _fields_of(header, Codec(header.codec), horizon_ms if horizon_ms is not None else header.delete_horizon_ms),
        (header.base_offset, header.last_offset),
        (base_timestamp, max_timestamp),
        count,
    )


def _fields_of(header: BatchHeader, codec: Codec, horizon_ms: int | None) -> BatchFields:
    """Return what a batch in place of this one says beside its records."""
    return BatchFields(
        leader_epoch=header.partition_leader_epoch,
        codec=codec,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        control=header.is_control,
        log_append_time_ms=header.max_timestamp if header.is_log_append_time else None,
        delete_horizon_ms=horizon_ms,
    )


def _shifted(data: bytes, record: RecordPlace, shift_ms: int) -> bytes:
    """Return the record with its time counted from another base."""
    start, end = record[0], record[1]
    _, at = read_varint(data, start)
    delta, after = read_varlong(data, at + 1)
    if not _MIN_INT64 <= delta + shift_ms <= _MAX_INT64:
        raise InvalidRecord(f"A record has a time {delta + shift_ms} ms from that of its batch, which is no int64")
    rest = b"".join((data[at : at + 1], encode_varint(delta + shift_ms), data[after:end]))
    return encode_varint(len(rest)) + rest
