"""Holding the offset index and the time index of a segment against its batches, while those are gone over.

Both are as large as they like: their entries are read as they are needed. Follows Kafka's storage format, offset index
and time index.
"""

from __future__ import annotations

from odradek.logs.index_entries import OFFSET_ENTRY, TIME_ENTRY, IndexEntries
from odradek.logs.verify.findings import VerifyFindings
from odradek.storage.files import OpenFile

NONE_LEFT = 1 << 63
"""Above every position and offset: there is no further entry."""

_INDEXED_SURELY = 1 << 20
"""A segment of this size without any index entry has lost its index."""
_WIDE = 8
"""How many times wider than all others the last gap between entries must be to be worth a note."""


class OffsetIndexCheck:
    """Every entry names the last offset of a batch, and the byte at which that one begins."""

    __slots__ = (
        "_doubtful",
        "_entries",
        "_findings",
        "_iterator",
        "_offset",
        "_previous",
        "_widest",
        "base",
        "next_position",
        "path",
    )

    def __init__(self, file: OpenFile, base_offset: int, findings: VerifyFindings) -> None:
        self.path = file.path
        self.base = base_offset
        self._findings = findings
        self._entries = IndexEntries(file, OFFSET_ENTRY)
        self._iterator = iter(self._entries)
        self._previous = (-1, -1)
        self._doubtful: tuple[int, str] | None = None
        self._offset = self._widest = 0
        self.next_position = NONE_LEFT
        """The batch at this position, or the first one behind it, is to be shown to `check`."""
        _check_size(self.path, self._entries, OFFSET_ENTRY.size, findings)
        self._advance()

    @property
    def count(self) -> int:
        """Entries so far."""
        return self._entries.count

    @property
    def _at(self) -> int:
        return (self._entries.count - 1) * OFFSET_ENTRY.size

    def check(self, position: int, base: int, last: int, magic: int) -> None:
        """Hold the entries up to `position` against the batch that begins there."""
        while self.next_position <= position:
            entry = f"entry {self._offset - self.base},{self.next_position}"
            if self.next_position < position:
                self._findings.error(
                    self.path, f"{entry}: no batch begins at that byte of the log", self._at, self._offset
                )
            elif self._offset < base or (magic == 2 and self._offset < last):
                reason = (
                    f"{entry}: the batch there has the offsets {base} to {last}, so its entry has {last - self.base}"
                )
                self._findings.error(self.path, reason, self._at, self._offset)
            elif self._offset > last and magic == 2:
                reason = f"{entry}: the batch there ends at offset {last}; right where several were appended at once"
                self._doubtful = (self._at, reason)
            self._advance()

    def finish(self, end: int, batches: int) -> None:
        """Take what is left for entries that point behind the end of the log, and see whether it is covered."""
        while self.next_position != NONE_LEFT:
            reason = (
                f"entry {self._offset - self.base},{self.next_position} points behind the end of the log ({end} bytes)"
            )
            self._findings.error(self.path, reason, self._at, self._offset)
            self._advance()
        covered = max(0, self._previous[1])
        if not self.count and end >= _INDEXED_SURELY and batches > 1:
            self._findings.error(self.path, f"there is no entry for {end} bytes of data")
        elif self.count and end - covered > max(_INDEXED_SURELY, _WIDE * self._widest) and batches > self.count + _WIDE:
            reason = f"the last entry is for byte {covered} of {end}, so that a search may go over all that follows"
            self._findings.note(self.path, reason, self._at)

    def _advance(self) -> None:
        for relative, position in self._iterator:
            follows = relative > self._previous[0] and position > self._previous[1]
            if self._settle_doubt(follows) or follows:
                self._widest = max(self._widest, position - max(0, self._previous[1]))
                self._previous = (relative, position)
                self._offset, self.next_position = self.base + relative, position
                return
            reason = f"entry {relative},{position} does not follow {self._previous[0]},{self._previous[1]}"
            self._findings.error(self.path, reason, self._at, self.base + relative)
        self._settle_doubt(True)
        self.next_position = NONE_LEFT

    def _settle_doubt(self, is_followed: bool) -> bool:
        """Judge an entry whose offset is that of a later batch by the next one; return whether it was wrong.

        Such entries follow each other where a broker appended several batches at once.
        """
        doubtful, self._doubtful = self._doubtful, None
        if doubtful is not None:
            add = self._findings.note if is_followed else self._findings.error
            add(self.path, doubtful[1], doubtful[0], self._offset)
        return doubtful is not None and not is_followed


