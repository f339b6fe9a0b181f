"""What a partition accepts from idempotent producers, row by row of Kafka's rules (KIP-98)."""

import pytest

from odradek.storage.errors import InvalidProducerEpoch, LogError, OutOfOrderSequence
from odradek.storage.producers.producer_entry import SEQUENCE_MASK, WrittenBatch
from odradek.storage.producers.producer_state import PRODUCERS_PER_STEP, AppendOrigin, ProducerStates
from tests.unit.storage.producers.producer_headers import PRODUCER, batch

LAST = SEQUENCE_MASK


def _states(*written: tuple[int, int], epoch: int = 0) -> ProducerStates:
    """Producer 7 has written these batches of (sequence, count), from offset 100 on, at times 0, 10, 20…"""
    states = ProducerStates("orders-0", verify_transactions=False)
    offset = 100
    for number, (sequence, count) in enumerate(written):
        states.update(batch(sequence, count, epoch=epoch, at=number * 10), offset)
        offset += count
    return states


def test_unknown_producer_may_begin_anywhere() -> None:
    """Its records may have been deleted, so any sequence and epoch is right."""
    for sequence, epoch in ((0, 0), (17, 0), (LAST, 5)):
        assert _states().check(batch(sequence, epoch=epoch), AppendOrigin.CLIENT) is None


def test_next_batch_is_accepted() -> None:
    """The sequence goes on after the last record of the last batch."""
    assert _states((0, 3), (3, 2)).check(batch(5), AppendOrigin.CLIENT) is None


@pytest.mark.parametrize("sequence", [0, 3, 4, 6, LAST])
def test_gap_or_step_back_is_out_of_order(sequence: int) -> None:
    """Anything but the next sequence, or exactly a batch that is remembered, is refused."""
    with pytest.raises(OutOfOrderSequence, match=r"producer 7 in orders-0: .* expected 5"):
        _states((0, 3), (3, 2)).check(batch(sequence), AppendOrigin.CLIENT)


def test_batch_that_comes_again_is_found() -> None:
    """Each of the last five batches is known by its first and last sequence, with where and when it was written."""
    states = _states((0, 3), (3, 2), (5, 1), (6, 1), (7, 4))
    found = [states.check(batch(*again), AppendOrigin.CLIENT) for again in ((0, 3), (3, 2), (5, 1), (6, 1), (7, 4))]
    assert found == [
        WrittenBatch(100, 102, 0),
        WrittenBatch(103, 104, 10),
        WrittenBatch(105, 105, 20),
        WrittenBatch(106, 106, 30),
        WrittenBatch(107, 110, 40),
    ]


def test_sixth_last_batch_is_forgotten() -> None:
    """A duplicate older than five batches is out of order."""
    states = _states(*((sequence, 1) for sequence in range(6)))
    with pytest.raises(OutOfOrderSequence):
        states.check(batch(0), AppendOrigin.CLIENT)
    assert states.check(batch(1), AppendOrigin.CLIENT) == WrittenBatch(101, 101, 10)


def test_batch_with_other_bounds_is_no_duplicate() -> None:
    """Only the same first and last sequence make a duplicate."""
    states = _states((0, 3), (3, 2))
    for sequence, count in ((0, 2), (1, 2), (0, 5), (3, 1), (4, 1)):
        with pytest.raises(OutOfOrderSequence):
            states.check(batch(sequence, count), AppendOrigin.CLIENT)


def test_sequence_wraps_after_the_largest() -> None:
    """0 follows 2147483647, between batches and within one."""
    assert _states((LAST, 1)).check(batch(0), AppendOrigin.CLIENT) is None
    states = _states((LAST - 1, 4))
    assert states.check(batch(2), AppendOrigin.CLIENT) is None
    assert states.check(batch(LAST - 1, 4), AppendOrigin.CLIENT) == WrittenBatch(100, 103, 0)
    with pytest.raises(OutOfOrderSequence):
        states.check(batch(0), AppendOrigin.CLIENT)


