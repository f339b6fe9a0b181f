"""The newest batches in memory."""

from odradek.broker.raft.committed_batches import CommittedBatches
from odradek.protocol.records.building import build_batch, make_records
from odradek.storage.validation import assign_offsets


def batch(base: int, records: int) -> bytearray:
    """Return a batch as it stands in a log."""
    built = build_batch(make_records([(None, b"x")] * records, 0))
    assign_offsets(built, base, 1)
    return built


def test_batches_are_found_by_any_of_their_offsets() -> None:
    """What is before the first or behind the end is not here; at the end there is nothing yet."""
    kept = CommittedBatches(10)
    assert kept.read(10, 100) == b""
    one, two = batch(10, 3), batch(13, 1)
    kept.add(one)
    kept.add(two)
    assert kept.end_offset == 14
    assert kept.read(9, 1000) is None
    assert kept.read(15, 1000) is None
    assert kept.read(12, 1000) == bytes(one + two)
    assert kept.read(12, len(one)) == bytes(one)
    assert kept.read(12, 0) == bytes(one)
    assert kept.read(13, 0) == bytes(two)
    assert kept.read(14, 1000) == b""


def test_old_batches_go_when_they_are_too_many_or_too_large() -> None:
    """Memory stays bounded; the newest can still be read."""
    size = len(batch(0, 1))
    for kept in (CommittedBatches(0, most_batches=4), CommittedBatches(0, most_bytes=4 * size)):
        for offset in range(100):
            kept.add(batch(offset, 1))
        assert kept.read(90, 1000) is None
        assert kept.read(99, 1000) == bytes(batch(99, 1))