class TimeIndexCheck:
    """Every entry names the largest timestamp so far, and the last offset of the batch that has it."""

    __slots__ = ("_entries", "_findings", "_iterator", "_previous", "_timestamp", "base", "next_offset", "path")

    def __init__(self, file: OpenFile, base_offset: int, findings: VerifyFindings) -> None:
        self.path = file.path
        self.base = base_offset
        self._findings = findings
        self._entries = IndexEntries(file, TIME_ENTRY)
        self._iterator = iter(self._entries)
        self._previous = (-1, -1)
        self._timestamp = -1
        self.next_offset = NONE_LEFT
        """The batch that reaches this offset is to be shown to `check`."""
        _check_size(self.path, self._entries, TIME_ENTRY.size, findings)
        self._advance()

    @property
    def count(self) -> int:
        """Entries so far."""
        return self._entries.count

    @property
    def last_timestamp(self) -> int:
        """Of the last entry so far, -1 if there is none."""
        return self._previous[0]

    @property
    def _at(self) -> int:
        return (self._entries.count - 1) * TIME_ENTRY.size

    def check(self, last: int, timestamp: int, largest_before: int) -> None:
        """Hold the entries up to the offset `last`, at which a batch with that largest timestamp ends, against it."""
        while self.next_offset <= last:
            entry = f"entry {self._timestamp},{self.next_offset - self.base}"
            if largest_before > self._timestamp:
                reason = f"{entry}: a record before that offset is later ({largest_before})"
                self._findings.error(self.path, reason, self._at, self.next_offset)
            elif timestamp != self._timestamp:
                reason = f"{entry}: the largest timestamp of the batch with that offset is {timestamp}"
                self._findings.error(self.path, reason, self._at, self.next_offset)
            elif last != self.next_offset:
                reason = f"{entry}: the batch with that offset ends at {last}; right where an old broker wrote it"
                self._findings.note(self.path, reason, self._at, self.next_offset)
            self._advance()

    def finish(self, end_offset: int) -> None:
        """Take what is left for entries behind the last offset."""
        while self.next_offset != NONE_LEFT:
            reason = f"entry {self._timestamp},{self.next_offset - self.base}: the segment ends before that offset"
            self._findings.error(self.path, f"{reason}, at {end_offset}", self._at, self.next_offset)
            self._advance()

    def finish_complete(self, largest: int) -> None:
        """Hold the last entry of a segment that is not written to any more against its largest timestamp."""
        if self.last_timestamp != largest:
            said = f"its last entry says {self.last_timestamp}" if self.count else "it has no entry"
            self._findings.error(self.path, f"the largest timestamp of the segment is {largest}, but {said}")

    def _advance(self) -> None:
        for timestamp, relative in self._iterator:
            if timestamp > self._previous[0] and relative >= max(0, self._previous[1]):
                self._previous = (timestamp, relative)
                self._timestamp, self.next_offset = timestamp, self.base + relative
                return
            reason = f"entry {timestamp},{relative} does not follow {self._previous[0]},{self._previous[1]}"
            self._findings.error(self.path, reason, self._at, self.base + relative)
        self.next_offset = NONE_LEFT


def _check_size(path: str, entries: IndexEntries, size: int, findings: VerifyFindings) -> None:
    if entries.stray_bytes:
        whole = entries.size - entries.stray_bytes
        reason = f"{entries.stray_bytes} bytes behind the last whole entry: the size is no multiple of {size}"
        findings.error(path, reason, whole)
