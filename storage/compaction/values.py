"""What goes between the owner of a log and a round of compaction, as plain values that fit into a message.

All of them are tuples of integers, strings, bytes, and tuples of those. Lists that may be long are packed bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from typing import NamedTuple

from odradek.storage.segment.transaction_index import AbortedTxn

_PRODUCER = Struct(">qhq")
_ABORTED = Struct(">qqqq")
NO_OFFSET = -1


class SourceSegment(NamedTuple):
    """A closed segment."""

    base_offset: int
    size: int
    """Bytes of whole batches in its data file."""


class LastBatch(NamedTuple):
    """The last thing that a producer wrote, as far as its state knows."""

    epoch: int
    offset: int
    """Last offset of its last batch of records, -1 if it has none of this epoch."""


class Task(NamedTuple):
    """One round over one log."""

    number: int
    """Tells the messages of this round from those of another."""
    directory: str
    sources: tuple[SourceSegment, ...]
    """The segments that may be compacted, from the first of the log on; none of them is appended to."""
    first_dirty: int
    """Records below this offset were compacted before."""
    end: int
    """First offset that must not be touched: where the segment after the last source begins."""
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    index_bytes: int
    index_interval_bytes: int
    largest_batch: int
    """Bytes of the largest batch that the topic takes today (max.message.bytes)."""
    map_bytes: int
    load_factor: float
    io_bytes: int
    max_bytes_per_second: float
    producers: bytes
    """Packed: see `pack_producers`."""
    aborted: bytes
    """Packed: aborted transactions with records in the sources, and their marker behind them; see `pack_aborted`."""


class CleanerStats(NamedTuple):
    """What a round did, in bytes of data files and in records."""

    dirty_bytes: int = 0
    """Read to learn the keys."""
    bytes_before: int = 0
    bytes_after: int = 0
    records_before: int = 0
    records_after: int = 0
    keys: int = 0
    seconds: float = 0.0


class Written(NamedTuple):
    """A new segment is complete, and on the disk: it is to stand in place of `sources` segments, the next in order."""

    number: int
    base_offset: int
    sources: int
    size: int
    unchanged: bool
    """Nothing was to be done: there is no new segment, the old one stays."""


class RoundFinished(NamedTuple):
    """A round is at its end."""

    number: int
    end_offset: int
    """Everything below this offset is compacted now."""
    statistics: CleanerStats


class RoundFailed(NamedTuple):
    """A round cannot go on."""

    number: int
    path: str
    reason: str
    """Says at which byte, where the data is at fault."""
    passes: bool = False
    """Whether it may be over some time later, as a full disk is."""


class Cancelled(NamedTuple):
    """A round was told to end, and has removed what it was writing."""

    number: int


class Cancel(NamedTuple):
    """End this round."""

    number: int


def task_from(fields: tuple[object, ...]) -> Task:
    """Return the task whose fields these are, as they come out of a message; TypeError where they are not."""
    task = Task(*fields)  # type: ignore[arg-type]  # what sends them is the same program
    return task._replace(sources=tuple(SourceSegment(*source) for source in task.sources))


def finished_from(fields: tuple[object, ...]) -> RoundFinished:
    """Return the end of a round whose fields these are, as they come out of a message."""
    finished = RoundFinished(*fields)  # type: ignore[arg-type]  # what sends them is the same program
    return finished._replace(statistics=CleanerStats(*finished.statistics))


def pack_producers(producers: Mapping[int, LastBatch]) -> bytes:
    """Return the last batches of producers, by their ids, as bytes."""
    return b"".join(_PRODUCER.pack(producer, *last) for producer, last in producers.items())


def unpack_producers(packed: bytes) -> dict[int, LastBatch]:
    """Return what `pack_producers` was given."""
    return {producer: LastBatch(epoch, offset) for producer, epoch, offset in _PRODUCER.iter_unpack(packed)}


def pack_aborted(aborted: Iterable[AbortedTxn]) -> bytes:
    """Return aborted transactions as bytes."""
    return b"".join(_ABORTED.pack(*transaction) for transaction in aborted)


def unpack_aborted(packed: bytes) -> Iterator[AbortedTxn]:
    """Yield what `pack_aborted` was given."""
    return map(AbortedTxn._make, _ABORTED.iter_unpack(packed))
