"""When a log starts a new segment, and making one.

The time that counts is that of the records, not of the wall: a segment is full when its first batch and the incoming
one lie `segment.ms` apart, so that old data that is loaded again lands in segments that retention can remove. There
is no timer; an idle log keeps its active segment. Follows Kafka's log behaviour, rolling (`LogSegment.shouldRoll`).
"""

from contextlib import suppress
from typing import NamedTuple

from odradek.config.topic import TopicConfig
from odradek.storage.files import FileSystem
from odradek.storage.segment.index_set import IndexSettings
from odradek.storage.segment.segment import SEGMENT_SUFFIXES, Segment
from odradek.storage.segment.segment_index import MAX_RELATIVE_OFFSET


class RollLimits(NamedTuple):
    """The topic configs that decide when a segment is full."""

    segment_bytes: int
    segment_ms: int
    jitter_ms: int


def roll_limits(config: TopicConfig) -> RollLimits:
    """Return the limits; a compacted topic also rolls in time for `max.compaction.lag.ms`."""
    segment_ms = min(config.segment_ms, config.max_compaction_lag_ms) if config.compacted else config.segment_ms
    return RollLimits(config.segment_bytes, segment_ms, min(config.segment_jitter_ms, config.segment_ms))


def must_roll(
    segment: Segment, limits: RollLimits, size: int, last_offset: int, max_timestamp: int, now_ms: int
) -> bool:
    """Return whether `size` bytes that end at `last_offset` must not go into the segment.

    A segment without data is only passed over for bytes that fit into none, and for an offset too far from its base.
    """
    if segment.size + size > limits.segment_bytes:
        return True
    if segment.size:
        first_timestamp = segment.first_timestamp
        waited = max_timestamp - first_timestamp if first_timestamp >= 0 else now_ms - segment.created_ms
        if waited > limits.segment_ms - segment.jitter_ms or segment.indexes.are_full:
            return True
    return last_offset - segment.base_offset > MAX_RELATIVE_OFFSET


def create_segment(fs: FileSystem, directory: str, base_offset: int, config: TopicConfig, now_ms: int) -> Segment:
    """Make the files of an empty segment; raises OSError and leaves none behind."""
    settings = IndexSettings(config.index_interval_bytes, config.segment_index_bytes)
    segment = Segment(fs, directory, base_offset, settings, 0, now_ms)
    try:
        segment.make_files()
    except OSError:
        remove_new_files(segment)
        raise
    segment.jitter_ms = draw_jitter(roll_limits(config))
    return segment


def remove_new_files(segment: Segment) -> None:
    """Remove the files of a segment that never had data."""
    for suffix in SEGMENT_SUFFIXES:
        with suppress(OSError):
            segment.fs.unlink(segment.path(suffix))


def draw_jitter(limits: RollLimits) -> int:
    """Return by how many ms a new segment rolls early: drawn once per segment, so that logs do not all roll at once."""
    if limits.jitter_ms <= 0:
        return 0
    from random import randrange  # not needed with the defaults, and slow to import

    return randrange(limits.jitter_ms)
