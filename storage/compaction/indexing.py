"""Filling the offset map from the part of a log that was not compacted yet.

Follows Kafka's log behaviour, log cleaner, "One round" (`Cleaner.buildOffsetMap`): control batches, records of aborted
transactions and records without a key do not count; where the map is full, the round covers what it has. So it does
where that is work enough.
"""

from __future__ import annotations

from odradek.protocol.records.batch import CURRENT_MAGIC
from odradek.storage.compaction.entries import Entry, Pace, find_records
from odradek.storage.compaction.offset_map import OffsetMap
from odradek.storage.compaction.sources import SourceLog, control_kind
from odradek.storage.compaction.transactions import TransactionPass
from odradek.storage.compaction.values import Task
from odradek.storage.compaction.workload import Workload


def map_keys(task: Task, log: SourceLog, pace: Pace) -> tuple[OffsetMap, int]:
    """Return the offset map of the dirty part, and how many bytes were read for it.

    Raises CorruptFile and OSError.
    """
    offsets = OffsetMap(task.map_bytes, task.load_factor, task.end - task.first_dirty)
    offsets.latest_offset = task.first_dirty - 1
    transactions, work = TransactionPass(), Workload(task.largest_batch)
    read = 0
    for index, source in enumerate(task.sources):
        end = log.end_of(index)
        if end <= task.first_dirty:
            continue
        transactions.expect(log.aborted(index))
        for entry in log.entries(index, pace):
            with log.located(index, entry):
                if entry.header.last_offset < task.first_dirty:
                    if entry.header.is_control:  # a transaction that ends here says nothing of its producer's next one
                        transactions.end(entry.header, control_kind(entry))
                    continue
                if not _map_entry(entry, task.first_dirty, offsets, transactions, work, pace):
                    return offsets, read + entry.position
            if work.fills_a_round:
                return offsets, read + entry.position + entry.end - entry.start
        read += source.size
        offsets.latest_offset = max(offsets.latest_offset, end - 1)
    return offsets, read


def _map_entry(
    entry: Entry, first_dirty: int, offsets: OffsetMap, transactions: TransactionPass, work: Workload, pace: Pace
) -> bool:
    """Take in one entry; return False where the map is full."""
    header = entry.header
    if header.is_control:
        transactions.end(header, control_kind(entry))
    elif not transactions.data_is_aborted(header):
        if header.magic != CURRENT_MAGIC:
            if not _map_old_entry(entry, first_dirty, offsets, work):
                return False
        else:
            put, base = offsets.put, header.base_offset
            for records in find_records(*work.open(entry), header.records_count, pace):
                for _, _, _, delta, key, _ in records:
                    if key is not None and base + delta >= first_dirty and not put(key, base + delta):
                        offsets.latest_offset = max(offsets.latest_offset, base + delta - 1)
                        return False
    offsets.latest_offset = max(offsets.latest_offset, header.last_offset)
    return True


def _map_old_entry(entry: Entry, first_dirty: int, offsets: OffsetMap, work: Workload) -> bool:
    for record in work.open_old(entry):
        if record.key is not None and record.offset >= first_dirty and not offsets.put(record.key, record.offset):
            offsets.latest_offset = max(offsets.latest_offset, record.offset - 1)
            return False
    return True
