"""Finding records by their time.

The time index leads to a segment and a place in it, batch headers to the batch, and only that one batch is decoded.
Whoever must not wait for the disk looks for the batch without, and reads and decodes it elsewhere: a batch of a few
kilobytes may hold a million records. Follows Kafka's log behaviour, ListOffsets timestamps (KIP-33, KIP-79, KIP-734).
"""

from collections.abc import Callable
from typing import NamedTuple

from odradek.protocol.records.batch import CODEC_MASK, BatchHeader
from odradek.protocol.records.compression import DEFAULT_LIMIT
from odradek.protocol.records.reading import iter_entry_records
from odradek.storage.files import OpenFile
from odradek.storage.log.log import Log
from odradek.storage.log.log_values import TimestampAndOffset
from odradek.storage.segment.segment import NO_TIMESTAMP, Segment


class TimestampCandidate(NamedTuple):
    """A batch that may hold the record that is looked for: the first from `start_offset` on not before `timestamp`."""

    file: OpenFile
    position: int
    size: int
    leader_epoch: int
    next_offset: int
    """After the batch: where to look on if it does not hold it."""
    timestamp: int
    start_offset: int
    is_compressed: bool

    def read(self) -> bytes:
        """Return the bytes of the batch, on any thread. Raises OSError."""
        return self.file.pread(self.size, self.position)

    def record_in(self, data: bytes, limit: int = DEFAULT_LIMIT) -> TimestampAndOffset | None:
        """Return the record, None if it is not in the bytes of the batch; at most `limit` bytes are decompressed.

        Raises CorruptRecord, TooMuchData.
        """
        for record in iter_entry_records(data, limit):
            if record.timestamp >= self.timestamp and record.offset >= self.start_offset:
                return TimestampAndOffset(record.timestamp, record.offset, self.leader_epoch)
        return None


TimestampSearch = Callable[[int, bool], TimestampCandidate | None]
"""Returns the first candidate from an offset on. Raises NotInMemory if it is not to wait for the disk and would have
to, CorruptRecord, StorageError."""


def by_timestamp(log: Log, timestamp: int, upto: int) -> TimestampSearch:
    """Return the search for the first record that is not earlier than `timestamp` (ms) and below `upto`."""

    def search(start_offset: int, wait: bool) -> TimestampCandidate | None:
        start_offset = max(start_offset, log.log_start_offset)
        with log.local.translated("read from"):
            for segment in log.segments.since(start_offset):
                if segment.base_offset >= upto:
                    return None
                if not wait:
                    segment.learn_max_timestamp()
                if segment.max_timestamp < timestamp:
                    continue
                for position, header in segment.batches_since(timestamp, start_offset, wait):
                    return _candidate(segment, position, header, timestamp, start_offset)
        return None

    return search


def by_max_timestamp(log: Log) -> TimestampSearch:
    """Return the search for the first record that has the largest timestamp of the log."""

    def search(start_offset: int, wait: bool) -> TimestampCandidate | None:
        with log.local.translated("read from"):
            segments = list(log.segments.since(log.log_start_offset))
            if not wait:
                for segment in segments:
                    segment.learn_max_timestamp()
            segment = max(segments, key=lambda candidate: candidate.max_timestamp)
            largest = segment.max_timestamp
            if largest == NO_TIMESTAMP:
                return None
            for position, header in segment.batches_from(max(segment.max_timestamp_offset, start_offset), wait):
                return _candidate(segment, position, header, largest, 0)
        return None

    return search


def _candidate(
    segment: Segment, position: int, header: BatchHeader, timestamp: int, start_offset: int
) -> TimestampCandidate:
    return TimestampCandidate(
        segment.file,
        position,
        header.size,
        header.partition_leader_epoch,
        header.next_offset,
        timestamp,
        start_offset,
        bool(header.attributes & CODEC_MASK),
    )
