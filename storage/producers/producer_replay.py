"""Bringing the state of the producers up to date with batches that are in the log already.

Used where batches come from elsewhere than a client: from the leader, or from disk after a restart. Follows Kafka's log
behaviour, producer state (`ProducerStateManager`, KIP-98).
"""

from collections.abc import Iterable

from odradek.protocol.records.batch import NO_PRODUCER_ID, BatchHeader
from odradek.protocol.records.control import EndTransactionMarker, end_transaction_marker
from odradek.protocol.records.errors import InvalidRecord
from odradek.protocol.records.record import iter_records
from odradek.storage.files import Buffer
from odradek.storage.producers.producer_state import CompletedTransaction, ProducerStates
from odradek.storage.segment.segment import Segment
from odradek.storage.segment.transaction_index import AbortedTxn


def replay(producers: ProducerStates, header: BatchHeader, batch: Buffer) -> CompletedTransaction | None:
    """Take note of a batch as it stands in the log, and return the transaction that it ends, if it does.

    `batch` holds the whole batch if it is a control batch; else it is not looked at.
    """
    if header.producer_id == NO_PRODUCER_ID:
        return None
    if not header.is_control:
        producers.update(header, header.base_offset)
        return None
    marker = read_marker(batch)
    if marker is None:
        return None
    return producers.update_marker(header, header.base_offset, marker.coordinator_epoch, not marker.committed)


def read_marker(batch: Buffer) -> EndTransactionMarker | None:
    """Return what a control batch says of a transaction, None if it is of another kind or cannot be understood."""
    try:
        record = next(iter_records(batch), None)
        return end_transaction_marker(record) if record else None
    except InvalidRecord:
        return None


def index_if_aborted(segment: Segment, completed: CompletedTransaction | None) -> None:
    """Put a transaction that a marker in this segment has aborted into the segment's index."""
    if completed is not None and completed.is_aborted:
        segment.indexes.transactions.append(
            AbortedTxn(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                completed.last_stable_offset,
            )
        )


def replay_segments(producers: ProducerStates, segments: Iterable[Segment], upto: int) -> None:
    """Bring the producers from their end offset to `upto`, the end of the log, by the batches of these segments."""
    for segment in segments:
        for position, header in segment.batches_from(producers.end_offset):
            if header.base_offset >= upto:
                break
            if header.producer_id != NO_PRODUCER_ID:
                replay(producers, header, segment.file.pread(header.size, position) if header.is_control else b"")
            producers.end_offset = header.next_offset
    producers.end_offset = upto
