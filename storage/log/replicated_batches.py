"""What a follower looks at in the batches that the leader sent, before it appends them byte for byte.

The leader has checked and numbered them; here only the damage that a network or disk can do is looked for, and that
they follow the end of the log. Follows Kafka's log behaviour, replication (`UnifiedLog.appendAsFollower`).
"""

from typing import NamedTuple

from odradek.protocol.records.batch import CURRENT_MAGIC, BatchHeader, check_crc, iter_batches
from odradek.protocol.records.legacy import check_message_crc
from odradek.storage.errors import OffsetOutOfRange

_FURTHEST_LEGACY = 0x7FFF_FFFF


class ReplicatedBatches(NamedTuple):
    """Whole batches that may be appended as they are."""

    data: memoryview
    """All of them, without a cut batch that came after them."""
    batches: list[tuple[int, BatchHeader]]
    """Position in the bytes, and header; at least one."""
    first_offset: int
    last_offset: int
    max_timestamp: int


def check_replicated(data: memoryview, log_end_offset: int, name: str) -> ReplicatedBatches | None:
    """Return the whole batches at the start of `data`, None if there are none; `name` is the partition's, for errors.

    Raises CorruptRecord, and OffsetOutOfRange where they do not follow the end of the log.
    """
    batches = list(iter_batches(data))
    if not batches:
        return None
    expected = log_end_offset
    for position, header in batches:
        if header.magic == CURRENT_MAGIC:
            check_crc(data[position : position + header.size], header)
        else:
            check_message_crc(data[position : position + header.size])
        if header.base_offset < expected or header.last_offset < header.base_offset:
            raise OffsetOutOfRange(
                f"A batch with offsets {header.base_offset} to {header.last_offset} came where offset {expected} "
                f"was due in {name}"
            )
        expected = header.next_offset
    last_position, last = batches[-1]
    return ReplicatedBatches(
        data[: last_position + last.size],
        batches,
        _first_offset(batches[0][1], log_end_offset),
        last.last_offset,
        max(header.max_timestamp for _, header in batches),
    )


def _first_offset(header: BatchHeader, log_end_offset: int) -> int:
    """Return where the first batch begins; an old one does not say, so a new segment for it starts as low as it can."""
    if header.magic == CURRENT_MAGIC:
        return header.base_offset
    return max(log_end_offset, header.last_offset - _FURTHEST_LEGACY)
