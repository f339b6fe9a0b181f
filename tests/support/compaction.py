"""Compaction for tests: a round over a log, done at once and in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from odradek.protocol.records.batch import BatchHeader, iter_batches
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record
from odradek.storage.compaction.planning import (
    CleanerLimits,
    facts_of,
    last_batches,
    limits_of,
    plan_round,
    still_fits,
    take_over,
)
from odradek.storage.compaction.round import compact
from odradek.storage.compaction.selection import examine, first_dirty_offset
from odradek.storage.compaction.values import CleanerStats, RoundFailed, RoundFinished, Written
from odradek.storage.log.log import Log
from tests.support.logs import NOW_MS


class RoundFailedError(Exception):
    """The round said that it failed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a round ended."""

    end_offset: int
    statistics: CleanerStats
    swaps: int


def unpaced(_size: int) -> None:
    """Work as fast as possible."""


def compact_log(
    log: Log,
    checkpoint: int | None = None,
    *,
    now_ms: int = NOW_MS,
    stable_offset: int | None = None,
    limits: CleanerLimits | None = None,
    pace: Callable[[int], None] = unpaced,
) -> Outcome | None:
    """Do a round over all that may be compacted; None if there is nothing. Raises RoundFailedError, OSError."""
    facts = facts_of(log, log.log_end_offset if stable_offset is None else stable_offset, checkpoint)
    candidate = examine(facts, limits_of(log), now_ms)
    if candidate.end <= candidate.first_dirty or candidate.first_dirty != first_dirty_offset(facts):
        return None
    producers = b"".join(last_batches(log, candidate))
    running = plan_round(log, candidate, limits or CleanerLimits(dedupe_buffer_bytes=1 << 20), 1, now_ms, producers)
    done = swaps = 0
    for event in compact(log.local.fs, running.task, pace, lambda: 0.0):
        match event:
            case Written():
                assert still_fits(log, running, done, event.sources)
                if not event.unchanged:
                    swapped = take_over(log, running, done, event, now_ms)
                    assert swapped.problem == ""
                    log.local.fs.sync_dir(log.directory)
                    for path in swapped.doomed:
                        log.local.deletions.add_file(path, 0)
                    swaps += 1
                done += event.sources
            case RoundFailed():
                raise RoundFailedError(f"{event.path}: {event.reason}")
            case RoundFinished():
                return Outcome(event.end_offset, event.statistics, swaps)
    raise AssertionError("a round ends with Finished or Failed")


def read_batches(log: Log) -> list[tuple[BatchHeader, list[Record]]]:
    """Read the whole log as it lies in its files: headers and records."""
    found = []
    for segment in log.segments:
        data = segment.file.pread(segment.size, 0)
        for position, header in iter_batches(data):
            entry = data[position : position + header.size]
            found.append((header, list(iter_entry_records(entry))))
    return found


def read_pairs(log: Log) -> list[tuple[int, bytes | None, bytes | None]]:
    """Read (offset, key, value) of all records that are not of a control batch."""
    return [
        (record.offset, record.key, record.value)
        for header, records in read_batches(log)
        if not header.is_control
        for record in records
    ]
