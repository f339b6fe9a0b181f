"""Walking over the batch headers of a segment file, without touching record data.

Owns reading headers in chunks and stepping from batch to batch; knows nothing of indexes, logs or producers. All
three record formats are stepped over: an entry of V0 or V1 has no base offset of its own, the offset it carries is
that of its last record. Follows Kafka's storage format ("reading a .log safely"): fewer than 17 bytes, or a batch
that does not fit, end a walk; a size below 14 or a magic above 2 is corruption.
"""

from collections.abc import Iterator
from functools import partial
from struct import Struct
from typing import NamedTuple, TypeAlias

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import (
    CURRENT_MAGIC,
    HEADER,
    HEADER_SIZE,
    HEADER_SIZE_UP_TO_MAGIC,
    LEGACY_ATTRIBUTES,
    LOG_OVERHEAD,
    MIN_ENTRY_LENGTH,
    NO_TIMESTAMP,
    BatchHeader,
)
from odradek.protocol.records.errors import CorruptRecord
from odradek.protocol.records.legacy import iter_message_records
from odradek.storage.errors import NotInMemory
from odradek.storage.files import OpenFile

EXTENT = Struct(">qi4xb6xi")
"""Base offset, length, magic and last offset delta: the fields that say what a batch covers."""
_unpack_extent = EXTENT.unpack_from
_CHUNK = 8192
"""Bytes read at a time: with the default index.interval.bytes a lookup seldom needs a second read."""

Chunk: TypeAlias = bytes | bytearray


class BatchExtent(NamedTuple):
    """Where a batch lies in its file, and which offsets it covers."""

    position: int
    size: int
    base_offset: int
    """Of a V0 or V1 entry: the offset of its last record, since it knows no other."""
    last_offset: int
    magic: int

    @property
    def end(self) -> int:
        """File position after the batch."""
        return self.position + self.size


def find_batch(file: OpenFile, position: int, end: int, target: int, wait: bool = True) -> BatchExtent | None:
    """Return the first batch at or after `position` whose last offset is at least `target`.

    A loop of its own beside `walk_headers`, as every fetch comes by here: with the four fields that it needs a header
    takes 4.6 us, a whole one 7.2. `position` must be the start of a batch and `end` the number of valid bytes in the
    file. None where no complete batch before `end` reaches the target. Raises CorruptRecord where the bytes cannot be a
    batch header, and NotInMemory if it is not to `wait` for the disk and would have to.
    """
    chunk: Chunk = b""
    start, last = position, -1  # where the chunk begins, and the last place of which it has these fields
    while end - position > HEADER_SIZE_UP_TO_MAGIC:
        if position > last:
            chunk = _read_headers(file, position, end, wait)
            start, last = position, position + len(chunk) - EXTENT.size
        base_offset, length, magic, delta = _unpack_extent(chunk, position - start)
        if length < MIN_ENTRY_LENGTH or not 0 <= magic <= CURRENT_MAGIC:
            raise no_batch_here(file.path, position, length, magic)
        following = position + length + LOG_OVERHEAD
        if following > end:
            return None
        last_offset = base_offset + delta if magic == CURRENT_MAGIC else base_offset
        if last_offset >= target:
            return BatchExtent._make((position, following - position, base_offset, last_offset, magic))
        position = following
    return None


def with_base_offset(file: OpenFile, batch: BatchExtent) -> BatchExtent:
    """Return the same extent with the offset of its first record, which a wrapper of V0 or V1 has to be read for.

    One that cannot be read counts as its last record. Raises OSError.
    """
    if batch.magic == CURRENT_MAGIC:
        return batch
    try:
        first = next(iter_message_records(file.pread(batch.size, batch.position)), None)
    except KafkaError:
        return batch
    return batch if first is None else batch._replace(base_offset=min(first.offset, batch.last_offset))


def walk_headers(file: OpenFile, position: int, end: int, wait: bool = True) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of every complete batch from `position` to `end`; checksums are not looked at.

    A V0 or V1 entry has its own offset as base offset and a last offset delta of 0. Raises CorruptRecord where the
    bytes cannot be a batch header, and NotInMemory if it is not to `wait` for the disk and would have to.
    """
    chunk: Chunk = b""
    start = position
    while end - position > HEADER_SIZE_UP_TO_MAGIC:
        at = position - start
        if at + HEADER_SIZE > len(chunk):
            chunk, start, at = _read_headers(file, position, end, wait), position, 0
        header = header_at(chunk, at)
        least = HEADER_SIZE - LOG_OVERHEAD if header.magic == CURRENT_MAGIC else MIN_ENTRY_LENGTH
        if header.length < least or not 0 <= header.magic <= CURRENT_MAGIC:
            raise no_batch_here(file.path, position, header.length, header.magic)
        if position + header.size > end:
            return
        yield position, header
        position += header.size


class Tail(NamedTuple):
    """What the last batches of a file say of all of it."""

    position: int
    """Where the last whole batch ends."""
    next_offset: int
    max_timestamp: int
    max_timestamp_offset: int
    """Last offset of the first batch with that timestamp."""


def walk_tail(file: OpenFile, before: Tail, end: int) -> Tail:
    """Return what is true at `end`, given what is `before` the batches that are walked over; see `walk_headers`."""
    position, next_offset, timestamp, offset = before
    for start, header in walk_headers(file, position, end):
        if header.max_timestamp > timestamp:
            timestamp, offset = header.max_timestamp, header.last_offset
        next_offset = header.next_offset
        position = start + header.size
    return Tail(position, next_offset, timestamp, offset)


def header_at(data: Chunk | memoryview, at: int) -> BatchHeader:
    """Return the header of the entry at `at`, of which at least 61 bytes must follow, in the form of a V2 header.

    Nothing is checked: a magic byte outside 0 to 2 is returned like any other.
    """
    header = BatchHeader._make(HEADER.unpack_from(data, at))
    if header.magic in (0, 1):
        timestamp = NO_TIMESTAMP
        if header.magic == 1:
            timestamp = int.from_bytes(data[at + 18 : at + 26], "big", signed=True)
        return BatchHeader(
            header.base_offset,
            header.length,
            -1,
            header.magic,
            header.partition_leader_epoch & 0xFFFFFFFF,  # the checksum stands where V2 has the leader epoch
            data[at + 17] & LEGACY_ATTRIBUTES[header.magic],
            0,
            timestamp,
            timestamp,
            -1,
            -1,
            -1,
            -1,
        )
    return header


def _read_headers(file: OpenFile, position: int, end: int, wait: bool) -> Chunk:
    """Read a chunk that starts with a whole header; an old entry may be shorter than one, so the end is padded."""
    length = min(_CHUNK, end - position)
    chunk = file.pread(length, position) if wait else file.pread_cached(length, position)
    if chunk is None:
        raise NotInMemory(partial(file.pread, length, position))
    return chunk if len(chunk) >= HEADER_SIZE else chunk.ljust(HEADER_SIZE, b"\0")


def no_batch_here(path: str, position: int, length: int, magic: int) -> CorruptRecord:
    """Return the error for bytes that cannot be the start of a batch."""
    return CorruptRecord(f"{path}: no batch can start at byte {position}: size field {length}, magic {magic}")
