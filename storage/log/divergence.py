"""Where a reader left a log, told by the leader epoch of its last record (KIP-595)."""

from odradek.storage.errors import OffsetOutOfRange
from odradek.storage.log.log import Log


def divergence(log: Log, last_fetched_epoch: int, fetch_offset: int) -> tuple[int, int] | None:
    """Return the epoch where a reader whose last record was of that epoch left the log, and its end there.

    None where it did not leave it, or where it does not say (-1). Raises OffsetOutOfRange for an epoch that the log
    does not know.
    """
    if last_fetched_epoch < 0:
        return None
    epoch, end_offset = log.end_offset_for_epoch(last_fetched_epoch)
    if epoch < 0:
        raise OffsetOutOfRange(f"{log.local.name} knows nothing of leader epoch {last_fetched_epoch}")
    if fetch_offset < log.log_start_offset:
        raise OffsetOutOfRange(f"{log.local.name} begins at offset {log.log_start_offset}")
    if epoch < last_fetched_epoch or end_offset < fetch_offset:
        return epoch, end_offset
    return None
