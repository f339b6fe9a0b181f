"""The end of a transaction as a coordinator tells it to the leaders of its partitions.

Pure. Follows KIP-98 and KIP-1228; the batch is `protocol.records.control`'s.
"""

from typing import NamedTuple

from odradek.protocol.records.control import EndTransactionMarker, build_end_transaction_batch


class TransactionMarker(NamedTuple):
    """What the marker of a transaction says, on whichever partition."""

    producer_id: int
    producer_epoch: int
    """From transactions version 2 on one above that of the transaction."""
    coordinator_epoch: int
    """The leader epoch of the coordinator's partition: an older coordinator is fenced by it."""
    committed: bool
    transaction_version: int
    """The version of transactions that the producer speaks, which is not in the log."""

    def batch(self, timestamp: int, is_append_time: bool) -> bytearray:
        """Return the control batch of this marker, for a topic that has the times of its clients or of its brokers."""
        marker = EndTransactionMarker(self.committed, self.coordinator_epoch)
        return build_end_transaction_batch(
            marker, self.producer_id, self.producer_epoch, timestamp, is_append_time=is_append_time
        )
