"""The transaction index of a segment: the aborted transactions whose abort marker is in that segment.

An entry is 34 bytes, see `AbortedTxn`; markers are in ascending order. There is no file until the first
aborted transaction that wrote data. Follows Kafka's storage format, "Transaction index" (`TransactionIndex`, KIP-98).
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import ClassVar, NamedTuple

from odradek.storage.errors import CorruptFile, InvalidOffset
from odradek.storage.files import FileSystem, MappedFile
from odradek.storage.segment.index_file import IndexData, IndexFile, last_at_most

_ENTRY = Struct(">hqqqq")
_SIZE = _ENTRY.size
_VERSION = 0
_unpack_entry = _ENTRY.unpack_from
_unpack_last_offset = Struct(">18xq").unpack_from


class AbortedTxn(NamedTuple):
    """A transaction that was aborted after it had written to the partition."""

    producer_id: int
    first_offset: int
    """Of its first record in the partition."""
    last_offset: int
    """Of its abort marker."""
    last_stable_offset: int
    """Of the partition, once the marker was appended: where the oldest transaction still open began, else the offset
    after the marker."""


class TransactionIndex(IndexFile):
    """The `.txnindex` file of one segment."""

    ENTRY: ClassVar[Struct] = _ENTRY

    __slots__ = ()

    def __init__(self, fs: FileSystem, path: str, base_offset: int, active: bool = False) -> None:
        """Refer to an index file, which need not exist, without touching it."""
        super().__init__(fs, path, base_offset, active)

    def __iter__(self) -> Iterator[AbortedTxn]:
        """Yield all entries, in the order of their markers. Raises CorruptFile at an entry of another version."""
        data = self._read()
        for slot in range(self._count):
            yield self._entry(data, slot)

    @property
    def last_entry(self) -> AbortedTxn | None:
        """The entry with the last marker."""
        data = self._read()
        return self._entry(data, self._count - 1) if self._count else None

    def append(self, aborted: AbortedTxn) -> None:
        """Add an entry; raise InvalidOffset where its marker does not follow the last entry's."""
        data = self._change()
        last = self.last_entry
        if last is not None and aborted.last_offset <= last.last_offset:
            raise InvalidOffset(
                f"{self.path}: the marker at {aborted.last_offset} does not follow the last one ({last.last_offset})"
            )
        data += _ENTRY.pack(_VERSION, *aborted)
        self._count += 1

    def collect(self, first: int, end: int) -> tuple[list[AbortedTxn], bool]:
        """Return the aborted transactions that overlap the offsets from `first` up to but not including `end`.

        Also returns whether that is all of them: if not, the next segments' indexes can have more.
        """
        data = self._read()
        found = []
        # Markers ascend, so those before `first` need not be looked at.
        for slot in range(last_at_most(data, self._count, _SIZE, _unpack_last_offset, first - 1) + 1, self._count):
            aborted = self._entry(data, slot)
            if aborted.last_offset >= first and aborted.first_offset < end:
                found.append(aborted)
            if aborted.last_stable_offset >= end:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Remove the entries whose marker is at `offset` or after it; the entries are in memory afterwards."""
        data = self._change()
        self._keep_entries(last_at_most(data, self._count, _SIZE, _unpack_last_offset, offset - 1) + 1)

    def reset(self) -> None:
        """Make the index empty and active, without a file."""
        self.delete()
        self._hold(bytearray(), 0)

    def sanity_check(self) -> None:
        """Raise CorruptFile if there is none, or an entry of another version, before the segment or its predecessor."""
        if self._fs.exists(self.path) and not self._fs.size(self.path):
            raise CorruptFile(self.path, "there is a file and no entry in it")
        self._check(self._check_entries, thorough=True)

    def _check_entries(self, data: IndexData, slots: Sequence[int]) -> None:
        last = self.base_offset - 1
        for slot in slots:
            aborted = self._entry(data, slot)
            if aborted.last_offset <= last or aborted.first_offset >= aborted.last_offset:
                raise CorruptFile(self.path, f"entry {slot} does not ascend or is before the segment: {aborted}")
            last = aborted.last_offset

    def _entry(self, data: IndexData, slot: int) -> AbortedTxn:
        version, *fields = _unpack_entry(data, slot * _SIZE)
        if version != _VERSION:
            raise CorruptFile(self.path, f"entry {slot} has the unknown version {version}")
        return AbortedTxn(*fields)

    def _map(self) -> MappedFile:
        return super()._map() if self._fs.exists(self.path) else b""
