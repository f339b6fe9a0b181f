"""Where the bytes of a log are: figures of its segments, and of the partitions of a log directory.

Of one partition every batch header is read, of a log directory only sizes and the ends of logs. How much compression
saves is found by decompressing some of the batches, or all of them. Files of a running broker may be looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct

from odradek.logs.batch_values import CODEC_NAMES
from odradek.logs.dump import MAX_DECODED_BATCH
from odradek.logs.index_entries import ABORTED_ENTRY, OFFSET_ENTRY, TIME_ENTRY, count_entries
from odradek.logs.verify.directory import DirectoryLayout
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import CODEC_MASK, CURRENT_MAGIC, HEADER_SIZE, LOG_OVERHEAD, NO_TIMESTAMP
from odradek.protocol.records.compression import DEFAULT_LIMIT, decompress
from odradek.protocol.records.legacy import read_message, unwrap
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_directory_name,
    parse_file_name,
)
from odradek.storage.segment.entry_walk import Ending, EntryWalk, Fields, Progress

_INDEX_SUFFIXES = (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
_ALWAYS_SAMPLED = 16
"""First compressed batches of a segment that are decompressed."""
_SAMPLED_EACH = 64
"""Of the others, one in so many."""


@dataclass(slots=True)
class SegmentStat:
    """One segment."""

    base_offset: int
    next_offset: int = 0
    size: int = 0
    batches: int = 0
    records: int = 0
    """As the batches say; messages of version 0 and 1 count as one each."""
    first_timestamp: int = NO_TIMESTAMP
    """Largest timestamp of the first batch."""
    max_timestamp: int = NO_TIMESTAMP
    codecs: dict[str, int] = field(default_factory=dict)
    """Batches by their compression."""
    index_bytes: int = 0
    """Of all index files, as large as they are on the disk."""
    offset_entries: int = 0
    time_entries: int = 0
    aborted_transactions: int = 0
    sampled_batches: int = 0
    sampled_bytes: int = 0
    """Of their records, as they are stored."""
    sampled_uncompressed: int = 0
    problem: str = ""
    """Why the segment could not be read to its end."""

    @property
    def bytes_per_entry(self) -> float | None:
        """How many bytes of data there are to an entry of the offset index, None without entries."""
        return self.size / self.offset_entries if self.offset_entries else None

    @property
    def compression_ratio(self) -> float | None:
        """How many times larger the records are without compression, None where nothing is compressed."""
        return self.sampled_uncompressed / self.sampled_bytes if self.sampled_bytes else None


@dataclass(slots=True)
class PartitionStat:
    """One partition, without a look at its batches."""

    directory: str
    topic: str
    partition: int
    segments: int = 0
    start_offset: int = 0
    end_offset: int | None = None
    """None where the end cannot be read."""
    data_bytes: int = 0
    index_bytes: int = 0
    other_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """Of all files."""
        return self.data_bytes + self.index_bytes + self.other_bytes


def stat_segments(
    fs: FileSystem, directory: str, every_batch: bool = False, on_bytes: Progress | None = None
) -> list[SegmentStat]:
    """Return the figures of all segments of a partition, oldest first; a segment that vanishes meanwhile is left out.

    `every_batch`: decompress all batches, not some. Raises OSError.
    """
    found = []
    for base_offset in _base_offsets(fs.listdir(directory)):
        try:
            found.append(_stat_segment(fs, directory, base_offset, every_batch, on_bytes))
        except FileNotFoundError:
            continue
    return found


def stat_partitions(fs: FileSystem, layout: DirectoryLayout) -> list[PartitionStat]:
    """Return the figures of all partitions of a log directory. Raises OSError."""
    found = []
    for directory in layout.partitions:
        try:
            found.append(_stat_partition(fs, directory))
        except FileNotFoundError:
            continue  # removed meanwhile
    return found


def _stat_partition(fs: FileSystem, directory: str) -> PartitionStat:
    name = directory.rpartition("/")[2]
    parsed = parse_directory_name(name)
    stat = PartitionStat(directory, *(parsed.partition if parsed else (name, 0)))
    names = [entry.name for entry in fs.scan(directory) if not entry.is_directory]
    for name in names:
        size = fs.size(f"{directory}/{name}")
        found = parse_file_name(name)
        if found is not None and found.suffix == LOG_SUFFIX:
            stat.data_bytes += size
        elif found is not None and found.suffix in _INDEX_SUFFIXES:
            stat.index_bytes += size
        else:
            stat.other_bytes += size
    bases = _base_offsets(names)
    stat.segments = len(bases)
    if bases:
        stat.start_offset = bases[0]
        stat.end_offset = _end_of(fs, directory, bases[-1])
    return stat


def _stat_segment(
    fs: FileSystem, directory: str, base_offset: int, every_batch: bool, on_bytes: Progress | None
) -> SegmentStat:
    path = f"{directory}/{base_offset:020d}"
    file = fs.open(path + LOG_SUFFIX, writable=False)
    walk = EntryWalk(file, file.size(), checked=False, on_bytes=on_bytes)
    stat = SegmentStat(base_offset, base_offset, walk.end)
    codecs: Counter[int] = Counter()
    next_offset, records, largest = base_offset, 0, NO_TIMESTAMP
    for position, fields, _ in walk:
        codec = fields[5] & CODEC_MASK
        codecs[codec] += 1
        next_offset = fields[0] + fields[6] + 1
        records += fields[12] if fields[12] >= 0 else 1
        if fields[8] > largest:
            largest = fields[8]
        if position == 0:
            stat.first_timestamp = fields[8]
        if codec and (every_batch or codecs[codec] <= _ALWAYS_SAMPLED or codecs[codec] % _SAMPLED_EACH == 0):
            _sample(file, position, fields, stat)
    stat.next_offset, stat.records, stat.max_timestamp = next_offset, records, largest
    stat.batches = codecs.total()
    stat.codecs = {CODEC_NAMES[codec]: count for codec, count in sorted(codecs.items())}
    if walk.ending is not Ending.END:
        stat.problem = f"at byte {walk.position}: {walk.reason}"
    stat.offset_entries, first = _entries(fs, path + OFFSET_INDEX_SUFFIX, OFFSET_ENTRY)
    stat.time_entries, second = _entries(fs, path + TIME_INDEX_SUFFIX, TIME_ENTRY)
    stat.aborted_transactions, third = _entries(fs, path + TRANSACTION_INDEX_SUFFIX, ABORTED_ENTRY)
    stat.index_bytes = first + second + third
    return stat


def _sample(file: OpenFile, position: int, fields: Fields, stat: SegmentStat) -> None:
    """Decompress a batch, and add what that says of its compression; what does not decompress is left out."""
    size = fields[1] + LOG_OVERHEAD
    if size > MAX_DECODED_BATCH:
        return
    batch = file.pread(size, position)
    try:
        if fields[3] == CURRENT_MAGIC:
            stored = size - HEADER_SIZE
            uncompressed = len(decompress(fields[5] & CODEC_MASK, memoryview(batch)[HEADER_SIZE:], DEFAULT_LIMIT))
        else:
            message = read_message(batch)
            stored = len(message.value or b"")
            uncompressed = len(unwrap(message))
    except KafkaError:
        return
    stat.sampled_batches += 1
    stat.sampled_bytes += stored
    stat.sampled_uncompressed += uncompressed


def _entries(fs: FileSystem, path: str, entry: Struct) -> tuple[int, int]:
    """Return how many entries an index has, and its size; nothing where there is none."""
    try:
        file = fs.open(path, writable=False)
    except FileNotFoundError:
        return 0, 0
    return count_entries(file, entry), file.size()


def _end_of(fs: FileSystem, directory: str, base_offset: int) -> int | None:
    """Return the offset after the last batch of a segment, read from its last index entry on."""
    path = f"{directory}/{base_offset:020d}"
    start = 0
    try:
        index = fs.open(path + OFFSET_INDEX_SUFFIX, writable=False)
        if count := count_entries(index, OFFSET_ENTRY):
            start = OFFSET_ENTRY.unpack(index.pread(OFFSET_ENTRY.size, (count - 1) * OFFSET_ENTRY.size))[1]
    except FileNotFoundError:
        pass
    file = fs.open(path + LOG_SUFFIX, writable=False)
    walk = EntryWalk(file, file.size(), max(0, start), checked=False)
    end = base_offset
    for _, fields, _ in walk:
        end = fields[0] + fields[6] + 1
    return end if walk.ending in (Ending.END, Ending.CUT) else None


def _base_offsets(names: Iterable[str]) -> list[int]:
    parsed = map(parse_file_name, names)
    return sorted(name.offset for name in parsed if name and name.suffix == LOG_SUFFIX and not name.state)
