"""The closed segments that a round reads, and what their indexes say of aborted transactions.

Changes nothing. Where bytes are at fault, the error names file and byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.control import ControlType, control_type
from odradek.protocol.records.errors import InvalidRecord
from odradek.protocol.records.reading import iter_entry_records
from odradek.storage.compaction.entries import Entry, Pace, read_entries
from odradek.storage.compaction.grouping import SegmentSizes
from odradek.storage.compaction.values import Task, unpack_aborted
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem
from odradek.storage.names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_name,
)
from odradek.storage.segment.transaction_index import AbortedTxn, TransactionIndex

MOST_OF_A_CONTROL_BATCH = 64 * 1024
"""Bytes that a control batch may decompress to. Those of Kafka have one record of a few bytes, uncompressed."""


class SourceLog:
    """The sources of one task, by their place in it."""

    def __init__(self, fs: FileSystem, task: Task) -> None:
        self._fs = fs
        self._task = task
        names = set(fs.listdir(task.directory))
        self._with_aborted = [
            index
            for index, source in enumerate(task.sources)
            if file_name(source.base_offset, TRANSACTION_INDEX_SUFFIX) in names
        ]
        self._aborted_later = list(unpack_aborted(task.aborted))

    def path(self, index: int, suffix: str = LOG_SUFFIX) -> str:
        """Return the path of a file of the segment."""
        return f"{self._task.directory}/{file_name(self._task.sources[index].base_offset, suffix)}"

    def end_of(self, index: int) -> int:
        """Return the base offset of the segment that follows."""
        sources = self._task.sources
        return sources[index + 1].base_offset if index + 1 < len(sources) else self._task.end

    def entries(self, index: int, pace: Pace) -> Iterator[Entry]:
        """Yield the entries of the segment. Raises CorruptFile, OSError.

        Offsets must ascend and stay within the segment: no checksum covers them. What is wrong with the records of the
        entry that was yielded last is raised as CorruptFile, too, by `located`.
        """
        expected, end = self._task.sources[index].base_offset, self.end_of(index)
        file = self._fs.open(self.path(index), writable=False)
        try:
            for entry in read_entries(file, self._task.sources[index].size, self._task.io_bytes, pace):
                header = entry.header
                if not expected <= header.base_offset <= header.last_offset < end:
                    raise CorruptFile(
                        file.path,
                        f"the batch at byte {entry.position} has the offsets {header.base_offset} to"
                        f" {header.last_offset}, where {expected} to {end - 1} can be",
                    )
                yield entry
                expected = header.last_offset + 1
        finally:
            file.close()

    def aborted(self, index: int) -> list[AbortedTxn]:
        """Return the aborted transactions that have records or marker in the segment."""
        start, end = self._task.sources[index].base_offset, self.end_of(index)
        found: list[AbortedTxn] = []
        for later in self._with_aborted:
            if later < index:
                continue
            transactions = TransactionIndex(
                self._fs, self.path(later, TRANSACTION_INDEX_SUFFIX), self._task.sources[later].base_offset
            )
            of_segment, complete = transactions.collect(start, end)
            transactions.close()
            found += of_segment
            if complete:
                return found
        return found + [one for one in self._aborted_later if one.first_offset < end]

    def sizes(self) -> list[SegmentSizes]:
        """Return what grouping wants to know of the segments."""
        return [
            SegmentSizes(
                source.base_offset,
                self.end_of(index),
                source.size,
                self._size_of(self.path(index, OFFSET_INDEX_SUFFIX)),
                self._size_of(self.path(index, TIME_INDEX_SUFFIX)),
            )
            for index, source in enumerate(self._task.sources)
        ]

    def mtime_ms(self, index: int) -> int:
        """Return when the segment was last written."""
        return self._fs.mtime_ms(self.path(index))

    @contextmanager
    def located(self, index: int, entry: Entry) -> Iterator[None]:
        """Say where it is, when the records of an entry are at fault."""
        try:
            yield
        except CorruptFile:
            raise
        except KafkaError as error:
            raise CorruptFile(
                self.path(index),
                f"the batch at byte {entry.position} (offset {entry.header.base_offset}) cannot be read: {error}",
            ) from error

    def _size_of(self, path: str) -> int:
        try:
            return self._fs.size(path)
        except FileNotFoundError:
            return 0


def control_kind(entry: Entry) -> ControlType | None:
    """Return what a control batch says, None if it has no record any more."""
    try:
        data = memoryview(entry.data)[entry.start : entry.end]
        record = next(iter_entry_records(data, MOST_OF_A_CONTROL_BATCH), None)
        return None if record is None else control_type(record.key)
    except InvalidRecord:
        return ControlType.UNKNOWN
