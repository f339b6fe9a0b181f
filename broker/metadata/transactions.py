"""Transactions of metadata records: what stands between a beginning and an end takes effect at the end or never.

Pure. Follows KIP-866: `BeginTransaction ... EndTransaction` is one change, `AbortTransaction` drops it, and a
transaction that is still open where the log ends has not happened.
"""

from odradek.broker.metadata.errors import CorruptMetadataError
from odradek.broker.metadata.records import MetadataRecord
from odradek.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)


class TransactionFilter:
    """Lets records through in the order of the log, but those of a transaction only once it has ended."""

    def __init__(self) -> None:
        self._pending: list[MetadataRecord] | None = None

    @property
    def is_open(self) -> bool:
        """Whether a transaction has begun and not ended: its records have had no effect."""
        return self._pending is not None

    def accept(self, record: MetadataRecord) -> list[MetadataRecord]:
        """Return the records that take effect with this one: itself, none, or a whole transaction."""
        match record.message:
            case BeginTransactionRecord():
                if self._pending is not None:
                    raise CorruptMetadataError("a metadata transaction begins inside another one")
                self._pending = []
                return []
            case EndTransactionRecord():
                return self._close("ends")
            case AbortTransactionRecord():
                self._close("is aborted")
                return []
        if self._pending is None:
            return [record]
        self._pending.append(record)
        return []

    def _close(self, how: str) -> list[MetadataRecord]:
        if self._pending is None:
            raise CorruptMetadataError(f"a metadata transaction {how} that has not begun")
        records, self._pending = self._pending, None
        return records
