"""A log with the numbers of the well-known worked example: offset 368776, in the segment 368769, by the entry 3,497.

The index entry `3,497` says that the batch that ends at offset 368769 + 3 begins at byte 497. Everything is written by
the log engine itself; the sizes of the records and `index.interval.bytes` are such that these entries follow.
"""

from dataclasses import replace
from pathlib import Path
from uuid import UUID

from odradek.config.topic import kafka_defaults
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.record import Record
from odradek.storage.deletions import PendingDeletions
from odradek.storage.files import FileSystem, PosixFiles
from odradek.storage.log.log import Log
from odradek.storage.names import TopicPartition
from odradek.storage.opening.loader import Opening, open_log
from odradek.storage.producers.producer_state import AppendOrigin

SEGMENTS = (0, 368769, 737337, 1105814)
SOUGHT = 368776
FIRST_TIME_MS = 1_700_000_000_000
_SIZES = (160, 160, 177, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100)
"""Bytes of the first batches of each segment."""
_INTERVAL = 400
_TOPIC_ID = UUID("0d1ade00-0000-4000-8000-000000368776")


def make_example(parent: Path | str, fs: FileSystem | None = None) -> str:
    """Write the log `articles-0` into a directory and return its own."""
    config = replace(kafka_defaults(), index_interval_bytes=_INTERVAL)
    directory = f"{parent}/articles-0"
    opening = Opening(TopicPartition("articles", 0), directory, config, FIRST_TIME_MS, clean=True, topic_id=_TOPIC_ID)
    files = fs or PosixFiles()
    log, _ = open_log(files, opening, PendingDeletions(files))
    for number, base_offset in enumerate(SEGMENTS):
        if number:
            _leap_to(log, base_offset)
        for size in _SIZES:
            _append(log, size)
    log.flush()
    log.close()
    return directory


def _append(log: Log, size: int) -> None:
    """Append a batch of one record that takes that many bytes; each record is a second later than the one before."""
    offset = log.log_end_offset
    time = FIRST_TIME_MS + offset * 1000
    text = f"article {offset} ".encode()
    while len(batch := build_batch([Record(0, time, b"%d" % offset, text)])) < size:
        text += b"."
    assert len(batch) == size
    log.append(memoryview(batch), 0, time, AppendOrigin.COORDINATOR)


def _leap_to(log: Log, offset: int) -> None:
    """Let the next segment begin at `offset`: an empty batch, such as compaction leaves, covers what is between."""
    first = log.log_end_offset
    batch = build_batch([], BatchFields(base_offset=first, last_offset=offset - 1))
    log.append(memoryview(batch), 0, FIRST_TIME_MS, AppendOrigin.COORDINATOR)
    log.roll(FIRST_TIME_MS)
