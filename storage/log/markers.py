"""Appending the markers that end transactions.

A marker is a control batch of one record. When it says abort, readers of committed records must be told to pass over
the transaction: that is what the transaction index of its segment is for. Follows Kafka's storage format, control
batches and transaction index (KIP-98, KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.records.batch import read_header
from odradek.protocol.records.errors import InvalidRecord
from odradek.storage.log.log_values import AppendInfo
from odradek.storage.producers.producer_replay import read_marker
from odradek.storage.producers.producer_state import CompletedTransaction
from odradek.storage.segment.segment import Segment
from odradek.storage.segment.transaction_index import AbortedTransaction
from odradek.storage.validation import assign_offsets

if TYPE_CHECKING:
    from odradek.storage.log.log import Log


def append_marker(log: Log, batch: bytearray, leader_epoch: int, now_ms: int, transaction_version: int) -> AppendInfo:
    """Append a transaction marker; see `Log.append_marker`."""
    header, marker = read_header(batch), read_marker(batch)
    if marker is None:
        raise InvalidRecord("The batch is no transaction marker")
    log.producers.check_marker(header, marker.coordinator_epoch, transaction_version)
    offset = log.log_end_offset
    last_offset = offset + header.last_offset_delta
    assign_offsets(batch, offset, leader_epoch)
    segment = log.write(batch, offset, last_offset, header.max_timestamp, now_ms)
    segment.note_batch(len(batch), last_offset, header.max_timestamp)
    log.log_end_offset = last_offset + 1
    log.size += len(batch)
    log.note_leader_epoch(leader_epoch, offset)
    completed = log.producers.update_marker(header, offset, marker.coordinator_epoch, not marker.committed)
    note_completed(segment, completed)
    return AppendInfo(offset, last_offset, header.max_timestamp, -1, log.log_start_offset, len(batch))


def note_completed(segment: Segment, completed: CompletedTransaction | None) -> None:
    """Put a transaction that a marker in this segment has aborted into the segment's index."""
    if completed is not None and completed.is_aborted:
        segment.transaction_index.append(
            AbortedTransaction(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                completed.last_stable_offset,
            )
        )
