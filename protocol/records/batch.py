"""The header of a record batch, and walking over the batches of a buffer.

Owns the layout of Kafka's record batch V2 ("magic" 2) and as much of the older message sets (V0, V1) as is needed to
step over their entries. Knows nothing of the records inside a batch, and never copies batch bytes. Follows Kafka's
storage format, record batch V2 (KIP-98, KIP-101, KIP-534).
"""

from collections.abc import Iterator
from enum import IntEnum
from functools import partial
from struct import Struct, error
from typing import Final, NamedTuple

from odradek.protocol.records.checksum import Buffer, crc32c
from odradek.protocol.records.errors import CorruptRecord

LOG_OVERHEAD: Final = 12
"""Bytes of offset and size that come before every entry of a log, in all versions; `length` does not count them."""
MIN_ENTRY_LENGTH: Final = 14
"""No entry of any version has a smaller `length` (an empty V0 message has exactly this)."""
HEADER_SIZE_UP_TO_MAGIC: Final = 17
"""Bytes needed to tell an entry's extent and version."""

HEADER: Final = Struct(">qiibIhiqqqhii")
"""All header fields of a V2 batch, in the order of `BatchHeader`."""
HEADER_SIZE: Final = HEADER.size

BASE_OFFSET_AT: Final = 0
LENGTH_AT: Final = 8
LEADER_EPOCH_AT: Final = 12
MAGIC_AT: Final = 16
CRC_AT: Final = 17
ATTRIBUTES_AT: Final = 21
"""First byte that the checksum covers."""
LAST_OFFSET_DELTA_AT: Final = 23
BASE_TIMESTAMP_AT: Final = 27
MAX_TIMESTAMP_AT: Final = 35
PRODUCER_ID_AT: Final = 43
PRODUCER_EPOCH_AT: Final = 51
BASE_SEQUENCE_AT: Final = 53
RECORDS_COUNT_AT: Final = 57

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

LEGACY_ATTRIBUTES: Final = (CODEC_MASK, CODEC_MASK | LOG_APPEND_TIME_BIT)
"""The attributes that mean something in messages of version 0 and of version 1."""

CURRENT_MAGIC: Final = 2
NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_LEADER_EPOCH: Final = -1

_INT32: Final = Struct(">i")
_LENGTH_AND_MAGIC: Final = Struct(">i4xb")
_LENGTH_TO_ATTRIBUTES: Final = Struct(">i4xb4xH")
"""Of a V2 batch, from its length on: length, magic, attributes."""
_LEGACY: Final = Struct(">qiIBB")
"""Of an entry of V0 or V1: offset, length, checksum, magic, attributes."""
_SEQUENCE_SPACE: Final = 1 << 31


