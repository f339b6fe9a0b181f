"""Transactions on a partition: open ones, their ends, the last stable offset, fencing and verification."""

import pytest

from odradek.storage.errors import CoordinatorFenced, InvalidProducerEpoch, InvalidTxnState, OutOfOrderSequence
from odradek.storage.producers.producer_state import AppendOrigin, CompletedTransaction, ProducerStates
from tests.unit.storage.producers.producer_headers import PRODUCER, batch, marker


def _states(verify: bool = False) -> ProducerStates:
    return ProducerStates("orders-0", verify_transactions=verify)


def _begin(states: ProducerStates, offset: int, producer_id: int = PRODUCER, epoch: int = 0) -> None:
    states.update(batch(0, epoch=epoch, producer_id=producer_id, transactional=True), offset)


def test_open_transaction_holds_back_the_stable_offset() -> None:
    """The first unstable offset is where the oldest open transaction began."""
    states = _states()
    assert states.first_unstable_offset(0) is None
    _begin(states, 10)
    _begin(states, 20, producer_id=8)
    states.update(batch(1, transactional=True), 30)
    assert states.first_unstable_offset(1000) == 10
    assert states.has_open_transaction(PRODUCER, 0)
    assert not states.has_open_transaction(PRODUCER, 1)
    assert not states.has_open_transaction(99, 0)


def test_ended_transaction_holds_back_until_its_marker_is_replicated() -> None:
    """A transaction counts as undecided until the high watermark has passed its marker."""
    states = _states()
    _begin(states, 10)
    states.update_marker(marker(), 40, coordinator_epoch=1, is_aborted=False)
    assert states.first_unstable_offset(40) == 10
    assert not states.is_empty
    assert states.first_unstable_offset(41) is None


def test_oldest_of_open_and_unreplicated_transactions_counts() -> None:
    """A transaction that began earlier holds back, whether it is open or ended beyond the high watermark."""
    states = _states()
    _begin(states, 10, producer_id=1)
    _begin(states, 20, producer_id=2)
    _begin(states, 30, producer_id=3)
    states.update_marker(marker(producer_id=2), 40, 0, is_aborted=True)
    assert states.first_unstable_offset(35) == 10
    states.update_marker(marker(producer_id=1), 41, 0, is_aborted=False)
    assert states.first_unstable_offset(35) == 10
    assert states.first_unstable_offset(41) == 10
    assert states.first_unstable_offset(42) == 30


def test_marker_ends_the_transaction_and_says_what_it_was() -> None:
    """The answer has what the transaction index needs; the stable offset is where the oldest one still open began."""
    states = _states()
    _begin(states, 10, producer_id=1)
    _begin(states, 20, producer_id=2)
    assert states.update_marker(marker(producer_id=2), 40, 0, is_aborted=True) == CompletedTransaction(
        2, first_offset=20, last_offset=40, last_stable_offset=10, is_aborted=True
    )
    assert states.update_marker(marker(producer_id=1), 41, 0, is_aborted=False) == CompletedTransaction(
        1, first_offset=10, last_offset=41, last_stable_offset=42, is_aborted=False
    )


def test_marker_without_data_ends_nothing() -> None:
    """A transaction that wrote nothing here leaves no trace but its coordinator's epoch and its time."""
    states = _states()
    assert states.update_marker(marker(epoch=2, at=55), 5, coordinator_epoch=9, is_aborted=True) is None
    entry = states.entries[PRODUCER]
    assert (entry.epoch, entry.coordinator_epoch, entry.last_timestamp, entry.batches) == (2, 9, 55, [])
    assert states.first_unstable_offset(0) is None


def test_marker_keeps_the_sequence() -> None:
    """The next transaction of the same epoch goes on in sequence; a marker of a newer epoch starts anew."""
    states = _states()
    states.update(batch(0, 3, transactional=True), 10)
    states.update_marker(marker(), 13, 0, is_aborted=False)
    assert states.check(batch(3, transactional=True), AppendOrigin.CLIENT) is None
    states.update_marker(marker(epoch=1), 14, 0, is_aborted=False)
    assert states.check(batch(0, epoch=1, transactional=True), AppendOrigin.CLIENT) is None
    with pytest.raises(OutOfOrderSequence):
        states.check(batch(3, epoch=1, transactional=True), AppendOrigin.CLIENT)