def test_new_epoch_begins_at_zero() -> None:
    """A newer instance of the producer starts its sequence anew, and the old batches are no duplicates of its own."""
    states = _states((0, 1), (1, 1))
    with pytest.raises(OutOfOrderSequence, match="expected 0"):
        states.check(batch(2, epoch=1), AppendOrigin.CLIENT)
    assert states.check(batch(0, epoch=1), AppendOrigin.CLIENT) is None
    states.update(batch(0, epoch=1), 200)
    assert states.check(batch(1, epoch=1), AppendOrigin.CLIENT) is None
    assert states.check(batch(0, epoch=1), AppendOrigin.CLIENT) == WrittenBatch(200, 200, 0)


def test_old_epoch_is_fenced() -> None:
    """Once a newer instance has written, the older one is refused, even what it had written before."""
    states = _states((0, 1), epoch=3)
    for sequence in (0, 1):
        with pytest.raises(InvalidProducerEpoch, match="is 2, which is smaller than the last seen epoch 3"):
            states.check(batch(sequence, epoch=2), AppendOrigin.CLIENT)


def test_check_changes_nothing() -> None:
    """A batch counts once it is written, not before."""
    states = _states((0, 1))
    for _ in range(3):
        assert states.check(batch(1), AppendOrigin.CLIENT) is None
    assert states.entries[PRODUCER].last_sequence == 0


def test_coordinator_is_checked_for_its_epoch_only() -> None:
    """Offset commits of transactions have no sequence numbers, but a fenced producer's are refused."""
    states = _states((0, 1), epoch=3)
    assert states.check(batch(-1, epoch=3), AppendOrigin.COORDINATOR) is None
    assert states.check(batch(0, epoch=3), AppendOrigin.COORDINATOR) is None
    with pytest.raises(InvalidProducerEpoch):
        states.check(batch(-1, epoch=2), AppendOrigin.COORDINATOR)
    states.update(batch(-1, epoch=3), 200)
    assert states.entries[PRODUCER].last_sequence == -1


@pytest.mark.parametrize("origin", [AppendOrigin.REPLICATION, AppendOrigin.RECOVERY])
def test_copies_and_recovered_batches_are_not_refused(origin: AppendOrigin) -> None:
    """What stands in a log, here or at the leader, was accepted once."""
    states = _states((0, 1), epoch=3)
    for header in (batch(9, epoch=3), batch(0, epoch=3), batch(0, epoch=1)):
        assert states.check(header, origin) is None


def test_producers_do_not_mix() -> None:
    """Each producer has its own sequence."""
    states = _states((0, 1))
    states.update(batch(40, producer_id=8), 101)
    assert states.check(batch(41, producer_id=8), AppendOrigin.CLIENT) is None
    assert states.check(batch(1), AppendOrigin.CLIENT) is None
    assert set(states.entries) == {7, 8}


def test_idle_producers_expire() -> None:
    """A producer is forgotten when its last timestamp is as old as the limit, and may begin anywhere then."""
    states = _states((0, 1), (1, 1))  # last heard of at 10 ms
    list(states.remove_expired(now_ms=1009, expiration_ms=1000))
    assert set(states.entries) == {PRODUCER}
    list(states.remove_expired(now_ms=1010, expiration_ms=1000))
    assert states.is_empty
    assert states.check(batch(99), AppendOrigin.CLIENT) is None


def test_many_producers_expire_in_steps() -> None:
    """So that others have their turn; one that writes again meanwhile stays."""
    states = ProducerStates("t-0")
    for producer_id in range(2 * PRODUCERS_PER_STEP):
        states.update(batch(0, producer_id=producer_id), producer_id)
    back = 2 * PRODUCERS_PER_STEP - 1
    steps = states.remove_expired(now_ms=1000, expiration_ms=500)
    next(steps)
    assert len(states.entries) == PRODUCERS_PER_STEP
    states.update(batch(1, producer_id=back, at=1000), 1 << 20)
    assert list(steps) == [None]
    assert list(states.entries) == [back]


def test_errors_are_the_root_of_the_package() -> None:
    """Whoever catches what a log raises catches these."""
    with pytest.raises(LogError) as raised:
        _states((0, 1)).check(batch(9), AppendOrigin.CLIENT)
    assert raised.value.code.name == "OUT_OF_ORDER_SEQUENCE_NUMBER"
