"""Batches in place of those that lose records: with fewer, or with none.

They say the same as the batch that they stand for: offsets, sequence, producer, leader epoch, codec. Records that stay
are copied as they are; only where a delete horizon is set are they encoded again, since it takes the place of the time
that theirs count from (KIP-534). Follows Kafka's storage format, record batch V2.
"""

from __future__ import annotations

from collections.abc import Sequence

from odradek.protocol.records.batch import NO_TIMESTAMP, BatchHeader, Codec
from odradek.protocol.records.building import BatchFields, assemble_batch
from odradek.protocol.records.varint import encode_varint, read_varint, read_varlong
from odradek.storage.compaction.entries import RecordPlace


def empty_batch(header: BatchHeader) -> bytearray:
    """Return the batch without records that stands for this one: its offsets, producer and sequence are still known."""
    fields = _fields_of(header, None)
    return assemble_batch(
        b"", fields, (header.base_offset, header.last_offset), (NO_TIMESTAMP, header.max_timestamp), 0
    )


def partial_batch(
    header: BatchHeader, data: bytes, records: Sequence[RecordPlace], horizon_ms: int | None
) -> bytearray:
    """Return the batch with only these records of its uncompressed `data`, and a delete horizon if one is given."""
    max_timestamp = max(record[2] for record in records) + header.base_timestamp
    if horizon_ms is None:
        body = b"".join([data[record[0] : record[1]] for record in records])
        base_timestamp = header.base_timestamp
    else:
        shift = header.base_timestamp - horizon_ms
        body = b"".join([_shifted(data, record, shift) for record in records])
        base_timestamp = horizon_ms
    return assemble_batch(
        body,
        _fields_of(header, horizon_ms if horizon_ms is not None else header.delete_horizon_ms),
        (header.base_offset, header.last_offset),
        (base_timestamp, max_timestamp),
        len(records),
    )


def _fields_of(header: BatchHeader, horizon_ms: int | None) -> BatchFields:
    """Return what a batch in place of this one says beside its records."""
    return BatchFields(
        leader_epoch=header.partition_leader_epoch,
        codec=Codec(header.codec),
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
    rest = b"".join((data[at : at + 1], encode_varint(delta + shift_ms), data[after:end]))
    return encode_varint(len(rest)) + rest