class Codec(IntEnum):
    """How the records of a batch are compressed: the low three bits of its attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


LEAST_COUNTED_BLOCK: Final = 4096
"""What a block of compressed data counts for against a limit of decompressed bytes, if it holds less: each costs a few
microseconds, and a megabyte has room for 200,000 empty ones. Honest blocks, but the last, hold 32 KiB and more."""


class BatchHeader(NamedTuple):
    """The fields of a V2 batch header, as stored.

    An entry of version 0 or 1 is shown in the same form: one record at `base_offset`, with no producer and a
    `records_count` of -1; where it is compressed, it stands for several records and `base_offset` is the offset of the
    *last* of them.
    """

    base_offset: int
    length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        """Offset of the last record, whether or not compaction has removed that record."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """First offset after the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        """Number of the codec; 5, 6 and 7 are not in `Codec`."""
        return self.attributes & CODEC_MASK

    @property
    def is_compressed(self) -> bool:
        return self.attributes & CODEC_MASK != 0

    @property
    def is_log_append_time(self) -> bool:
        """Whether the time of every record is `max_timestamp`, the broker's time of append."""
        return self.attributes & LOG_APPEND_TIME_BIT != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and markers in the batch may be removed, where compaction has set that (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    @property
    def has_producer_id(self) -> bool:
        """Whether an idempotent or transactional producer wrote the batch."""
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record, -1 if the batch has none; 0 follows 2147483647."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) % _SEQUENCE_SPACE


_header_of: Final = partial(tuple.__new__, BatchHeader)  # `BatchHeader._make` would be two calls for every batch


def read_header(data: Buffer, position: int = 0) -> BatchHeader:
    """Return the header of the V2 batch at `position`, unchecked; raise CorruptRecord if fewer than 61 bytes follow."""
    try:
        return _header_of(HEADER.unpack_from(data, position))
    except error:
        raise CorruptRecord(f"The data ends inside the batch header at byte {position}") from None


def entry_size(data: Buffer, position: int = 0) -> int:
    """Return the size in bytes of the whole entry at `position`, or 0 if the entry is not complete in `data`.

    Raises CorruptRecord where no entry can be: a size field below 14, or a version that is not 0, 1 or 2.
    """
    remaining = len(data) - position
    if remaining >= HEADER_SIZE_UP_TO_MAGIC:
        length, magic = _LENGTH_AND_MAGIC.unpack_from(data, position + LENGTH_AT)
    elif remaining >= LOG_OVERHEAD:
        (length,) = _INT32.unpack_from(data, position + LENGTH_AT)
        magic = 0  # it has not come yet, and is not what is wrong
    else:
        return 0
    if length < MIN_ENTRY_LENGTH:
        raise CorruptRecord(f"Record size {length} is less than the minimum record overhead ({MIN_ENTRY_LENGTH})")
    if not 0 <= magic <= CURRENT_MAGIC:
        raise CorruptRecord(f"Invalid magic found in record: {magic}")
    size: int = length + LOG_OVERHEAD
    return size if size <= remaining else 0


def attributes_of_only(data: Buffer) -> int:
    """Return the attributes of the V2 batch that `data` exactly is by its size and magic; -1 if it is anything else."""
    if len(data) < HEADER_SIZE:
        return -1
    length, magic, attributes = _LENGTH_TO_ATTRIBUTES.unpack_from(data, LENGTH_AT)
    is_only = magic == CURRENT_MAGIC and length == len(data) - LOG_OVERHEAD
    return attributes if is_only else -1


def iter_batches(data: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of every complete batch or legacy entry of `data`; an incomplete last one ends the walk.

    Headers are not checked beyond their extent (see `check_crc`). Raises CorruptRecord like `entry_size`, and where a
    V2 batch is too small for its own header.
    """
    while size := entry_size(data, position):
        if data[position + MAGIC_AT] < CURRENT_MAGIC:
            yield position, _read_legacy_header(data, position)
        elif size < HEADER_SIZE:
            raise CorruptRecord(f"The batch at byte {position} has {size} bytes, less than a header ({HEADER_SIZE})")
        else:
            yield position, BatchHeader._make(HEADER.unpack_from(data, position))
        position += size


def _read_legacy_header(data: Buffer, position: int) -> BatchHeader:
    offset, length, crc, magic, attributes = _LEGACY.unpack_from(data, position)
    attributes &= LEGACY_ATTRIBUTES[magic]
    timestamp = NO_TIMESTAMP
    if magic == 1 and length >= MIN_ENTRY_LENGTH + 8:
        timestamp = int.from_bytes(data[position + 18 : position + 26], "big", signed=True)
    return BatchHeader(offset, length, NO_LEADER_EPOCH, magic, crc, attributes, 0, timestamp, timestamp, -1, -1, -1, -1)


def compute_crc(batch: memoryview) -> int:
    """Return the checksum that the V2 batch (exactly its bytes) should carry."""
    return crc32c(batch[ATTRIBUTES_AT:], 0)


def check_crc(batch: memoryview, header: BatchHeader) -> None:
    """Raise CorruptRecord if the V2 batch (exactly its bytes) does not have the checksum that its header says."""
    computed = crc32c(batch[ATTRIBUTES_AT:], 0)
    if computed != header.crc:
        raise CorruptRecord(
            f"Record is corrupt (stored crc = {header.crc}, computed crc = {computed}, "
            f"base offset = {header.base_offset})"
        )
