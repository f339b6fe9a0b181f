"""One round of compaction over one log: learn the last offset of each key, then write the segments anew without the
rest.

Reads closed segments and writes `.cleaned` files beside them, and nothing else; what comes of them is up to whoever
owns the log. Follows Kafka's log behaviour, log cleaner, "One round" (`Cleaner.clean`).
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from dataclasses import fields
from struct import error as StructError  # noqa: N812 - a name for an exception

from odradek.protocol.errors import KafkaError
from odradek.storage.compaction.entries import Pace
from odradek.storage.compaction.grouping import group_segments
from odradek.storage.compaction.indexing import map_keys
from odradek.storage.compaction.retain import RoundRules
from odradek.storage.compaction.segment_rewrite import Counts, Rewriter
from odradek.storage.compaction.sources import SourceLog
from odradek.storage.compaction.values import CleanerStats, RoundFailed, RoundFinished, Task, Written, unpack_producers
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem

_FULL = (errno.ENOSPC, errno.EDQUOT)


def compact(
    fs: FileSystem, task: Task, pace: Pace, seconds: Callable[[], float]
) -> Iterator[Written | RoundFinished | RoundFailed]:
    """Do the round; yield each segment once it is on the disk, and at last how the round ended.

    `seconds` is a clock that only goes forward. `pace` may raise to end the round: the segment that is being written
    is removed then.
    """
    try:
        yield from _compact(fs, task, pace, seconds)
    except CorruptFile as error:
        yield RoundFailed(task.number, error.path, error.reason)
    except KafkaError as error:
        yield RoundFailed(task.number, task.directory, str(error))
    except (OverflowError, StructError) as error:
        yield RoundFailed(task.number, task.directory, f"a batch has an offset or a time that is no int64: {error}")
    except OSError as error:
        reason = error.strerror or str(error)
        yield RoundFailed(task.number, str(error.filename or task.directory), reason, error.errno in _FULL)


def _compact(fs: FileSystem, task: Task, pace: Pace, seconds: Callable[[], float]) -> Iterator[Written | RoundFinished]:
    started = seconds()
    log = SourceLog(fs, task)
    offsets, dirty_bytes = map_keys(task, log, pace)
    end_offset = offsets.latest_offset + 1
    rules = RoundRules(offsets, task.now_ms, unpack_producers(task.producers), task.end)
    rewriter = Rewriter(fs, task, log, rules, pace)
    total = Counts()
    first = 0
    sizes = [one for one in log.sizes() if one.base_offset < end_offset]
    for group in group_segments(sizes, task.segment_bytes, task.index_bytes):
        segment, counts = rewriter.write(first, len(group))
        unchanged = len(group) == 1 and not counts.changed
        if unchanged:
            segment.discard()
        for field in fields(counts):
            setattr(total, field.name, getattr(total, field.name) + getattr(counts, field.name))
        yield Written(task.number, segment.base_offset, len(group), segment.size, unchanged)
        first += len(group)
    statistics = CleanerStats(
        dirty_bytes,
        total.bytes_before,
        total.bytes_after,
        total.records_before,
        total.records_after,
        offsets.size,
        seconds() - started,
    )
    yield RoundFinished(task.number, end_offset, statistics)
