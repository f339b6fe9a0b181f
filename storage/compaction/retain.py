"""Which batches and records stay in a log that is compacted.

Pure rules over headers and the places of records. Follows Kafka's log behaviour, log cleaner, "One round" (`Cleaner`;
KIP-534 delete horizons):

| what | stays |
|---|---|
| record with a value | if no later record has its key, or it lies behind what the offset map covers |
| tombstone | the same, until its time is over: V2 a delete horizon in its batch, V0 and V1 by the age of the segment |
| record without a key | only behind what the offset map covers |
| record of an aborted transaction | never |
| transaction marker | until no record of its transaction is left, and then until its delete horizon |
| batch without records | where a producer's last sequence number is known from it, and as the last one of the round |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from odradek.protocol.records.batch import BatchHeader
from odradek.storage.compaction.entries import RecordPlace
from odradek.storage.compaction.values import NO_OFFSET, LastBatch


class LatestOffsets(Protocol):
    """The part of the offset map that is asked."""

    latest_offset: int

    def get(self, key: bytes) -> int: ...


class BatchFate(Enum):
    """What becomes of a batch whose records go."""

    REMOVE = "it goes, without a look at its records"
    REMOVE_IF_EMPTY = "it goes if no record stays"
    KEEP = "it stays, without records if need be"


class RoundRules(NamedTuple):
    """What holds for a whole round."""

    offsets: LatestOffsets
    now_ms: int
    producers: Mapping[int, LastBatch]
    end: int
    """First offset after all that may be compacted."""


def records_must_go(header: BatchHeader, may_go: bool, now_ms: int) -> bool:
    """Return whether all records of a batch go, whatever their keys.

    `may_go`: they belong to an aborted transaction, or to a marker of which no transaction is left.
    """
    if not header.is_control:
        return may_go
    horizon = header.delete_horizon_ms
    return may_go and horizon is not None and horizon <= now_ms


def fate_of(header: BatchHeader, must_go: bool, rules: RoundRules) -> BatchFate:
    """Return what becomes of a batch once the fate of its records is known; `must_go`: see `records_must_go`."""
    if is_last_of_producer(header, rules.producers) or header.next_offset == rules.end:
        return BatchFate.KEEP
    return BatchFate.REMOVE if must_go else BatchFate.REMOVE_IF_EMPTY


def is_last_of_producer(header: BatchHeader, producers: Mapping[int, LastBatch]) -> bool:
    """Return whether the state of the batch's producer would be lost with it."""
    if not header.has_producer_id:
        return False
    last = producers.get(header.producer_id)
    if last is None:
        return False
    if last.offset != NO_OFFSET:
        return header.last_offset == last.offset
    return header.is_control and header.producer_epoch == last.epoch


def tombstones_stay(header: BatchHeader, now_ms: int) -> bool:
    """Return whether the time of the tombstones in a V2 batch is not over yet."""
    horizon = header.delete_horizon_ms
    return horizon is None or now_ms < horizon


def kept_records(
    header: BatchHeader, records: Sequence[RecordPlace], offsets: LatestOffsets, tombstones: bool
) -> list[RecordPlace]:
    """Return the records of a V2 batch that stay; `tombstones`: those may stay."""
    base, latest, get = header.base_offset, offsets.latest_offset, offsets.get
    return [
        record
        for record in records
        if base + record[3] > latest
        or ((key := record[4]) is not None and (record[5] or tombstones) and base + record[3] >= get(key))
    ]


def is_kept(offset: int, key: bytes | None, has_value: bool, offsets: LatestOffsets, tombstones: bool) -> bool:
    """Return whether one record stays."""
    if offset > offsets.latest_offset:
        return True
    return key is not None and (has_value or tombstones) and offset >= offsets.get(key)
