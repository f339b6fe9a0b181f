"""What becomes of a transactional id when something is asked of it: pure functions from what is known to what is next.

Each returns what is to be written (`TransactionMetadata`), an error for the client, NONE where all is as it was asked
for already, or NEEDS_PRODUCER_ID where it has to be called again with an id that nobody has had. What is written counts
once it is committed; until then, and while the end of a transaction is under way, the id is busy, and most requests are
told to come back (CONCURRENT_TRANSACTIONS). Must not know: logs, clocks, who waits. Follows Kafka's
`TransactionCoordinator` and `TransactionMetadata` (KIP-98, KIP-360, KIP-447, KIP-890).
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from odradek.broker.transactions.state import (
    LAST_EPOCH,
    NO_PARTITIONS,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIME,
    Partitions,
    Producer,
    TransactionMetadata,
    TransactionState,
    includes,
    is_exhausted,
    union,
)
from odradek.protocol.errors import ErrorCode

FIRST_WITH_BUMPS: Final = 2
"""The `transaction.version` from which on the end of a transaction takes the producer to its next epoch (KIP-890)."""


class NeedsProducerId(Enum):
    """An answer that is none yet."""

    NEEDS_PRODUCER_ID = "a producer id that nobody has had is needed"


NEEDS_PRODUCER_ID: Final = NeedsProducerId.NEEDS_PRODUCER_ID

Decision = TransactionMetadata | ErrorCode | NeedsProducerId


def initialise(
    known: TransactionMetadata | None,
    is_busy: bool,
    expected: Producer | None,
    timeout_ms: int,
    version: int,
    now: int,
    new_id: int | None = None,
) -> Decision:
    """InitProducerId: let a producer begin under the id, and fence the one before.

    `expected` is what the producer was before, if it says so (KIP-360); `version` is the broker's own
    (`transaction.version`). Where a transaction is open, what is to be written aborts it, and the producer is to come
    back.
    Errors: CONCURRENT_TRANSACTIONS, PRODUCER_FENCED.
    """
    if known is None:
        if new_id is None:
            return NEEDS_PRODUCER_ID
        return TransactionMetadata(new_id, 0, timeout_ms, updated_ms=now, previous_id=new_id)
    if is_busy or known.state.is_decided:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if expected is not None and not _may_go_on(known, expected):
        return ErrorCode.PRODUCER_FENCED
    if known.state is TransactionState.ONGOING:
        return fence(known, version, now)
    fresh = known._replace(
        state=TransactionState.EMPTY,
        partitions=NO_PARTITIONS,
        timeout_ms=timeout_ms,
        updated_ms=now,
        started_ms=NO_TIME,
        previous_id=known.producer_id,
        next_id=NO_PRODUCER_ID,
    )
    if known.is_exhausted and (expected is None or expected.epoch == known.producer_epoch):
        if new_id is None:
            return NEEDS_PRODUCER_ID
        last = NO_PRODUCER_EPOCH if expected is None else known.producer_epoch
        return fresh._replace(producer_id=new_id, producer_epoch=0, last_epoch=last)
    if expected is None:
        return fresh._replace(producer_epoch=known.producer_epoch + 1, last_epoch=NO_PRODUCER_EPOCH)
    if expected.epoch == known.producer_epoch:
        return fresh._replace(producer_epoch=known.producer_epoch + 1, last_epoch=known.producer_epoch)
    if expected.epoch == known.last_epoch:  # it did not get the answer to the same request
        return fresh
    return ErrorCode.PRODUCER_FENCED


def _may_go_on(known: TransactionMetadata, expected: Producer) -> bool:
    """Whether a producer may be the one of this id, or of the one before it, whose epochs were used up."""
    return expected.producer_id == known.producer_id or (
        expected.producer_id == known.previous_id and is_exhausted(expected.epoch)
    )


def fence(known: TransactionMetadata, version: int, now: int) -> TransactionMetadata:
    """Abort the open transaction of a producer that is shut out by a higher epoch: its time is up, or there is another
    one for the id. `version` is the broker's `transaction.version`."""
    return known._replace(
        state=TransactionState.PREPARE_ABORT,
        producer_epoch=min(known.producer_epoch + 1, LAST_EPOCH),
        last_epoch=known.producer_epoch if version >= FIRST_WITH_BUMPS else NO_PRODUCER_EPOCH,
        previous_id=known.producer_id,
        next_id=NO_PRODUCER_ID,
        updated_ms=now,
        version=version if version >= FIRST_WITH_BUMPS else 0,
    )


def add(
    known: TransactionMetadata | None, is_busy: bool, producer: Producer, added: Partitions, version: int, now: int
) -> Decision:
    """AddPartitionsToTxn, AddOffsetsToTxn: the transaction is going to write to these; it begins with the first.

    `version` is that of the request. Errors: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS.
    """
    if known is None or known.producer_id != producer.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if known.producer_epoch != producer.epoch or producer.epoch == LAST_EPOCH:
        return ErrorCode.PRODUCER_FENCED
    if is_busy or known.state.is_decided:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    is_open = known.state is TransactionState.ONGOING
    if is_open and includes(known.partitions, added):
        return ErrorCode.NONE
    return known._replace(
        state=TransactionState.ONGOING,
        partitions=union(known.partitions, added),
        started_ms=known.started_ms if is_open else now,
        previous_id=known.producer_id,
        updated_ms=now,
        version=version,
    )


