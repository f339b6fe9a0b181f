"""Which records of a partition are committed: where the last stable offset lies, and what was aborted before it.

Closed segments have a transaction index. That of the last segment may be behind the log (a broker need not have written
it), so there the markers themselves are read, from the newest producer snapshot on. Follows Kafka's storage format,
"Transaction index" and "Producer snapshot" (KIP-98).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, NamedTuple

from odradek.protocol.records.batch import CURRENT_MAGIC, BatchHeader
from odradek.protocol.records.control import end_transaction_marker
from odradek.protocol.records.reading import iter_entry_records
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.names import PRODUCER_SNAPSHOT_SUFFIX, TRANSACTION_INDEX_SUFFIX, parse_file_name
from odradek.storage.producers.producer_snapshot import decode_snapshot
from odradek.storage.segment.batch_headers import walk_headers
from odradek.storage.segment.transaction_index import TransactionIndex
from pyspark_odradek.log_files.conditions import MAX_OFFSET
from pyspark_odradek.log_files.files import PartitionFiles, segment_path
from pyspark_odradek.log_files.locating import Locator, read_batch


class AbortedRange(NamedTuple):
    """Records of a producer that do not count: those of its transactional batches from `first` to `last`."""

    producer_id: int
    first: int
    last: int


class AbortedOffsets:
    """Which offsets aborted transactions cover; found by bisection, as there may be as many of them as batches."""

    def __init__(self, aborted: Iterable[AbortedRange]) -> None:
        self._by_producer: dict[int, tuple[list[int], list[int]]] = {}
        """By producer id: where its transactions begin, ascending, and how far those up to there reach at most."""
        for each in sorted(aborted, key=lambda one: one.first):
            firsts, furthest = self._by_producer.setdefault(each.producer_id, ([], []))
            firsts.append(each.first)
            furthest.append(max(each.last, furthest[-1] if furthest else each.last))

    def has(self, producer_id: int, offset: int) -> bool:
        """Return whether an offset lies in an aborted transaction of a producer."""
        firsts, furthest = self._by_producer.get(producer_id, ((), ()))
        before = bisect_right(firsts, offset)
        return before > 0 and furthest[before - 1] >= offset


class DecidedTransactions(NamedTuple):
    """What is known to be decided."""

    until: int
    """The last stable offset: where the oldest open transaction begins, MAX_OFFSET where none is open."""
    aborted: list[AbortedRange]

    def between(self, first: int, until: int) -> tuple[AbortedRange, ...]:
        """Return what matters for some offsets."""
        return tuple(each for each in self.aborted if each.first < until and each.last >= first)


_MARKER_BYTES: Final = 64 * 1024
"""The largest batch that is looked into for the end of a transaction; one with such a marker has less than 100."""
ALL_COMMITTED = DecidedTransactions(MAX_OFFSET, [])


def find_committed(fs: FileSystem, files: PartitionFiles) -> DecidedTransactions:
    """Find out what is committed in a partition.

    Raises:
        CorruptFile: an index cannot be read.
        KafkaError: the last segment is damaged.
        OSError: a file cannot be read.
    """
    if not files.segments:
        return ALL_COMMITTED
    since, open_since = _newest_snapshot(fs, files)
    aborted: set[AbortedRange] = set()
    for segment in files.segments:
        if segment.base_offset < since:
            path = segment_path(files.directory, segment.base_offset, TRANSACTION_INDEX_SUFFIX)
            index = TransactionIndex(fs, path, segment.base_offset)
            aborted |= {AbortedRange(each.producer_id, each.first_offset, each.last_offset) for each in index}
        if segment.end_offset > since:
            start = Locator(fs, files, segment).start_of(max(since, segment.base_offset))
            file = fs.open(segment_path(files.directory, segment.base_offset), writable=False)
            for position, header in walk_headers(file, start, segment.size):
                if header.base_offset >= since and header.magic == CURRENT_MAGIC:
                    _follow(file, position, header, open_since, aborted)
    return DecidedTransactions(
        min(open_since.values(), default=MAX_OFFSET), sorted(aborted, key=lambda each: each.last)
    )


def _newest_snapshot(fs: FileSystem, files: PartitionFiles) -> tuple[int, dict[int, int]]:
    """Return the offset of the newest snapshot before the last segment, and where transactions open then began."""
    names = filter(None, map(parse_file_name, fs.listdir(files.directory)))
    offsets = (name.offset for name in names if name.suffix == PRODUCER_SNAPSHOT_SUFFIX and not name.state)
    last = files.segments[-1].base_offset
    for offset in sorted((offset for offset in offsets if offset <= last), reverse=True):
        path = segment_path(files.directory, offset, PRODUCER_SNAPSHOT_SUFFIX)
        try:
            entries = decode_snapshot(fs.read_bytes(path), path)
        except CorruptFile:
            continue
        begun = {producer: entry.transaction_first_offset for producer, entry in entries}
        return offset, {producer: first for producer, first in begun.items() if first >= 0}
    return 0, {}


def _follow(
    file: OpenFile, position: int, header: BatchHeader, open_since: dict[int, int], aborted: set[AbortedRange]
) -> None:
    """Take note of a batch: it can begin a transaction, or end one."""
    if header.is_transactional and not header.is_control:
        open_since.setdefault(header.producer_id, header.base_offset)
    elif header.is_control:
        record = next(iter_entry_records(read_batch(file, position, header, _MARKER_BYTES)), None)
        marker = None if record is None else end_transaction_marker(record)
        if marker is None:
            return
        first = open_since.pop(header.producer_id, None)
        if first is not None and not marker.committed:
            aborted.add(AbortedRange(header.producer_id, first, header.last_offset))
