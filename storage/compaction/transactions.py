"""What a pass over a log knows of the transactions whose batches it sees.

The indexes say which transactions were aborted; all others that have ended were committed. A marker must stay as long
as records of its transaction are in the log. Follows Kafka's log behaviour, log cleaner
(`CleanedTransactionMetadata`, KIP-98).
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import NamedTuple

from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.control import ControlType
from odradek.storage.segment.transaction_index import AbortedTxn


class MarkerFate(NamedTuple):
    """What is to be done about a control batch."""

    may_go: bool
    """No batch of its transaction was seen; only a delete horizon may still keep it."""
    aborted: AbortedTxn | None
    """The transaction that it aborts, whose records were seen: the index of the new segment must have it."""


class _Ongoing:
    """An aborted transaction between its first record and its marker."""

    __slots__ = ("seen", "transaction")

    def __init__(self, transaction: AbortedTxn) -> None:
        self.transaction = transaction
        self.seen = False


class TransactionPass:
    """Follows one pass over batches in the order of the log."""

    __slots__ = ("_aborted", "_committed", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[tuple[int, AbortedTxn]] = []  # a heap, by first offset
        self._aborted: dict[int, _Ongoing] = {}
        self._committed: set[int] = set()

    def expect(self, aborted: Iterable[AbortedTxn]) -> None:
        """Take note of aborted transactions of what comes next; some may be known already."""
        for transaction in aborted:
            heappush(self._waiting, (transaction.first_offset, transaction))

    def data_is_aborted(self, header: BatchHeader) -> bool:
        """Take note of a batch of records, and return whether it belongs to an aborted transaction."""
        self._begin_upto(header.last_offset)
        if not header.is_transactional:
            return False
        ongoing = self._aborted.get(header.producer_id)
        if ongoing is None:
            self._committed.add(header.producer_id)
            return False
        ongoing.seen = True
        return True

    def end(self, header: BatchHeader, kind: ControlType | None) -> MarkerFate:
        """Take note of a control batch; `kind` is what its record says, None if it has none any more."""
        self._begin_upto(header.last_offset)
        producer_id = header.producer_id
        if kind is ControlType.ABORT:
            ongoing = self._aborted.pop(producer_id, None)
            seen = ongoing is not None and ongoing.seen
            return MarkerFate(not seen, ongoing.transaction if ongoing is not None and seen else None)
        if kind is ControlType.COMMIT:
            seen = producer_id in self._committed
            self._committed.discard(producer_id)
            return MarkerFate(not seen, None)
        return MarkerFate(kind is None, None)

    def _begin_upto(self, offset: int) -> None:
        waiting = self._waiting
        while waiting and waiting[0][0] <= offset:
            transaction = heappop(waiting)[1]
            self._aborted.setdefault(transaction.producer_id, _Ongoing(transaction))
