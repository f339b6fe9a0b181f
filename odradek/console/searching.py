"""Looking for records in a topic: from a place on or the newest, through so many records and bytes, for so long.

A search ends at the first of its bounds, and says which one it was and where each partition was then.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import TopicPartition

from odradek.cluster.connection import ClusterClients
from odradek.cluster.consuming import SETTINGS, WITHOUT_GROUP, ConsumerRun, StopOffsets, batches, consumed
from odradek.cluster.disconnects import Disconnects
from odradek.cluster.offset_spec import OffsetSpecification
from odradek.cluster.offsets import earliest, find, latest
from odradek.records.consumed import Consumed

MOST_RECORDS: Final = 100_000
MOST_FOUND: Final = 1_000
MOST_BYTES: Final = 128 << 20
"""Bytes of keys and values that a search goes through."""
MOST_FOUND_BYTES: Final = 16 << 20
LONGEST_S: Final = 10.0
_FETCHED_BYTES: Final = 1 << 20
_QUEUED_KIB: Final = 16 << 10


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """What a record has to have; an empty one has them all. Bytes are looked for anywhere in what they belong to.

    `consume` has a RecordMatch, which compares keys and headers as a whole and has one expression for key and value.
    """

    key: bytes = b""
    value: bytes = b""
    header_name: str = ""
    header_value: bytes = b""

    def accepts(self, record: Consumed) -> bool:
        """Say whether the record is one that is looked for."""
        if self.key and self.key not in (record.key or b""):
            return False
        if self.value and self.value not in (record.value or b""):
            return False
        if not self.header_name and not self.header_value:
            return True
        return any(
            (not self.header_name or self.header_name == name) and self.header_value in (value or b"")
            for name, value in record.headers
        )


@dataclass(frozen=True, slots=True)
class SearchBounds:
    """Where a search ends at the latest. `newest` keeps the last of what it finds, not the first."""

    found: int
    records: int
    newest: bool = False
    bytes: int = MOST_BYTES
    found_bytes: int = MOST_FOUND_BYTES
    seconds: float = LONGEST_S


@dataclass(slots=True)
class SearchResult:
    """What was found, in the order of the partitions' records as they came; `ended_by` is empty at the topic's end."""

    found: list[Consumed] = field(default_factory=list)
    ended_by: str = ""
    records: int = 0
    bytes: int = 0
    next_offsets: dict[int, int] = field(default_factory=dict)
    """Where to go on in each partition."""


def search_starts(
    cluster: ClusterClients, topic: str, numbers: Sequence[int], start: OffsetSpecification
) -> dict[int, int]:
    """Return the offset that a place means in each partition; CommandError where one is not there."""
    found = find(cluster.admin, [(topic, number) for number in numbers], start)
    return {number: offset for (_, number), offset in found.items()}


def newest_starts(cluster: ClusterClients, topic: str, numbers: Sequence[int], records: int) -> dict[int, int]:
    """Return from where on there are so many records to the end of all partitions, the same from each."""
    places = [(topic, number) for number in numbers]
    first, end = earliest(cluster.admin, places), latest(cluster.admin, places)
    share = max(1, records // max(1, len(numbers)))
    return {number: max(first[topic, number], end[topic, number] - share) for number in numbers}


def search(
    cluster: ClusterClients,
    topic: str,
    starts: Mapping[int, int],
    accepts: Callable[[Consumed], bool],
    bounds: SearchBounds,
    *,
    uncommitted: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> SearchResult:
    """Go through the records from `starts` to where the partitions end now; CommandError where that cannot be."""
    deadline = clock() + bounds.seconds
    begins = {(topic, number): start for number, start in starts.items()}
    end = latest(cluster.admin, begins)
    stops = StopOffsets(end, done={place for place, start in begins.items() if start >= end[place]})
    disconnects = Disconnects(cluster.bootstrap)
    level = "read_uncommitted" if uncommitted else "read_committed"
    settings = {
        **WITHOUT_GROUP,
        "isolation.level": level,
        "fetch.message.max.bytes": _FETCHED_BYTES,
        "queued.max.messages.kbytes": _QUEUED_KIB,
        "error_cb": disconnects.on_error,
    }
    consumer = cluster.consumer(settings, defaults=SETTINGS)
    with closing(consumer):
        consumer.assign([TopicPartition(*place, start) for place, start in begins.items()])
        run = ConsumerRun(consumer, stops, disconnects, begins)
        records = (consumed(message) for batch in batches(run, lambda: clock() >= deadline) for message in batch)
        result = sift(records, starts, accepts, bounds, lambda: clock() >= deadline)
    if not result.ended_by and not begins.keys() <= stops.done:
        result.ended_by = _time_bound(bounds)
    return result


def sift(
    records: Iterable[Consumed],
    starts: Mapping[int, int],
    accepts: Callable[[Consumed], bool],
    bounds: SearchBounds,
    is_late: Callable[[], bool],
) -> SearchResult:
    """Take what is accepted out of records, until a bound is reached."""
    result = SearchResult(next_offsets=dict(starts))
    kept: deque[Consumed] = deque()
    kept_bytes = 0
    for record in records:
        size = len(record.key or b"") + len(record.value or b"")
        result.records += 1
        result.bytes += size
        result.next_offsets[record.partition] = record.offset + 1
        if accepts(record):
            kept.append(record)
            kept_bytes += size
            while bounds.newest and len(kept) > 1 and (len(kept) > bounds.found or kept_bytes > bounds.found_bytes):
                oldest = kept.popleft()
                kept_bytes -= len(oldest.key or b"") + len(oldest.value or b"")
        result.ended_by = _bound_reached(result, len(kept), kept_bytes, bounds) or (
            _time_bound(bounds) if is_late() else ""
        )
        if result.ended_by:
            break
    result.found = list(kept)
    return result


def _bound_reached(result: SearchResult, found: int, found_bytes: int, bounds: SearchBounds) -> str:
    if not bounds.newest and found >= bounds.found:
        return f"{bounds.found:,} are shown at once"
    if not bounds.newest and found_bytes >= bounds.found_bytes:
        return f"{bounds.found_bytes >> 20} MiB are shown at once"
    if result.records >= bounds.records:
        return f"{bounds.records:,} records were looked through"
    if result.bytes >= bounds.bytes:
        return f"{bounds.bytes >> 20} MiB were looked through"
    return ""


def _time_bound(bounds: SearchBounds) -> str:
    return f"{bounds.seconds:g} seconds are over"
