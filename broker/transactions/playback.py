"""The records of one partition of `__transaction_state`, as they are read back.

The last record of each transactional id counts. Must not know: logs, what follows from the states. Follows Kafka's
`TransactionStateManager.loadTransactionMetadata`; a record that it would stop at is named and left out.
"""

from __future__ import annotations

from odradek.broker.runtime.logging import get_logger
from odradek.broker.transactions.records import decode_key, decode_value
from odradek.broker.transactions.state import TransactionMetadata, TransactionState
from odradek.protocol.codec import DecodeError

log = get_logger("transactions")


class TransactionPlayback:
    """Makes what is known of the ids of a partition from its records."""

    def __init__(self, transactions: dict[str, TransactionMetadata], place: str) -> None:
        """`place` names the partition in log lines."""
        self._transactions = transactions
        self._place = place

    def replay(self, key: bytes, value: bytes | None) -> None:
        """Take a record; no value removes the id."""
        try:
            transactional_id = decode_key(key)
            known = None if value is None else decode_value(value)
        except DecodeError as bad:
            log.warning("a record is skipped that is none of a transaction", partition=self._place, reason=str(bad))
            return
        if known is None or known.state is TransactionState.DEAD:
            self._transactions.pop(transactional_id, None)
        else:
            self._transactions[transactional_id] = known

    def replay_pending(self, _producer_id: int, key: bytes, value: bytes | None, _offset: int) -> None:
        """Take a record of a transaction: nobody writes such ones here, so it counts at once."""
        self.replay(key, value)

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """Take a marker: nothing here waits for one."""