def verify(known: TransactionMetadata | None, producer: Producer) -> ErrorCode:
    """Whether a broker may ask what is in a transaction: NONE, then `partitions` of what is known say it.

    Errors: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS.
    """
    if known is None or known.producer_id != producer.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if known.producer_epoch != producer.epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.CONCURRENT_TRANSACTIONS if known.state.is_decided else ErrorCode.NONE


def end(
    known: TransactionMetadata | None,
    is_busy: bool,
    producer: Producer,
    is_commit: bool,
    version: int,
    now: int,
    new_id: int | None = None,
) -> Decision:
    """EndTxn: decide how the transaction ends. `version` is that of the request.

    From version 2 on the producer's epoch changes with it, so that a retry is told from the next request, and a
    transaction without partitions may be aborted (KIP-890).
    Errors: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE.
    """
    if known is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if version < FIRST_WITH_BUMPS:
        return _end_keeping_epoch(known, is_busy, producer, is_commit, now)
    is_rotated = (
        producer.producer_id == known.previous_id
        and producer.producer_id != known.producer_id
        and is_exhausted(producer.epoch)
        and known.producer_epoch == 0
    )
    # What a producer of an older kind has ended since is not its doing, though the epoch would fit: Kafka takes it for
    # a retry, and lets one go on that was fenced.
    is_bumped = known.producer_epoch == producer.epoch + 1 and known.version >= FIRST_WITH_BUMPS
    is_retry = is_rotated or is_bumped
    if known.producer_id != producer.producer_id and not is_rotated:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if not _is_valid_epoch(known, producer, is_retry):
        return ErrorCode.PRODUCER_FENCED
    if is_busy or known.state.is_decided:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if known.state is not TransactionState.ONGOING:
        if is_retry:
            return _of_what_is_over(known, is_commit)
        if is_commit:
            return ErrorCode.INVALID_TXN_STATE
    if known.is_exhausted and new_id is None:
        return NEEDS_PRODUCER_ID
    return known._replace(
        state=TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT,
        producer_epoch=known.producer_epoch + 1,
        last_epoch=known.producer_epoch,
        previous_id=known.producer_id,
        next_id=new_id if known.is_exhausted and new_id is not None else NO_PRODUCER_ID,
        started_ms=known.started_ms if known.state is TransactionState.ONGOING else now,
        updated_ms=now,
        version=version,
    )


def _is_valid_epoch(known: TransactionMetadata, producer: Producer, is_retry: bool) -> bool:
    """Whether the epoch is that of the transaction, or that of the one that is over or about to be."""
    if producer.epoch == LAST_EPOCH:
        return False
    if known.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT):
        return is_retry or producer.epoch == known.producer_epoch
    if known.state.is_decided:
        return is_retry
    return producer.epoch == known.producer_epoch


def _end_keeping_epoch(
    known: TransactionMetadata, is_busy: bool, producer: Producer, is_commit: bool, now: int
) -> Decision:
    if known.producer_id != producer.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if known.producer_epoch != producer.epoch or producer.epoch == LAST_EPOCH:
        return ErrorCode.PRODUCER_FENCED
    if is_busy or known.state.is_decided:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if known.state is not TransactionState.ONGOING:
        return _of_what_is_over(known, is_commit)
    return known._replace(
        state=TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT,
        previous_id=known.producer_id,
        next_id=NO_PRODUCER_ID,
        updated_ms=now,
        version=0,
    )


def _of_what_is_over(known: TransactionMetadata, is_commit: bool) -> ErrorCode:
    """Whether a transaction has ended as it is to end once more."""
    ended = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
    return ErrorCode.NONE if known.state is ended else ErrorCode.INVALID_TXN_STATE


def complete(known: TransactionMetadata, now: int) -> TransactionMetadata:
    """All markers of a decided transaction are written: its end, and the producer id of the next one."""
    is_commit = known.state is TransactionState.PREPARE_COMMIT
    is_rotated = known.next_id != NO_PRODUCER_ID and known.version >= FIRST_WITH_BUMPS
    return known._replace(
        state=TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
        producer_id=known.next_id if is_rotated else known.producer_id,
        producer_epoch=0 if is_rotated else known.producer_epoch,
        partitions=NO_PARTITIONS,
        previous_id=known.producer_id,
        next_id=NO_PRODUCER_ID,
        updated_ms=now,
    )


def is_overdue(known: TransactionMetadata, now: int) -> bool:
    """Whether the transaction has been open for longer than its producer wanted."""
    return known.state is TransactionState.ONGOING and known.started_ms + known.timeout_ms < now


def is_expired(known: TransactionMetadata, retention_ms: int, now: int) -> bool:
    """Whether nothing has happened under the id for so long that it may be forgotten."""
    is_idle = known.state in (
        TransactionState.EMPTY,
        TransactionState.COMPLETE_COMMIT,
        TransactionState.COMPLETE_ABORT,
    )
    return is_idle and known.updated_ms <= now - retention_ms
