"""Logs for tests: opened on any file system, filled with records that can be told apart, read back, checked whole."""

import struct
import zlib
from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from odradek.config.topic import TopicConfig, kafka_defaults
from odradek.protocol.records.batch import iter_batches
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record
from odradek.storage.deletions import PendingDeletions
from odradek.storage.errors import LogError
from odradek.storage.files import FileSystem
from odradek.storage.log.log import Log
from odradek.storage.names import TopicPartition
from odradek.storage.opening.loader import Opening, open_log
from odradek.storage.segment.batch_headers import walk_headers
from odradek.storage.segment.segment import Segment

NOW_MS = 1_700_000_000_000
PARTITION = TopicPartition("spool", 0)
DIRECTORY = "/data/spool-0"
TOPIC_ID = UUID("a3f0c1de-0000-4000-8000-0123456789ab")


def small_config(**changes: object) -> TopicConfig:
    """Return Kafka's defaults, but with segments of 2,000 bytes and an index entry every 200."""
    small = replace(kafka_defaults(), segment_bytes=2000, index_interval_bytes=200)
    return replace(small, **changes)  # type: ignore[arg-type]  # names and types are those of TopicConfig


def open_at(
    fs: FileSystem,
    config: TopicConfig | None = None,
    *,
    clean: bool = False,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    directory: str = DIRECTORY,
) -> Log:
    """Open, or make, the log of the one partition that tests use."""
    return open_with_findings(
        fs,
        config,
        clean=clean,
        recovery_point=recovery_point,
        log_start_offset=log_start_offset,
        directory=directory,
    )[0]


def open_with_findings(
    fs: FileSystem,
    config: TopicConfig | None = None,
    *,
    clean: bool = False,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    directory: str = DIRECTORY,
) -> tuple[Log, tuple[str, ...]]:
    """Open the log, and return what the load found worth saying, too."""
    opening = Opening(
        PARTITION, directory, config or small_config(), NOW_MS, clean, recovery_point, log_start_offset, TOPIC_ID
    )
    return open_log(fs, opening, PendingDeletions(fs))


def a_batch(
    values: Iterable[bytes | None], timestamp: int | list[int] = NOW_MS, fields: BatchFields | None = None
) -> memoryview:
    """Return a client's batch of these values, writable; the key of each record is its number."""
    wanted = list(values)
    times = [timestamp] * len(wanted) if isinstance(timestamp, int) else timestamp
    records = [
        Record(number, time, b"%d" % number, value)
        for number, (time, value) in enumerate(zip(times, wanted, strict=True))
    ]
    return memoryview(build_batch(records, fields or BatchFields()))


def append_values(log: Log, values: Iterable[bytes | None], timestamp: int | list[int] = NOW_MS, epoch: int = 0) -> int:
    """Append one batch of these values, and return the offset of the first."""
    return log.append(a_batch(values, timestamp), epoch, NOW_MS).first_offset


def read_all(log: Log, max_bytes: int = 1 << 30, start: int | None = None) -> list[tuple[int, bytes | None]]:
    """Read the log as a consumer does, slice by slice, and return (offset, value) of all records."""
    offset = log.log_start_offset if start is None else start
    found: list[tuple[int, bytes | None]] = []
    while offset < log.log_end_offset:
        region = log.read(offset, max_bytes, log.log_end_offset, at_least_one=True)
        assert region.file is not None, f"nothing at offset {offset}"
        assert region.length > 0
        data = region.file.pread(region.length, region.position)
        before = offset
        for position, header in iter_batches(data):
            records = iter_entry_records(data[position : position + header.size])
            found += [(record.offset, record.value) for record in records if record.offset >= offset]
            offset = header.next_offset
        assert offset > before, f"no whole batch at offset {before}"
    return found


def check_log(log: Log) -> None:
    """Hold everything that a log says about itself against its data files."""
    segments = list(log.segments)
    assert log.size == sum(segment.size for segment in segments)
    assert segments[0].base_offset <= log.log_start_offset <= log.log_end_offset
    assert log.recovery_point <= log.log_end_offset
    expected = segments[0].base_offset
    for segment in segments:
        assert segment.base_offset >= expected
        expected = check_segment(segment)
    assert expected <= log.log_end_offset
    assert expected == log.log_end_offset or segments[-1].size == 0
    assert all(entry.start_offset <= log.log_end_offset for entry in log.leader_epochs.entries)


def check_segment(segment: Segment) -> int:
    """Hold the indexes of a segment against its data, and return its end offset."""
    starts = {}
    end = segment.base_offset
    largest = (-1, segment.base_offset)
    for position, header in walk_headers(segment.file, 0, segment.size):
        assert header.base_offset >= end
        starts[position] = header.last_offset
        end = header.next_offset
        if header.max_timestamp > largest[0]:
            largest = (header.max_timestamp, header.last_offset)
        assert position + header.size <= segment.size
    assert sum(1 for _ in starts) == len(starts)
    assert segment.max_timestamp == largest[0]
    for offset in range(segment.base_offset, end):
        entry_offset, position = segment.indexes.offsets.lookup(offset)
        assert position in starts or not starts
        if position:
            assert starts[position] == entry_offset
            assert entry_offset <= offset
    return end


def contents(fs: FileSystem, directory: str = DIRECTORY) -> dict[str, bytes]:
    """Return all files of a directory."""
    return {name: fs.read_bytes(f"{directory}/{name}") for name in sorted(fs.listdir(directory))}


def refused(action: object) -> LogError | None:
    """Call `action` and return the error of the log engine that it raised, None if it did not."""
    assert callable(action)
    try:
        action()
    except LogError as error:
        return error
    return None


def old_message(magic: int, offset: int, value: bytes, timestamp: int = NOW_MS, attributes: int = 0) -> bytes:
    """Return a message of the formats before V2, without a key."""
    body = struct.pack(">bb", magic, attributes)
    if magic == 1:
        body += struct.pack(">q", timestamp)
    body += struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body
