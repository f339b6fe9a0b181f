"""From a log to the task of a round, and from what the round has written back to the log.

For the process that owns the log. A round takes its time, and the log goes on meanwhile: whether its result still fits
is asked before every swap.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from odradek.storage.compaction.selection import Candidate, CompactionLimits, LogFacts
from odradek.storage.compaction.swap import Swapped, swap_in
from odradek.storage.compaction.values import LastBatch, SourceSegment, Task, Written, pack_aborted, pack_producers
from odradek.storage.log.log import Log
from odradek.storage.names import LOG_SUFFIX
from odradek.storage.producers.producer_entry import NO_OFFSET
from odradek.storage.segment.segment import Segment
from odradek.storage.segment.transaction_index import AbortedTxn


class CleanerLimits(NamedTuple):
    """The configs of the cleaner that a round keeps to (`log.cleaner.*`)."""

    dedupe_buffer_bytes: int = 128 << 20
    load_factor: float = 0.9
    io_buffer_bytes: int = 512 << 10
    max_bytes_per_second: float = 1.7976931348623157e308


class Round(NamedTuple):
    """A round under way, as the owner of the log sees it."""

    task: Task
    sources: tuple[Segment, ...]
    generation: int
    """Of the log when the round began: data cut off its end makes another one."""


def facts_of(log: Log, stable_offset: int, checkpoint: int | None) -> LogFacts:
    """Return what selection sees of a log.

    What is not on the disk for sure must stay as it is: after a crash a gap above the recovery point means loss.
    """
    stable = min(stable_offset, log.recovery_point)
    return LogFacts(log.log_start_offset, log.log_end_offset, stable, checkpoint, tuple(log.segments))


def limits_of(log: Log) -> CompactionLimits:
    """Return the limits that the topic's configs set."""
    config = log.config
    return CompactionLimits(
        config.min_cleanable_dirty_ratio, config.min_compaction_lag_ms, config.max_compaction_lag_ms
    )


def plan_round(
    log: Log, candidate: Candidate, limits: CleanerLimits, number: int, now_ms: int, producers: bytes
) -> Round:
    """Return the round over a log that `candidate` is about; `producers` is what `last_batches` has yielded."""
    sources = tuple(segment for segment in log.segments if segment.base_offset < candidate.end)
    config = log.config
    task = Task(
        number=number,
        directory=log.directory,
        sources=tuple(SourceSegment(segment.base_offset, segment.size) for segment in sources),
        first_dirty=candidate.first_dirty,
        end=candidate.end,
        now_ms=now_ms,
        delete_retention_ms=config.delete_retention_ms,
        segment_bytes=config.segment_bytes,
        index_bytes=config.segment_index_bytes,
        index_interval_bytes=config.index_interval_bytes,
        largest_batch=config.max_message_bytes,
        map_bytes=limits.dedupe_buffer_bytes,
        load_factor=limits.load_factor,
        io_bytes=max(limits.io_buffer_bytes // 2, _LEAST_IO_BYTES),
        max_bytes_per_second=limits.max_bytes_per_second,
        producers=producers,
        aborted=pack_aborted(_aborted_later(log, candidate.end)),
    )
    return Round(task, sources, log.local.generation)


_LEAST_IO_BYTES = 16 << 10


PRODUCERS_PER_STEP = 1_000
"""Producers packed before others get their turn: some two milliseconds of work."""


def last_batches(log: Log, candidate: Candidate) -> Iterator[bytes]:
    """Yield, packed, the last batches of the producers of which one may be in the range of a round, piece by piece.

    The log may go on between two pieces: a producer that writes meanwhile has its last batch behind the range then.
    """
    start, end = log.segments.first.base_offset, candidate.end
    entries = log.producers.entries
    producer_ids = iter(list(entries))
    while step := list(islice(producer_ids, PRODUCERS_PER_STEP)):
        yield pack_producers(
            {
                producer_id: LastBatch(entry.epoch, entry.last_data_offset)
                for producer_id in step
                if (entry := entries.get(producer_id)) is not None
                and (entry.last_data_offset == NO_OFFSET or start <= entry.last_data_offset < end)
            }
        )


def _aborted_later(log: Log, end: int) -> list[AbortedTxn]:
    """Return the transactions with records before `end` whose abort marker comes later."""
    found: list[AbortedTxn] = []
    for segment in log.segments.since(end):
        if segment.base_offset < end:
            continue
        transactions, complete = segment.indexes.transactions.collect(end, end)
        found += transactions
        if complete:
            break
    return found


def still_fits(log: Log, running: Round, done: int, count: int) -> bool:
    """Return whether the next `count` sources, after `done` of them, are what stands in the log today."""
    sources = running.sources[done : done + count]
    if log.local.generation != running.generation or len(sources) != count or not log.config.compacted:
        return False
    start = sources[0].base_offset
    current = log.segments.since(start)[: count + 1]
    if len(current) != count + 1:
        return False
    return all(one is other for one, other in zip(sources, current[:count], strict=True))


def take_over(log: Log, running: Round, done: int, written: Written, now_ms: int) -> Swapped:
    """Put what was written in place of its sources, the ones after `done`; `still_fits` must hold.

    Raises OSError, with the log as it was.
    """
    sources: Sequence[Segment] = running.sources[done : done + written.sources]
    return swap_in(log, sources, written.base_offset, written.size, now_ms)


def is_half_swapped(log: Log) -> bool:
    """Return whether a swap of this log could not be completed; the next start does that."""
    return any(not segment.path(LOG_SUFFIX).endswith(LOG_SUFFIX) for segment in log.segments)
