"""The three indexes of one segment, and the care of them: looked at before their first use, and made anew where wrong.

Owns whether the indexes can be believed, whether they are full, on disk, and how many bytes of data have come since the
last entry. Indexes are never believed blindly: one that cannot be right, or leads to bytes that are no batch, is
rebuilt from the data. Must not know: how the data file is written or cut. Follows Kafka's storage format, offset index
and time index (`LogSegment`).
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from odradek.storage.errors import NotInMemory
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.names import LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from odradek.storage.segment.batch_headers import walk_headers
from odradek.storage.segment.index_check import IndexCheck, Indexed, OffsetAndTimeIndex, index_batches, indexes_problem
from odradek.storage.segment.offset_index import OffsetIndex
from odradek.storage.segment.time_index import TimeIndex
from odradek.storage.segment.transaction_index import TransactionIndex

INDEX_SUFFIXES: Final = (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)


class IndexSettings(NamedTuple):
    """How densely a segment is indexed, and how large an index file may become."""

    interval_bytes: int
    max_bytes: int


class IndexSet:
    """Offset, time and transaction index of a segment, none of whose files is touched before it is needed."""

    __slots__ = (
        "_check",
        "_fs",
        "_log_path",
        "are_checked",
        "are_full",
        "are_rebuilt",
        "are_synced",
        "interval_bytes",
        "offsets",
        "times",
        "transactions",
        "unindexed_bytes",
    )

    def __init__(
        self, fs: FileSystem, path_of: Callable[[str], str], base_offset: int, settings: IndexSettings
    ) -> None:
        """`path_of` returns the path of the segment's file with a suffix."""
        self._fs = fs
        self._log_path = path_of(LOG_SUFFIX)
        self.interval_bytes = settings.interval_bytes
        """An entry is made for a batch that starts more than that after the last that has one."""
        self.offsets = OffsetIndex(fs, path_of(OFFSET_INDEX_SUFFIX), base_offset, settings.max_bytes)
        self.times = TimeIndex(fs, path_of(TIME_INDEX_SUFFIX), base_offset, settings.max_bytes)
        self.transactions = TransactionIndex(fs, path_of(TRANSACTION_INDEX_SUFFIX), base_offset)
        self.unindexed_bytes = 0
        """Bytes of data after the start of the last batch that has an entry."""
        self.are_full = False
        """Whether the segment has to be rolled, as there is no room for another entry."""
        self.are_synced = True
        """Whether the files are on disk as they are; only meant for sealed segments."""
        self.are_checked = False
        """Whether offset and time index were looked at since the segment was opened."""
        self.are_rebuilt = False
        """Whether they were made from the batch headers as these are: what they lead to is there, damaged or not."""
        self._check: IndexCheck | None = None
        """A look at the indexes that is to be made, or under way, on another thread."""

    @property
    def files(self) -> tuple[OffsetIndex, TimeIndex, TransactionIndex]:
        """All three."""
        return self.offsets, self.times, self.transactions

    def moved_to(self, path_of: Callable[[str], str]) -> None:
        """Find the files where they are by now, after the directory was renamed."""
        self._log_path = path_of(LOG_SUFFIX)
        self._check = None
        for index, suffix in zip(self.files, INDEX_SUFFIXES, strict=True):
            index.path = path_of(suffix)

    # --- believing them

    def need(self, size: int, by_time: bool = False) -> None:
        """Raise NotInMemory if the offset index of a sealed segment of `size` bytes cannot be used at once.

        `by_time` asks for the time index, too.
        """
        if not self.are_checked:
            if self._check is None:
                self._check = self._new_check(size, is_damaged=False)
            if not self._check.is_done:
                raise NotInMemory(self._check.run)
        elif not self.offsets.is_in_memory():
            raise NotInMemory(self.offsets.read_through)
        elif by_time and not self.times.is_in_memory():
            raise NotInMemory(self.times.read_through)

    def check(self, open_file: Callable[[], OpenFile], size: int) -> Indexed | None:
        """Look at the files before their first use; return what a rebuild came to, None if they can be right.

        `open_file` returns the data file, which has `size` bytes. Raises OSError.
        """
        indexed = None
        if self.offsets.active:
            if indexes_problem(self._fs, self._pair, file := open_file(), size):
                indexed = self.rebuild(file, size)
        else:
            indexed = self._check_sealed(size)
        self.are_checked = True
        return indexed

    def _check_sealed(self, size: int) -> Indexed | None:
        check = self._check or self._new_check(size, is_damaged=False)
        self._check = None
        check.run()
        if isinstance(check.result, OSError):
            raise check.result
        if check.result is not None:
            check.put_in_place(self._pair)
            self._note_rebuilt(check.result)
        return check.result

    def distrust(self, size: int) -> Callable[[], None]:
        """Take note that the indexes of a sealed segment are wrong; return what makes them anew, on any thread.

        They take their place with the next `check`.
        """
        self.are_checked = False
        self._check = self._new_check(size, is_damaged=True)
        return self._check.run

    def rebuild(self, file: OpenFile, size: int) -> Indexed:
        """Make offset and time index of an active segment anew from the batch headers, up to the first damaged one.

        Returns what is true of the data then. Raises OSError, and it is to be tried again then.
        """
        self._check = None
        self.reset()
        self.are_checked = False
        indexed = index_batches(self._pair, self.interval_bytes, walk_headers(file, 0, size))
        self._note_rebuilt(indexed)
        self.are_checked = True
        return indexed

    def _new_check(self, size: int, is_damaged: bool) -> IndexCheck:
        return IndexCheck(self._fs, self._log_path, size, self._pair, self.interval_bytes, is_damaged)

    def _note_rebuilt(self, indexed: Indexed) -> None:
        self.unindexed_bytes = indexed.unindexed_bytes
        self.learn_if_full()
        self.are_synced = False
        self.are_rebuilt = True

    @property
    def _pair(self) -> OffsetAndTimeIndex:
        return OffsetAndTimeIndex(self.offsets, self.times)

    # --- their content

    def activate(self) -> None:
        """Let entries be added; the files are not touched before that happens."""
        self.offsets.active = self.times.active = self.transactions.active = True

    def reset(self) -> None:
        """Make offset and time index empty, and ready to be appended to. Raises OSError."""
        self.activate()
        self.offsets.reset()
        self.times.reset()
        self.learn_if_full()
        self.are_checked = True
        self.unindexed_bytes = 0

    def learn_if_full(self) -> None:
        """Find out whether an index has no room for another entry."""
        self.are_full = self.offsets.is_full or self.times.is_full

    def add(self, last_offset: int, position: int, latest: int, latest_offset: int) -> None:
        """Make the entries for a batch: where it is, and the largest timestamp up to and with it."""
        self.offsets.append(last_offset, position)
        self.times.append(latest, latest_offset)
        self.are_full = self.offsets.is_full or self.times.is_full
        self.unindexed_bytes = 0

    def seal(self) -> None:
        """Complete the files and keep them in memory no longer. Raises OSError."""
        for index in self.files:
            index.seal()

    def truncate_to(self, offset: int) -> None:
        """Remove what the indexes say of offsets from `offset` on; they are active then."""
        self.activate()
        for index in self.files:
            index.truncate_to(offset)

    def note_cut(self) -> None:
        """Take note that data was cut off, after `truncate_to`."""
        self.are_synced = False
        self.unindexed_bytes = 0

    # --- their files

    def prepare_sync(self) -> list[OpenFile]:
        """Bring the files of a sealed segment up to date, and return those that may not be on disk yet.

        Those of a segment that is appended to are left out: they are rebuilt after a crash. Raises OSError.
        """
        if self.are_synced or self.offsets.active:
            return []
        return [file for index in self.files if (file := index.prepare_sync())]

    def release(self) -> None:
        """Give the mappings of a sealed segment back until they are needed again."""
        if not self.offsets.active:
            self.close()

    def close(self) -> None:
        """Complete the files and give all memory back. Raises OSError."""
        for index in self.files:
            index.close()

    def rename(self, suffix: str) -> list[str]:
        """Add a suffix to the names of the files that there are, and return all three new names. Raises OSError."""
        for index in self.files:
            index.rename(index.path + suffix)
        return [index.path for index in self.files]