def test_ordinary_write_within_a_transaction_is_refused() -> None:
    """While its transaction is open here, a producer writes in it or not at all."""
    states = _states()
    _begin(states, 10)
    for origin in (AppendOrigin.CLIENT, AppendOrigin.COORDINATOR):
        with pytest.raises(InvalidTxnState, match="Expected transactional write"):
            states.check(batch(1), origin)
    assert states.check(batch(1), AppendOrigin.REPLICATION) is None


def test_old_marker_is_fenced() -> None:
    """A marker of an older epoch, or from an older coordinator, is refused."""
    states = _states()
    _begin(states, 10, epoch=3)
    states.update_marker(marker(epoch=3), 11, coordinator_epoch=5, is_aborted=False)
    with pytest.raises(InvalidProducerEpoch):
        states.check_marker(marker(epoch=2), 5, transaction_version=0)
    with pytest.raises(CoordinatorFenced, match=r"4 \(zombie\), 5 \(current\)"):
        states.check_marker(marker(epoch=3), 4, transaction_version=0)
    states.check_marker(marker(epoch=3), 5, transaction_version=0)
    with pytest.raises(CoordinatorFenced):
        states.check_marker(marker(producer_id=99), -2, transaction_version=0)
    states.check_marker(marker(producer_id=99), -1, transaction_version=0)
    states.check_marker(marker(epoch=0, producer_id=99), 0, transaction_version=2)


def test_marker_of_version_2_has_an_epoch_of_its_own() -> None:
    """It must be newer than the transaction's, unless that transaction has ended already (KAFKA-19999, KIP-1228)."""
    states = _states()
    _begin(states, 10, epoch=3)
    with pytest.raises(InvalidProducerEpoch):
        states.check_marker(marker(epoch=3), 0, transaction_version=2)
    states.check_marker(marker(epoch=3), 0, transaction_version=1)
    states.check_marker(marker(epoch=4), 0, transaction_version=2)
    states.update_marker(marker(epoch=4), 11, 0, is_aborted=False)
    states.check_marker(marker(epoch=4), 0, transaction_version=2)


def test_open_transaction_does_not_expire() -> None:
    """A producer with an open transaction is remembered, however long it is silent."""
    states = _states()
    _begin(states, 10)
    list(states.remove_expired(now_ms=1 << 40, expiration_ms=1))
    assert states.first_unstable_offset(100) == 10


def test_start_of_the_log_lets_go_of_what_ended_before_it() -> None:
    """Deleted transactions that were complete hold nothing back; the state is as far as the log begins."""
    states = _states()
    _begin(states, 10, producer_id=1)
    states.update_marker(marker(producer_id=1), 11, 0, is_aborted=False)
    _begin(states, 12, producer_id=2)
    states.raise_start(12)
    assert states.first_unstable_offset(0) == 12
    assert states.end_offset == 12
    states.raise_start(5)
    assert states.end_offset == 12


def test_unverified_transactional_batch_is_refused() -> None:
    """The first batch of a transaction needs the coordinator's word that there is one (KIP-890)."""
    states = _states(verify=True)
    for origin in (AppendOrigin.CLIENT, AppendOrigin.COORDINATOR):
        with pytest.raises(InvalidTxnState, match="Record was not part of an ongoing transaction"):
            states.check(batch(0, transactional=True), origin)
    assert states.check(batch(0, transactional=True), AppendOrigin.REPLICATION) is None
    assert states.check(batch(0), AppendOrigin.CLIENT) is None


def test_verified_batch_is_accepted_and_further_ones_need_nothing() -> None:
    """Once the first batch is written, the transaction is known to be open."""
    states = _states(verify=True)
    first = batch(0, transactional=True)
    guard = states.start_verification(first, supports_epoch_bump=False, now_ms=0)
    assert guard is not None
    assert states.check(first, AppendOrigin.CLIENT, guard) is None
    states.update(first, 10)
    assert states.start_verification(batch(1, transactional=True), supports_epoch_bump=False, now_ms=0) is None
    assert states.check(batch(1, transactional=True), AppendOrigin.CLIENT) is None


