"""Records from one version of the format to another: up to V2 where old clients produce, down where they fetch.

Owns what is lost on the way and how much is made at a time; the formats themselves are elsewhere. Follows Kafka's
`RecordsUtil.downConvert` and `LogValidator`: control batches have no place in old messages and are left out, headers
too; aborted transactions are not, since readers of old versions read uncommitted data. Codecs are kept.
"""

import struct
from collections.abc import Iterable, Iterator

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import (
    CURRENT_MAGIC,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    BatchHeader,
    Codec,
    check_crc,
    iter_batches,
)
from odradek.protocol.records.building import BatchFields, assemble_batch
from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.compression import DEFAULT_LIMIT
from odradek.protocol.records.errors import InvalidRecord, TooManyRecords, UnsupportedCompression
from odradek.protocol.records.legacy import check_message_crc
from odradek.protocol.records.legacy_building import build_message, build_wrapper, message_size
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record, append_record

MOST_RECORDS = 500_000
"""Records of an entry that is converted down: looking at them takes a second or two. No honest batch has so many."""
WRAPPED_BYTES = 1 << 20
"""Uncompressed messages in one wrapper. A batch that holds more becomes several, so that what is made is bounded."""


def up_convert(records: Iterable[Record], fields: BatchFields) -> bytearray:
    """Return one V2 batch of `records` (at least one), numbered from offset 0 in the order in which they come."""
    body = bytearray()
    count = 0
    base_timestamp = max_timestamp = -1
    for _, timestamp, key, value, headers in records:
        if not count:
            base_timestamp = max_timestamp = timestamp
        elif timestamp > max_timestamp:
            max_timestamp = timestamp
        append_record(body, Record(count, timestamp, key, value, headers), 0, base_timestamp)
        count += 1
    if not count:
        raise InvalidRecord("There is no record to make a batch of")
    return assemble_batch(
        bytes(body), fields, offsets=(0, count - 1), timestamps=(base_timestamp, max_timestamp), count=count
    )


def down_convert(
    data: Buffer, magic: int, first_offset: int, max_bytes: int, limit: int = DEFAULT_LIMIT
) -> tuple[bytearray, int]:
    """Return the records of `data` from `first_offset` on as messages of `magic` (0 or 1), and where those end.

    That is the offset after the last entry that was looked at. Goes over the whole entries of `data` until `max_bytes`
    are made, or more by what the last message has. Entries of `magic` or below are taken as they are. At most `limit`
    bytes are decompressed at a time. Where an entry cannot be converted, those before it are the result; if there are
    none, raises UnsupportedCompression (zstd), CorruptRecord (a wrong checksum, which a new one would hide),
    InvalidRecord, DecompressionError, TooMuchData, or TooManyRecords for more than `MOST_RECORDS` in an entry.
    """
    out = bytearray()
    view = memoryview(data)
    next_offset = first_offset
    try:
        for position, header in iter_batches(view):
            if len(out) >= max_bytes:
                break
            if header.last_offset >= first_offset:
                _convert(out, view[position : position + header.size], header, magic, first_offset, max_bytes, limit)
                next_offset = header.next_offset
    except KafkaError:
        if not out:
            raise
    return out, next_offset


def _convert(
    out: bytearray, entry: memoryview, header: BatchHeader, magic: int, first_offset: int, max_bytes: int, limit: int
) -> None:
    if header.magic <= magic:
        out += entry
        return
    if header.magic == CURRENT_MAGIC:
        if header.is_control:
            return
        check_crc(entry, header)
        if header.codec == Codec.ZSTD:
            raise UnsupportedCompression("Down-conversion of zstandard-compressed batches is not supported")
        if header.records_count > MOST_RECORDS:
            raise TooManyRecords(MOST_RECORDS)
    else:
        check_message_crc(entry)
    records = _from_offset(iter_entry_records(entry, limit), first_offset)
    try:
        if header.is_compressed:
            append_time = header.max_timestamp if header.is_log_append_time else None
            for group in _grouped(records, magic):
                out += build_wrapper(group, magic, Codec(header.codec), append_time)
                if len(out) >= max_bytes:
                    return
        else:
            attributes = LOG_APPEND_TIME_BIT if magic and header.is_log_append_time else 0
            for record in records:
                out += build_message(record, magic, attributes)
                if len(out) >= max_bytes:
                    return
    except struct.error:
        raise InvalidRecord(f"The batch at offset {header.base_offset} has numbers that no message can have") from None


def _from_offset(records: Iterator[Record], first_offset: int) -> Iterator[Record]:
    """Yield the records from the offset on; an old wrapper does not say how many it has, so they are counted."""
    for number, record in enumerate(records):
        if number >= MOST_RECORDS:
            raise TooManyRecords(MOST_RECORDS)
        if record.offset >= first_offset:
            yield record


def _grouped(records: Iterator[Record], magic: int) -> Iterator[list[Record]]:
    """Yield the records in groups that fill a wrapper."""
    group: list[Record] = []
    size = 0
    for record in records:
        group.append(record)
        size += message_size(record.key, record.value, magic)
        if size >= WRAPPED_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def whole_messages(data: Buffer, max_bytes: int) -> int:
    """Return how many bytes of `data` are whole messages within `max_bytes`; one that is cut off is not counted."""
    end = 0
    while len(data) - end >= HEADER_SIZE_UP_TO_MAGIC:
        (length,) = struct.unpack_from(">i", data, end + 8)
        after = end + LOG_OVERHEAD + length
        if after > max_bytes or after > len(data):
            break
        end = after
    return end
