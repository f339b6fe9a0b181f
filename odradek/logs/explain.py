"""How a log finds an offset or a time in its files, told step by step: the data behind `log explain`.

The steps are those of a broker: the name of a segment, an entry of its sparse index, a position in its file, batch
headers from there on, the batch, the record. Each says how many bytes it read and how long that took. Follows Kafka's
storage format, offset index and time index, and log behaviour, fetch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from odradek.logs.dump import MAX_DECODED_BATCH
from odradek.logs.index_entries import TIME_ENTRY, count_entries
from odradek.logs.lookup import (
    HeaderScan,
    IndexSearch,
    Scanned,
    scan,
    search_offset_index,
    search_segments,
    search_time_index,
)
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import ATTRIBUTES_AT, CURRENT_MAGIC, MAGIC_AT, BatchHeader
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.legacy import compute_message_crc
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.names import LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, file_name, parse_file_name

MOST_RECORDS = 200_000
"""Records of a batch that are gone through, a second's worth: a few kilobytes may stand for a hundred times as many."""

Clock = Callable[[], int]
"""Nanoseconds of a clock that never goes back."""


class Cost(NamedTuple):
    """What a step took."""

    bytes_read: int
    nanoseconds: int


class SegmentTime(NamedTuple):
    """What the time index of a segment says of its largest timestamp, in its last entry."""

    base_offset: int
    largest_timestamp: int | None
    """None where the index is empty."""
    is_late_enough: bool


class FoundBatch(NamedTuple):
    """The batch, read whole."""

    position: int
    header: BatchHeader
    checksum_is_right: bool


class FoundRecord(NamedTuple):
    """The record."""

    record: Record
    number: int
    """Which one of the batch, from 0."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The steps of one lookup; those that were not reached, or are not part of it, are None."""

    directory: str
    offset: int | None
    timestamp: int | None
    base_offsets: Sequence[int]
    segment: int | None = None
    """Base offset of the segment."""
    segment_size: int = 0
    segment_search: IndexSearch | None = None
    segment_times: tuple[SegmentTime, ...] | None = None
    time_search: IndexSearch | None = None
    start_offset: int | None = None
    """From which offset on a time is looked for, as the time index says."""
    index_search: IndexSearch | None = None
    position: int | None = None
    scan: HeaderScan | None = None
    batch: FoundBatch | None = None
    record: FoundRecord | None = None
    costs: tuple[tuple[str, Cost], ...] = ()
    problem: str = ""
    """Why nothing was found, in a sentence."""

    @property
    def total(self) -> Cost:
        """All steps together."""
        return Cost(sum(cost.bytes_read for _, cost in self.costs), sum(cost.nanoseconds for _, cost in self.costs))


def explain_offset(
    fs: FileSystem, directory: str, offset: int, clock: Clock, most_headers: int | None = None
) -> Explanation:
    """Look an offset up in the log of a partition directory, over `most_headers` batch headers if that is given.

    Raises OSError, CorruptFile where there is no log.
    """
    seeker = _Seeker(fs, directory, clock, most_headers)
    started = clock()
    search = search_segments(seeker.base_offsets, offset)
    told = Explanation(directory, offset, None, seeker.base_offsets, segment_search=search)
    told = seeker.charge(told, "segment", 0, started)
    if search.entry is None:
        return replace(told, problem=f"offset {offset} is before the first segment: its records were deleted")
    told = seeker.open(told, search.entry[0])
    told = seeker.search_index(told, offset)
    told = seeker.scan(told, lambda header: header.last_offset >= offset)
    if told.scan is not None and told.scan.found is None:
        return replace(told, problem=seeker.say_not_found(told, f"no batch of the segment reaches offset {offset}"))
    return seeker.read_batch(told, lambda record: record.offset >= offset)


def explain_timestamp(
    fs: FileSystem, directory: str, timestamp: int, clock: Clock, most_headers: int | None = None
) -> Explanation:
    """Look up the first record that is not earlier than `timestamp` (ms). Limited, and raises, as `explain_offset`."""
    seeker = _Seeker(fs, directory, clock, most_headers)
    told = Explanation(directory, None, timestamp, seeker.base_offsets)
    told, base_offset = seeker.find_segment_by_time(told, timestamp)
    if base_offset is None:
        return replace(told, problem=f"no record of the log is as late as {timestamp}")
    told = seeker.open(told, base_offset)
    told = seeker.search_time(told, timestamp)
    assert told.start_offset is not None
    told = seeker.search_index(told, told.start_offset)
    told = seeker.scan(told, lambda header: header.max_timestamp >= timestamp)
    if told.scan is not None and told.scan.found is None:
        return replace(told, problem=seeker.say_not_found(told, f"no record of the log is as late as {timestamp}"))
    return seeker.read_batch(told, lambda record: record.timestamp >= timestamp)


