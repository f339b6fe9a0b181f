"""Which segments are written together as one, so that a log does not end as a thousand small files.

Follows Kafka's log behaviour, log cleaner, grouping (`Cleaner.groupSegmentsBySize`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

MAX_SOURCES = 32
"""Segments of one group. Kafka has no such limit; here the files of a group are renamed between two requests."""
_MAX_RELATIVE_OFFSET = 0x7FFF_FFFF


class SegmentSizes(NamedTuple):
    """What counts of a segment; sizes in bytes."""

    base_offset: int
    end: int
    """Where the next segment begins."""
    size: int
    index_size: int
    time_index_size: int


def group_segments(
    segments: Iterable[SegmentSizes], segment_bytes: int, index_bytes: int
) -> list[tuple[SegmentSizes, ...]]:
    """Return the segments, in order, in groups that each fit into one segment."""
    groups: list[list[SegmentSizes]] = []
    size = index_size = time_index_size = 0
    for segment in segments:
        size += segment.size
        index_size += segment.index_size
        time_index_size += segment.time_index_size
        group = groups[-1] if groups else None
        if (
            group is not None
            and len(group) < MAX_SOURCES
            and size <= segment_bytes
            and index_size <= index_bytes
            and time_index_size <= index_bytes
            and (not segment.size or segment.end - 1 - group[0].base_offset <= _MAX_RELATIVE_OFFSET)
        ):
            group.append(segment)
        else:
            groups.append([segment])
            size, index_size, time_index_size = segment.size, segment.index_size, segment.time_index_size
    return [tuple(group) for group in groups]
