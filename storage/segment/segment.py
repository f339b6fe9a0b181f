"""A segment: one data file of record batches, back to back, with the indexes that are derived from it.

Owns appending to the file, finding a batch in it by offset or time, cutting it, and the fate of its files. Does not
know when to roll, what may be deleted, or which producer wrote what; its indexes look after themselves (`index_set`).
Files are opened when they are first needed, so a node with thousands of segments starts without opening them; whoever
holds the `OpenFile` of a segment can go on reading after the segment was deleted or replaced. Follows Kafka's storage
format (`LogSegment`).
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.errors import CorruptRecord
from odradek.storage.errors import NotInMemory
from odradek.storage.files import Buffer, FileSystem, OpenFile
from odradek.storage.names import (
    DELETED_SUFFIX,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_name,
)
from odradek.storage.segment.batch_headers import (
    BatchExtent,
    Tail,
    find_batch,
    walk_headers,
    walk_tail,
    with_base_offset,
)
from odradek.storage.segment.index_check import Indexed
from odradek.storage.segment.index_set import IndexSet, IndexSettings

SEGMENT_SUFFIXES: Final = (LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
NO_TIMESTAMP: Final = -1
_NOT_READ: Final = -2
"""A timestamp that nobody has asked for yet."""
_SMALL: Final = 8192
"""A data file of up to this size is read from its start: that is cheaper than to look into its index first."""


class Segment:
    """The batches from `base_offset` up to the base offset of the next segment.

    An old segment is made with the `size` of its data file, of which all is good; a new one with 0, and `make_files`.
    """

    __slots__ = (
        "_file",
        "_first_timestamp",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_ready",
        "base_offset",
        "created_ms",
        "directory",
        "fs",
        "indexes",
        "jitter_ms",
        "size",
        "synced_size",
        "was_cut",
    )

    def __init__(
        self, fs: FileSystem, directory: str, base_offset: int, settings: IndexSettings, size: int, created_ms: int
    ) -> None:
        self.fs = fs
        self.directory = directory
        self.base_offset = base_offset
        self.size = size
        """Bytes of whole batches in the data file."""
        self.created_ms = created_ms
        self.jitter_ms = 0
        """How much earlier than `segment.ms` says this segment rolls."""
        self.synced_size = size
        """Bytes of the data file that are on disk for sure."""
        self.was_cut = False
        """Whether the data file became shorter since its last sync: a crash may bring back what was cut off."""
        self.indexes = IndexSet(fs, self.path, base_offset, settings)
        self._file: OpenFile | None = None
        self._ready = False
        self._first_timestamp = _NOT_READ
        self._max_timestamp = _NOT_READ
        self._max_timestamp_offset = base_offset

    def __repr__(self) -> str:
        return f"Segment({self.path(LOG_SUFFIX)!r}, size={self.size})"

    def path(self, suffix: str) -> str:
        """Return the path of the segment's file with that suffix."""
        return f"{self.directory}/{file_name(self.base_offset, suffix)}"

    def make_files(self) -> None:
        """Make the files of a new, empty segment, to append to; files that were there are emptied. Raises OSError."""
        if self.file.size():
            self.file.truncate(0)
        self.reset_indexes()

    @property
    def file(self) -> OpenFile:
        """The data file, opened now if it was not open."""
        file = self._file
        if file is None:
            file = self._file = self.fs.open(self.path(LOG_SUFFIX), create=self.size == 0)
        return file

    @property
    def first_timestamp(self) -> int:
        """Largest timestamp of the first batch, where rolling by time starts; -1 if there is none."""
        if self._first_timestamp == _NOT_READ:
            first = next(walk_headers(self.file, 0, self.size), None) if self.size else None
            self._first_timestamp = first[1].max_timestamp if first else NO_TIMESTAMP
        return self._first_timestamp

    @property
    def max_timestamp(self) -> int:
        """Largest timestamp of any record, -1 if no record has one."""
        if self._max_timestamp == _NOT_READ:
            self._learn_max_timestamp()
        return self._max_timestamp

    def learn_max_timestamp(self) -> None:
        """Know the largest timestamp from now on; raise NotInMemory where that would have to wait for the disk."""
        if self._max_timestamp == _NOT_READ:
            self._need_indexes()
            self._learn_max_timestamp()

    @property
    def max_timestamp_offset(self) -> int:
        """Last offset of the first batch that has the largest timestamp; the base offset if there is no timestamp."""
        return self._max_timestamp_offset if self.max_timestamp != NO_TIMESTAMP else self.base_offset

    # --- appending

    def write(self, data: Buffer) -> None:
        """Write whole batches at the end of the data file; `note_batch` must follow for each of them.

        Raises OSError, and the file is as it was: a part that was written is cut off, now or before the next write.
        """
        if not self._ready:
            self._prepare_append()
        try:
            (self._file or self.file).write(data)
        except OSError:
            self._ready = False
            with suppress(OSError):
                self.file.truncate(self.size)
            raise

    def note_batch(self, size: int, last_offset: int, max_timestamp: int) -> None:
        """Take a batch of `size` bytes, written where the last one ended, into account.

        An index entry is made for a batch that starts more than `index.interval.bytes` after the last that has one.
        """
        position = self.size
        if position == 0:
            self._first_timestamp = max_timestamp
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._max_timestamp_offset = last_offset
        indexes = self.indexes
        if indexes.unindexed_bytes > indexes.interval_bytes:
            indexes.add(last_offset, position, self._max_timestamp, self._max_timestamp_offset)
        indexes.unindexed_bytes += size
        self.size = position + size

    def _prepare_append(self) -> None:
        """Do what must be done before the first write, and again after a failed one."""
        self._check_indexes()
        self._learn_max_timestamp()
        self.indexes.learn_if_full()
        if self.file.size() != self.size:
            self.file.truncate(self.size)
        self._ready = True

    def moved_to(self, directory: str) -> None:
        """Follow the directory of the partition, which has been renamed; it is none that others read from."""
        self.directory = directory
        self._file = None
        self.indexes.moved_to(self.path)

    # --- finding

    def find(self, offset: int, wait: bool = True) -> BatchExtent | None:
        """Return the first batch whose last offset is at least `offset`, or None if all are before it.

        Raises CorruptRecord where the data file itself is damaged, OSError where it cannot be read, and NotInMemory if
        it is not to `wait` for the disk and would have to.
        """
        indexes = self.indexes
        if not wait and not indexes.offsets.active:
            indexes.need(self.size)
        if not indexes.are_checked:
            self._check_indexes()
        position = indexes.offsets.lookup(offset)[1]
        if position < self.size or position == 0:
            try:
                batch = find_batch(self.file, position, self.size, offset, wait)
                if batch is None or batch.base_offset <= offset or batch.position > position or not position:
                    return batch
            except CorruptRecord:
                if not position or indexes.are_rebuilt:
                    raise  # it is the data that is damaged
        if indexes.offsets.active:
            self.rebuild_indexes()
        else:
            renew = indexes.distrust(self.size)
            if not wait:
                raise NotInMemory(renew)
            self._check_indexes()
        return find_batch(self.file, indexes.offsets.lookup(offset)[1], self.size, offset, wait)

    def offset_at_or_after(self, position: int) -> int | None:
        """Return the first offset that the index knows to be at `position` or after it, None if there is none."""
        if not self.indexes.are_checked:
            self._check_indexes()
        return self.indexes.offsets.offset_at_or_after(position)

    def batches_from(self, offset: int, wait: bool = True) -> Iterator[tuple[int, BatchHeader]]:
        """Yield (position, header) of the batch that has `offset`, or the next one after it, and of all that follow.

        Raises NotInMemory if it is not to `wait` for the disk and would have to.
        """
        first = self.find(offset, wait)
        return walk_headers(self.file, first.position, self.size, wait) if first else iter(())

    def read_end(self) -> int:
        """Return the first offset after the segment, read off its last batches, and learn its largest timestamp.

        Raises CorruptRecord where the data does not end with a whole batch, CorruptFile where an index is needed and
        cannot be right, OSError.
        """
        self.activate()
        before = Tail(0, self.base_offset, NO_TIMESTAMP, self.base_offset)
        if self.size > _SMALL:
            before = self._before_tail()
        tail = walk_tail(self.file, before, self.size)
        if tail.position != self.size:
            raise CorruptRecord(f"{self.path(LOG_SUFFIX)}: the last batch, at byte {tail.position}, is not whole")
        self._max_timestamp, self._max_timestamp_offset = tail.max_timestamp, tail.max_timestamp_offset
        return tail.next_offset

    def _before_tail(self) -> Tail:
        """Return what the indexes know; the few batches after their last entries are in no index."""
        self._check_indexes()
        next_offset, position = self.indexes.offsets.last_entry
        return Tail(position, next_offset, *self.indexes.times.last_entry)

    def batches_since(self, timestamp: int, offset: int, wait: bool = True) -> Iterator[tuple[int, BatchHeader]]:
        """Yield (position, header) of the batches from `offset` on whose largest timestamp is at least `timestamp`.

        Raises NotInMemory if it is not to `wait` for the disk and would have to.
        """
        if not wait:
            self._need_indexes()
        self._check_indexes()
        for position, header in self.batches_from(max(offset, self.indexes.times.lookup(timestamp)[1]), wait):
            if header.max_timestamp >= timestamp:
                yield position, header

    # --- indexes

    def _need_indexes(self) -> None:
        if not self.indexes.offsets.active:
            self.indexes.need(self.size, by_time=True)

    def _check_indexes(self) -> None:
        """Look at the index files before their first use, and rebuild those that cannot be right. Raises OSError."""
        indexes = self.indexes
        if not indexes.are_checked:
            indexed = indexes.check(lambda: self.file, self.size)
            if indexed is not None:
                self._note_rebuilt(indexed)

    def reset_indexes(self) -> None:
        """Make all indexes empty, and ready to be appended to. Raises OSError."""
        self._ready = False
        self.indexes.reset()
        self.indexes.transactions.reset()
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = self.base_offset

    def rebuild_indexes(self) -> None:
        """Make offset and time index of this active segment anew from the batch headers, up to the first damaged one.

        Raises OSError, and it is to be tried again then.
        """
        self._ready = False
        self._note_rebuilt(self.indexes.rebuild(self.file, self.size))

    def _note_rebuilt(self, indexed: Indexed) -> None:
        _, self._max_timestamp, self._max_timestamp_offset = indexed

    def activate(self) -> None:
        """Let the segment be appended to; its files are not touched before that happens."""
        self.indexes.activate()
        self._ready = False

    def seal(self) -> None:
        """Complete the indexes and keep them in memory no longer: another segment is appended to from now on.

        The time index gets a last entry, from which the largest timestamp of the segment is known later.
        """
        if self.size:
            self.indexes.times.append(self.max_timestamp, self.max_timestamp_offset)
        self.indexes.seal()
        self._ready = False

    def _learn_max_timestamp(self) -> None:
        if self._max_timestamp == _NOT_READ:
            tail = self._before_tail()
            if self.indexes.offsets.active:
                tail = walk_tail(self.file, tail, self.size)
            self._max_timestamp, self._max_timestamp_offset = tail.max_timestamp, tail.max_timestamp_offset

    # --- making it durable

    @property
    def needs_sync(self) -> bool:
        """Whether the content of the data file may not be on disk as it is."""
        return self.synced_size != self.size or self.was_cut

    def prepare_sync(self) -> list[OpenFile]:
        """Bring the index files up to date, and return the files whose content may not be on disk yet.

        The indexes of a segment that is appended to are left out: they are rebuilt after a crash.
        """
        files = [self.file] if self.needs_sync else []
        return files + self.indexes.prepare_sync()

    def note_synced(self, size: int) -> None:
        """Take note that the first `size` bytes of the data file are on disk, and what was cut off is gone there."""
        self.synced_size = max(self.synced_size, size)
        self.was_cut = False

    def sync_cut(self) -> None:
        """Wait until what was cut off the data file is gone for good. Raises OSError."""
        self.file.sync()
        self.was_cut = False

    # --- the end of data, and of files

    def truncate_to(self, offset: int) -> BatchExtent | None:
        """Remove the batches from `offset` on, and one that has it in its middle too; the segment becomes active.

        Returns the first batch that was removed, None if there was none.
        """
        first_removed = self.find(offset)
        if first_removed is not None:
            first_removed = with_base_offset(self.file, first_removed)
            offset = min(offset, first_removed.base_offset)
        self._ready = False
        self.indexes.truncate_to(offset)
        if first_removed is None:
            return None
        self.file.truncate(first_removed.position)
        self.size = first_removed.position
        self.synced_size = min(self.synced_size, self.size)
        self.was_cut = True
        self.indexes.note_cut()
        self._max_timestamp = self._first_timestamp = _NOT_READ
        return first_removed

    def release(self) -> None:
        """Give descriptors and mappings back until they are needed again; responses being sent keep theirs."""
        self._file = None
        self.indexes.release()

    def close(self) -> None:
        """Complete the index files and give all descriptors and mappings back; responses being sent keep theirs."""
        indexes = self.indexes
        if indexes.offsets.active and indexes.are_checked and self.size:
            self._learn_max_timestamp()
            indexes.times.append(self._max_timestamp, self._max_timestamp_offset)
        indexes.close()
        self._file = None
        self._ready = False

    def mark_deleted(self) -> list[str]:
        """Rename all files so that they are never loaded again, and return their new names. The data stays readable.

        Where an OSError interrupts it, it can be called again.
        """
        log_path = self.path(LOG_SUFFIX)
        if self.fs.exists(log_path):
            self.file  # noqa: B018 - opened now, since it cannot be opened by its name later
            self.fs.rename(log_path, log_path + DELETED_SUFFIX)
        return [log_path + DELETED_SUFFIX, *self.indexes.rename(DELETED_SUFFIX)]
