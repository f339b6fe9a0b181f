"""Finding records by their time.

The time index leads to a segment and a place in it, batch headers to the batch, and only that one batch is decoded.
Follows Kafka's log behaviour, ListOffsets timestamps (KIP-33, KIP-79, KIP-734).
"""

from collections.abc import Iterator

from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record
from odradek.storage.log.log import Log
from odradek.storage.log.log_values import TimestampAndOffset
from odradek.storage.segment.log_segments import Segments
from odradek.storage.segment.segment import NO_TIMESTAMP, Segment


def offset_for_timestamp(log: Log, timestamp: int, upto: int) -> TimestampAndOffset | None:
    """Return the first record that is not earlier than `timestamp` (ms), None if there is none below `upto`.

    Raises CorruptRecord, StorageError.
    """
    with log.local.translated("read from"):
        return _offset_for_timestamp(log.segments, log.log_start_offset, timestamp, upto)


def _offset_for_timestamp(
    segments: Segments, log_start_offset: int, timestamp: int, upto: int
) -> TimestampAndOffset | None:
    for segment in segments.since(log_start_offset):
        if segment.base_offset >= upto:
            return None
        if segment.max_timestamp < timestamp:
            continue
        found = _search(segment, timestamp, log_start_offset)
        if found is not None:
            return found if found.offset < upto else None
    return None


def _search(segment: Segment, timestamp: int, start_offset: int) -> TimestampAndOffset | None:
    for position, header in segment.batches_since(timestamp, start_offset):
        for record in _records(segment, position, header):
            if record.timestamp >= timestamp and record.offset >= start_offset:
                return TimestampAndOffset(record.timestamp, record.offset, header.partition_leader_epoch)
    return None


def max_timestamp_record(log: Log, upto: int) -> TimestampAndOffset | None:
    """Return the first record that has the largest timestamp of the log, None if it is not below `upto`.

    Also None where no record has a timestamp. Raises CorruptRecord, StorageError.
    """
    with log.local.translated("read from"):
        return _max_timestamp_record(log.segments, log.log_start_offset, upto)


def _max_timestamp_record(segments: Segments, log_start_offset: int, upto: int) -> TimestampAndOffset | None:
    segment = max(segments.since(log_start_offset), key=lambda candidate: candidate.max_timestamp)
    largest = segment.max_timestamp
    if largest == NO_TIMESTAMP:
        return None
    for position, header in segment.batches_from(segment.max_timestamp_offset):
        for record in _records(segment, position, header):
            if record.timestamp == largest:
                found = TimestampAndOffset(largest, record.offset, header.partition_leader_epoch)
                return found if record.offset < upto else None
    return None


def _records(segment: Segment, position: int, header: BatchHeader) -> Iterator[Record]:
    """Yield the records of a batch, or of an old message."""
    return iter_entry_records(segment.file.pread(header.size, position))
