"""Which records the offset map is filled from."""

from odradek.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from tests.support.compaction import compact_log, read_pairs
from tests.support.logs import NOW_MS
from tests.support.memory_files import MemoryFiles
from tests.unit.storage.compaction.test_segment_rewrite import DAY_MS, a_log, append, close_segment


def test_a_transaction_that_was_aborted_before_the_dirty_part_says_nothing_of_the_next_one() -> None:
    """Where a round begins in the middle of a segment (the map was full), markers before that place count all the same:
    what the producer committed later is mapped, so that a deleted key does not come back with its tombstone gone."""
    log = a_log(MemoryFiles())
    append(log, (b"a", b"1"))
    transaction = {"producer_id": 9, "producer_epoch": 0, "transactional": True}
    append(log, (b"x", b"2"), base_sequence=0, **transaction)
    log.append_marker(build_end_transaction_batch(EndTransactionMarker(False, 0), 9, 0, NOW_MS), 3, NOW_MS, 1)
    append(log, (b"a", None), base_sequence=1, **transaction)
    log.append_marker(build_end_transaction_batch(EndTransactionMarker(True, 0), 9, 0, NOW_MS), 3, NOW_MS, 1)
    append(log, (b"z", b"3"))
    close_segment(log)
    compact_log(log, checkpoint=3)
    assert read_pairs(log) == [(3, b"a", None), (5, b"z", b"3")]
    append(log, (b"z", b"4"))
    close_segment(log)
    compact_log(log, checkpoint=6, now_ms=NOW_MS + DAY_MS)
    assert read_pairs(log) == [(6, b"z", b"4")]
