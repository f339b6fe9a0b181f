"""Appending what another replica wrote, byte for byte.

The leader has checked and numbered the batches; here only the damage that a network or disk can do is looked for, and
that they follow the end of the log. Follows Kafka's log behaviour, replication (`UnifiedLog.appendAsFollower`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.records.batch import CURRENT_MAGIC, BatchHeader, check_crc, iter_batches
from odradek.protocol.records.legacy import check_message_crc
from odradek.storage.errors import OffsetOutOfRange
from odradek.storage.log.log_values import AppendInfo
from odradek.storage.log.markers import note_completed
from odradek.storage.producers.producer_replay import replay

if TYPE_CHECKING:
    from odradek.storage.log.log import Log

_FURTHEST_LEGACY = 0x7FFF_FFFF


def append_as_follower(log: Log, data: memoryview, now_ms: int) -> AppendInfo:
    """Append whole batches, as they are; see `Log.append_as_follower`."""
    batches = list(iter_batches(data))
    if not batches:
        return AppendInfo(-1, -1, -1, -1, log.log_start_offset, 0)
    expected = log.log_end_offset
    for position, header in batches:
        if header.magic == CURRENT_MAGIC:
            check_crc(data[position : position + header.size], header)
        else:
            check_message_crc(data[position : position + header.size])
        if header.base_offset < expected or header.last_offset < header.base_offset:
            raise OffsetOutOfRange(
                f"A batch with offsets {header.base_offset} to {header.last_offset} came where offset {expected} "
                f"was due in {log.topic}-{log.partition}"
            )
        expected = header.next_offset
    first_offset = _first_offset(batches[0][1], log.log_end_offset)
    last_position, last = batches[-1]
    size = last_position + last.size
    max_timestamp = max(header.max_timestamp for _, header in batches)
    segment = log.write(data[:size], first_offset, last.last_offset, max_timestamp, now_ms)
    for position, header in batches:
        segment.note_batch(header.size, header.last_offset, header.max_timestamp)
        log.note_leader_epoch(header.partition_leader_epoch, header.base_offset)
        note_completed(segment, replay(log.producers, header, data[position : position + header.size]))
    log.log_end_offset = last.next_offset
    log.size += size
    return AppendInfo(first_offset, last.last_offset, max_timestamp, -1, log.log_start_offset, size)


def _first_offset(header: BatchHeader, log_end_offset: int) -> int:
    """Return where the first batch begins; an old one does not say, so a new segment for it starts as low as it can."""
    if header.magic == CURRENT_MAGIC:
        return header.base_offset
    return max(log_end_offset, header.last_offset - _FURTHEST_LEGACY)
