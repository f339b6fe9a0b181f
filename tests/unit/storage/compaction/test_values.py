"""Tasks and what comes of them, as they go into messages."""

from odradek.storage.compaction.values import (
    CleanerStats,
    LastBatch,
    RoundFinished,
    SourceSegment,
    Task,
    finished_from,
    pack_aborted,
    pack_producers,
    task_from,
    unpack_aborted,
    unpack_producers,
)
from odradek.storage.segment.transaction_index import AbortedTxn


def test_packed_lists_come_out_as_they_went_in() -> None:
    """Producers and aborted transactions, with the largest numbers that there are."""
    producers = {1: LastBatch(0, -1), 2**63 - 1: LastBatch(32767, 2**63 - 1)}
    assert unpack_producers(pack_producers(producers)) == producers
    aborted = [AbortedTxn(1, 2, 3, 4), AbortedTxn(2**63 - 1, 5, 6, 7)]
    assert list(unpack_aborted(pack_aborted(aborted))) == aborted


def test_nested_values_are_made_again_from_plain_tuples() -> None:
    """A message knows tuples only; sources and statistics come back as what they were."""
    task = Task(1, "/d", (SourceSegment(0, 10),), 0, 10, 5, 6, 7, 8, 9, 10, 12, 0.9, 11, 1e9, b"", b"")
    plain = tuple(tuple(tuple(one) for one in field) if field is task.sources else field for field in task)
    assert task_from(plain) == task
    assert isinstance(task_from(plain).sources[0], SourceSegment)
    finished = RoundFinished(1, 20, CleanerStats(1, 2, 3, 4, 5, 6, 7.0))
    assert finished_from((1, 20, (1, 2, 3, 4, 5, 6, 7.0))) == finished
