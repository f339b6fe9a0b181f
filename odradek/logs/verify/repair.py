"""Making indexes anew from the data, and nothing else: `log verify --repair`.

A file is written aside, synced and renamed, so that there is always the old one or the new one. An interruption leaves
nothing behind. Data files, snapshots and checkpoints are never touched. Follows Kafka's storage format, offset index
and time index (`LogSegment.recover`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from odradek.logs.index_entries import ABORTED_ENTRY, OFFSET_ENTRY, TIME_ENTRY
from odradek.logs.verify.directory import VerifyReport
from odradek.logs.verify.findings import Severity
from odradek.protocol.records.batch import LOG_OVERHEAD, NO_TIMESTAMP
from odradek.storage.files import TEMPORARY_SUFFIX, FileSystem
from odradek.storage.names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_name,
    parse_file_name,
)
from odradek.storage.segment.entry_walk import Ending, EntryWalk
from odradek.storage.segment.transaction_index import AbortedTxn

DEFAULT_INTERVAL_BYTES = 4096
"""Kafka's `index.interval.bytes`."""

_INDEXES = (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)


class Repair(NamedTuple):
    """What was done, and what was not."""

    rebuilt: list[str]
    """Paths of the index files that were written anew."""
    left: dict[str, str]
    """Paths of those that were not, each with the reason."""


class RebuiltIndexes(NamedTuple):
    """The content of two index files."""

    offsets: bytes
    times: bytes


def repair_indexes(fs: FileSystem, report: VerifyReport, interval_bytes: int = DEFAULT_INTERVAL_BYTES) -> Repair:
    """Rebuild the index files that the report finds wrong. Raises OSError.

    The caller holds the lock of the log directory. Indexes of a segment whose data is damaged are left as they are:
    what the data still says of them is for a broker to decide, which cuts it.
    """
    wrong = {finding.path for finding in report.findings if finding.severity is Severity.ERROR}
    aborted = {path: list_ for partition in report.partitions for path, list_ in partition.aborted.items()}
    repair = Repair([], {})
    for path in sorted(wrong):
        directory, _, name = path.rpartition("/")
        parsed = parse_file_name(name)
        if parsed is None or parsed.state or parsed.suffix not in _INDEXES:
            continue
        log_path = f"{directory}/{file_name(parsed.offset, LOG_SUFFIX)}"
        if not fs.exists(log_path):
            repair.left[path] = "there is no segment to make it from"
        elif log_path in wrong:
            repair.left[path] = "the segment itself is damaged"
        elif parsed.suffix == TRANSACTION_INDEX_SUFFIX and path not in aborted:
            repair.left[path] = "transactions began before the log, or compaction has been over it"
        else:
            if parsed.suffix == TRANSACTION_INDEX_SUFFIX:
                content = encode_aborted(aborted[path])
            else:
                made = build_indexes(fs, log_path, parsed.offset, interval_bytes)
                content = made.offsets if parsed.suffix == OFFSET_INDEX_SUFFIX else made.times
            write_whole(fs, path, content)
            repair.rebuilt.append(path)
    return repair


def build_indexes(fs: FileSystem, log_path: str, base_offset: int, interval_bytes: int) -> RebuiltIndexes:
    """Return the two indexes that a segment has once it is not written to any more. Raises OSError."""
    file = fs.open(log_path, writable=False)
    walk = EntryWalk(file, file.size(), checked=False)
    offsets, times = bytearray(), bytearray()
    unindexed, largest, largest_at, noted = 0, NO_TIMESTAMP, base_offset, NO_TIMESTAMP
    for position, fields, _ in walk:
        last = fields[0] + fields[6]
        if fields[8] > largest:
            largest, largest_at = fields[8], last
        if unindexed > interval_bytes:
            offsets += OFFSET_ENTRY.pack(last - base_offset, position)
            if largest > noted:
                times += TIME_ENTRY.pack(largest, largest_at - base_offset)
                noted = largest
            unindexed = 0
        unindexed += fields[1] + LOG_OVERHEAD
    assert walk.ending is Ending.END, "a damaged segment is not indexed"
    if largest > noted:
        times += TIME_ENTRY.pack(largest, largest_at - base_offset)
    return RebuiltIndexes(bytes(offsets), bytes(times))


def encode_aborted(aborted: Iterable[AbortedTxn]) -> bytes:
    """Return the content of a transaction index."""
    return b"".join(ABORTED_ENTRY.pack(0, *each) for each in aborted)


def write_whole(fs: FileSystem, path: str, content: bytes) -> None:
    """Put a file in place of the one at `path`, whatever interrupts it. Raises OSError."""
    try:
        fs.write_atomic(path, content)
    except BaseException:
        fs.unlink(path + TEMPORARY_SUFFIX)
        raise