class _Seeker:
    """The files of one log, and the steps that read them."""

    def __init__(self, fs: FileSystem, directory: str, clock: Clock, most_headers: int | None) -> None:
        self._fs = fs
        self._directory = directory
        self._clock = clock
        self._most_headers = most_headers
        names = map(parse_file_name, fs.listdir(directory))
        self.base_offsets = sorted(
            name.offset for name in names if name is not None and name.suffix == LOG_SUFFIX and not name.state
        )
        if not self.base_offsets:
            raise CorruptFile(directory, "there is no segment (.log) in it; name the directory of a partition")
        self._log: OpenFile | None = None

    def charge(self, told: Explanation, step: str, bytes_read: int, started: int) -> Explanation:
        """Add what a step cost."""
        cost = Cost(bytes_read, self._clock() - started)
        return replace(told, costs=(*told.costs, (step, cost)))

    def open(self, told: Explanation, base_offset: int) -> Explanation:
        """Open the data file of the segment."""
        self._log = self._open(base_offset, LOG_SUFFIX)
        if self._log is None:
            raise CorruptFile(self._path(base_offset, LOG_SUFFIX), "the segment vanished meanwhile")
        return replace(told, segment=base_offset, segment_size=self._log.size())

    def find_segment_by_time(self, told: Explanation, timestamp: int) -> tuple[Explanation, int | None]:
        """Go over the segments, oldest first, to the first that has a record as late as the timestamp."""
        started = self._clock()
        times: list[SegmentTime] = []
        found = None
        for base_offset in self.base_offsets:
            largest = self._largest_timestamp(base_offset)
            is_last = base_offset == self.base_offsets[-1]
            # The index of the last segment is not complete while it is written to, so the segment itself must tell.
            late = is_last or (largest is not None and largest >= timestamp)
            times.append(SegmentTime(base_offset, largest, late))
            if late:
                found = base_offset
                break
        told = replace(told, segment_times=tuple(times))
        return self.charge(told, "segment", TIME_ENTRY.size * len(times), started), found

    def search_time(self, told: Explanation, timestamp: int) -> Explanation:
        """Find in the time index the offset from which on to look."""
        assert told.segment is not None
        started = self._clock()
        file = self._open(told.segment, TIME_INDEX_SUFFIX)
        search = search_time_index(file, told.segment, timestamp) if file else None
        start = search.entry[1] if search and search.entry else told.segment
        told = replace(told, time_search=search, start_offset=start)
        return self.charge(told, "time index", search.bytes_read if search else 0, started)

    def search_index(self, told: Explanation, offset: int) -> Explanation:
        """Find in the offset index the position from which on to read."""
        assert told.segment is not None
        started = self._clock()
        file = self._open(told.segment, OFFSET_INDEX_SUFFIX)
        search = search_offset_index(file, told.segment, offset) if file else None
        position = search.entry[1] if search and search.entry else 0
        told = replace(told, index_search=search, position=position)
        return self.charge(told, "offset index", search.bytes_read if search else 0, started)

    def scan(self, told: Explanation, is_found: Callable[[BatchHeader], bool]) -> Explanation:
        """Go over the batch headers from the position on."""
        assert told.position is not None
        assert self._log is not None
        started = self._clock()
        done = scan(self._log, told.position, told.segment_size, is_found, self._most_headers)
        return self.charge(replace(told, scan=done), "scan", done.bytes_read, started)

    def read_batch(self, told: Explanation, is_found: Callable[[Record], bool]) -> Explanation:
        """Read the batch that the scan found, check it, and find the record in it."""
        assert told.scan is not None
        assert told.scan.found is not None
        assert self._log is not None
        started = self._clock()
        position, header = found = told.scan.found
        if header.size > MAX_DECODED_BATCH:
            return replace(told, problem=f"the batch of {header.size} bytes is not taken apart")
        batch, is_right = self._read(found)
        told = replace(told, batch=FoundBatch(position, header, is_right))
        try:
            numbered = enumerate(islice(iter_entry_records(batch), MOST_RECORDS + 1))
            record, number = None, -1
            for number, each in numbered:
                if number == MOST_RECORDS:
                    break
                if is_found(each):
                    record = FoundRecord(each, number)
                    break
        except KafkaError as error:
            told = replace(told, problem=f"the records of the batch cannot be read: {error}")
        else:
            gone = "the batch has no such record any more: compaction removed it; a reader goes on with the next one"
            if number == MOST_RECORDS:
                gone = (
                    f"it is not among the first {MOST_RECORDS} records of the batch, and no more are gone through:"
                    " `odradek log dump --deep` shows them all"
                )
            told = replace(told, record=record, problem="" if record else gone)
        return self.charge(told, "batch", header.size, started)

    def say_not_found(self, told: Explanation, sentence: str) -> str:
        """Return a sentence for a scan that reached the end of the segment."""
        assert told.scan is not None
        if told.scan.problem or told.scan.start > told.segment_size:
            where = told.scan.problem or f"byte {told.scan.start} is behind the end of the file"
            if told.scan.stepped_over == self._most_headers:
                return where
            return f"{sentence}; {where}: `odradek log verify` says more"
        if told.segment == self.base_offsets[-1]:
            return f"{sentence}: the log ends before it"
        return f"{sentence}: it is in a gap, and a reader goes on with the next segment"

    def _read(self, found: Scanned) -> tuple[bytes, bool]:
        assert self._log is not None
        position, header = found
        batch = self._log.pread(header.size, position)
        if header.magic != CURRENT_MAGIC:
            return batch, len(batch) > MAGIC_AT and compute_message_crc(batch) == header.crc
        return batch, crc32c(memoryview(batch)[ATTRIBUTES_AT:], 0) == header.crc

    def _largest_timestamp(self, base_offset: int) -> int | None:
        file = self._open(base_offset, TIME_INDEX_SUFFIX)
        count = count_entries(file, TIME_ENTRY) if file else 0
        if file is None or not count:
            return None
        timestamp, _ = TIME_ENTRY.unpack(file.pread(TIME_ENTRY.size, (count - 1) * TIME_ENTRY.size))
        return int(timestamp)

    def _open(self, base_offset: int, suffix: str) -> OpenFile | None:
        try:
            return self._fs.open(self._path(base_offset, suffix), writable=False)
        except FileNotFoundError:
            return None

    def _path(self, base_offset: int, suffix: str) -> str:
        return f"{self._directory}/{file_name(base_offset, suffix)}"