def test_stale_guard_is_refused() -> None:
    """An answer about a transaction that a marker has ended meanwhile does not let a batch into the next one."""
    states = _states(verify=True)
    first = batch(0, transactional=True)
    stale = states.start_verification(first, supports_epoch_bump=False, now_ms=0)
    states.update_marker(marker(), 10, 0, is_aborted=True)
    states.start_verification(first, supports_epoch_bump=False, now_ms=0)
    with pytest.raises(InvalidTxnState):
        states.check(first, AppendOrigin.CLIENT, stale)


def test_guard_of_the_next_transaction_survives_the_marker_of_version_2() -> None:
    """The marker's epoch is then that of the transaction after it, whose verification may be under way."""
    states = _states(verify=True)
    first = batch(0, epoch=1, transactional=True)
    guard = states.start_verification(first, supports_epoch_bump=True, now_ms=0)
    states.update_marker(marker(epoch=1), 10, 0, is_aborted=False)
    assert states.check(first, AppendOrigin.CLIENT, guard) is None
    other = states.start_verification(batch(0, epoch=1, producer_id=8, transactional=True), True, now_ms=0)
    states.update_marker(marker(epoch=2, producer_id=8), 11, 0, is_aborted=False)
    with pytest.raises(InvalidProducerEpoch):
        states.check(batch(0, epoch=1, producer_id=8, transactional=True), AppendOrigin.CLIENT, other)


def test_batches_that_wait_for_verification_keep_their_order() -> None:
    """Of the batches that arrived while the coordinator was asked, the one with the lowest sequence goes first."""
    states = _states(verify=True)
    guard = states.start_verification(batch(5, transactional=True), supports_epoch_bump=False, now_ms=0)
    again = states.start_verification(batch(3, transactional=True), supports_epoch_bump=False, now_ms=0)
    assert again is guard
    with pytest.raises(OutOfOrderSequence, match=r"5 .*3 "):
        states.check(batch(5, transactional=True), AppendOrigin.CLIENT, guard)
    assert states.check(batch(3, transactional=True), AppendOrigin.CLIENT, guard) is None


def test_newer_epoch_restarts_the_lowest_sequence() -> None:
    """The order is kept within an epoch."""
    states = _states(verify=True)
    states.start_verification(batch(3, transactional=True), supports_epoch_bump=False, now_ms=0)
    guard = states.start_verification(batch(9, epoch=1, transactional=True), supports_epoch_bump=False, now_ms=0)
    assert states.check(batch(9, epoch=1, transactional=True), AppendOrigin.CLIENT, guard) is None


def test_producer_of_version_2_begins_at_zero() -> None:
    """Where nothing is known of it, its first sequence must be 0."""
    states = _states(verify=True)
    guard = states.start_verification(batch(4, transactional=True), supports_epoch_bump=True, now_ms=0)
    with pytest.raises(OutOfOrderSequence, match="expected 0"):
        states.check(batch(4, transactional=True), AppendOrigin.CLIENT, guard)


def test_fenced_producer_is_not_verified() -> None:
    """A producer with an old epoch is refused before the coordinator is asked."""
    states = _states(verify=True)
    states.update(batch(0, epoch=2), 0)
    with pytest.raises(InvalidProducerEpoch):
        states.start_verification(batch(0, epoch=1, transactional=True), supports_epoch_bump=False, now_ms=0)


def test_unanswered_verification_expires() -> None:
    """A question that was never answered is forgotten with the idle producers."""
    states = _states(verify=True)
    guard = states.start_verification(batch(0, transactional=True), supports_epoch_bump=False, now_ms=100)
    list(states.remove_expired(now_ms=1100, expiration_ms=1000))
    with pytest.raises(InvalidTxnState):
        states.check(batch(0, transactional=True), AppendOrigin.CLIENT, guard)
