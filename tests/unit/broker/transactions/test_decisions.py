"""What becomes of a transactional id, state by state; `tests/property/test_transactions.py` has what holds for all."""

import pytest

from odradek.broker.transactions.decisions import (
    NEEDS_PRODUCER_ID,
    add,
    complete,
    end,
    fence,
    initialise,
    is_expired,
    is_overdue,
    verify,
)
from odradek.broker.transactions.state import (
    LAST_EPOCH,
    NO_PARTITIONS,
    Producer,
    TransactionMetadata,
    TransactionState,
)
from odradek.protocol.errors import ErrorCode

NOW = 1_000_000
NEXT_ID = 99
FENCED, MAPPING = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING
CONCURRENT, INVALID, NONE = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_TXN_STATE, ErrorCode.NONE
S = TransactionState
PARTITIONS = {"t": frozenset({0})}
KNOWN = TransactionMetadata(7, 5, 1000, previous_id=7)
BY_STATE = {
    S.EMPTY: KNOWN,
    S.ONGOING: KNOWN._replace(state=S.ONGOING, partitions=PARTITIONS, started_ms=NOW - 10),
    S.PREPARE_COMMIT: KNOWN._replace(state=S.PREPARE_COMMIT, partitions=PARTITIONS, started_ms=NOW - 10),
    S.PREPARE_ABORT: KNOWN._replace(state=S.PREPARE_ABORT, partitions=PARTITIONS, started_ms=NOW - 10),
    S.COMPLETE_COMMIT: KNOWN._replace(state=S.COMPLETE_COMMIT, started_ms=NOW - 10),
    S.COMPLETE_ABORT: KNOWN._replace(state=S.COMPLETE_ABORT, started_ms=NOW - 10),
}
IDLE = (S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT)
DECIDED = (S.PREPARE_COMMIT, S.PREPARE_ABORT)
SELF, STRANGER, OLD, NEW = Producer(7, 5), Producer(8, 5), Producer(7, 4), Producer(7, 6)


def changed(outcome: object) -> TransactionMetadata:
    """Return what is to be written, which there must be."""
    assert isinstance(outcome, TransactionMetadata)
    return outcome


def test_a_new_id_gets_a_producer_id() -> None:
    """Whatever the producer was before."""
    for expected in (None, STRANGER):
        assert initialise(None, False, expected, 1000, 2, NOW) is NEEDS_PRODUCER_ID
        new = changed(initialise(None, False, expected, 1000, 2, NOW, NEXT_ID))
        assert (new.producer_id, new.producer_epoch, new.state, new.updated_ms) == (NEXT_ID, 0, S.EMPTY, NOW)


@pytest.mark.parametrize("state", IDLE)
def test_another_producer_gets_the_next_epoch(state: TransactionState) -> None:
    """And its own time-out."""
    new = changed(initialise(BY_STATE[state], False, None, 2000, 2, NOW))
    assert (new.producer_id, new.producer_epoch, new.last_epoch) == (7, 6, -1)
    assert (new.state, new.timeout_ms, new.started_ms, new.partitions) == (S.EMPTY, 2000, -1, NO_PARTITIONS)


def test_a_producer_goes_on_with_its_own_epoch_and_may_ask_again() -> None:
    """It may not have got the answer; one that is not the last is fenced (KIP-360)."""
    new = changed(initialise(KNOWN, False, SELF, 1000, 2, NOW))
    assert (new.producer_epoch, new.last_epoch) == (6, 5)
    again = changed(initialise(new, False, SELF, 1000, 2, NOW))
    assert (again.producer_epoch, again.last_epoch) == (6, 5)
    for other in (OLD, Producer(7, 9), STRANGER):
        assert initialise(new, False, other, 1000, 2, NOW) is FENCED
    assert initialise(changed(initialise(new, False, None, 1000, 2, NOW)), False, SELF, 1000, 2, NOW) is FENCED


def test_the_last_epoch_leads_to_another_producer_id() -> None:
    """Whose producer may ask again with the one before."""
    last = KNOWN._replace(producer_epoch=LAST_EPOCH - 1)
    assert initialise(last, False, None, 1000, 2, NOW) is NEEDS_PRODUCER_ID
    new = changed(initialise(last, False, None, 1000, 2, NOW, NEXT_ID))
    assert (new.producer_id, new.producer_epoch, new.last_epoch, new.previous_id) == (NEXT_ID, 0, -1, 7)
    new = changed(initialise(last, False, Producer(7, LAST_EPOCH - 1), 1000, 2, NOW, NEXT_ID))
    assert (new.producer_id, new.producer_epoch, new.last_epoch) == (NEXT_ID, 0, LAST_EPOCH - 1)
    again = changed(initialise(new, False, Producer(7, LAST_EPOCH - 1), 1000, 2, NOW))
    assert (again.producer_id, again.producer_epoch) == (NEXT_ID, 0)
    assert initialise(new, False, SELF, 1000, 2, NOW) is FENCED


@pytest.mark.parametrize(("version", "last", "spoken"), [(0, -1, 0), (1, -1, 0), (2, 5, 2)])
def test_another_producer_aborts_what_is_open(version: int, last: int, spoken: int) -> None:
    """With an epoch that nobody is given."""
    new = changed(initialise(BY_STATE[S.ONGOING], False, None, 1000, version, NOW))
    assert (new.state, new.producer_epoch, new.last_epoch, new.version) == (S.PREPARE_ABORT, 6, last, spoken)
    assert (new.partitions, new.started_ms) == (PARTITIONS, NOW - 10)


def test_there_is_always_an_epoch_to_fence_with() -> None:
    """Also above the last one that a producer is given."""
    last = BY_STATE[S.ONGOING]._replace(producer_epoch=LAST_EPOCH - 1)
    assert fence(last, 2, NOW).producer_epoch == LAST_EPOCH
    assert complete(fence(last, 2, NOW), NOW).is_exhausted


@pytest.mark.parametrize("state", BY_STATE)
@pytest.mark.parametrize("is_busy", [False, True])
def test_who_comes_while_something_is_under_way_comes_back(state: TransactionState, is_busy: bool) -> None:
    """A record that is not committed, or markers."""
    expected = is_busy or state in DECIDED
    known = BY_STATE[state]
    assert (initialise(known, is_busy, None, 1000, 2, NOW) is CONCURRENT) == expected
    assert (add(known, is_busy, SELF, PARTITIONS, 2, NOW) is CONCURRENT) == expected
    assert (end(known, is_busy, SELF, True, 0, NOW) is CONCURRENT) == expected
    assert (verify(known, SELF) is CONCURRENT) == (state in DECIDED)


@pytest.mark.parametrize("state", BY_STATE)
@pytest.mark.parametrize(("who", "code"), [(STRANGER, MAPPING), (OLD, FENCED), (NEW, FENCED)])
def test_strangers_and_zombies_change_nothing(state: TransactionState, who: Producer, code: ErrorCode) -> None:
    """Whatever is under way."""
    known = BY_STATE[state]
    assert add(known, True, who, PARTITIONS, 2, NOW) is code
    assert verify(known, who) is code
    assert end(known, True, who, True, 0, NOW) is code


def test_who_is_not_known_has_no_transaction() -> None:
    """Nor is one begun."""
    assert add(None, False, SELF, PARTITIONS, 2, NOW) is MAPPING
    assert verify(None, SELF) is MAPPING
    assert end(None, False, SELF, True, 0, NOW) is MAPPING
    assert end(None, False, SELF, True, 2, NOW) is MAPPING


@pytest.mark.parametrize("state", IDLE)
def test_a_transaction_begins_with_its_first_partition(state: TransactionState) -> None:
    """Its time runs from there."""
    new = changed(add(BY_STATE[state], False, SELF, PARTITIONS, 2, NOW))
    assert (new.state, new.partitions, new.started_ms, new.version) == (S.ONGOING, PARTITIONS, NOW, 2)


def test_partitions_are_added_to_those_that_are_there() -> None:
    """Nothing is written where all of them are."""
    known = BY_STATE[S.ONGOING]
    assert add(known, False, SELF, PARTITIONS, 0, NOW) is NONE
    new = changed(add(known, False, SELF, {"t": frozenset({0, 1}), "u": frozenset({3})}, 0, NOW))
    assert new.partitions == {"t": frozenset({0, 1}), "u": frozenset({3})}
    assert new.started_ms == NOW - 10


@pytest.mark.parametrize(("is_commit", "state"), [(True, S.PREPARE_COMMIT), (False, S.PREPARE_ABORT)])
def test_an_end_keeps_the_epoch_or_takes_the_next(is_commit: bool, state: TransactionState) -> None:
    """As the version of transactions says that the producer speaks."""
    known = BY_STATE[S.ONGOING]
    new = changed(end(known, False, SELF, is_commit, 0, NOW))
    assert (new.state, new.producer_epoch, new.version, new.started_ms) == (state, 5, 0, NOW - 10)
    new = changed(end(known, False, SELF, is_commit, 2, NOW))
    assert (new.state, new.producer_epoch, new.last_epoch, new.version) == (state, 6, 5, 2)


@pytest.mark.parametrize(
    ("state", "is_commit", "code"),
    [
        (S.EMPTY, True, INVALID),
        (S.EMPTY, False, INVALID),
        (S.COMPLETE_COMMIT, True, NONE),
        (S.COMPLETE_COMMIT, False, INVALID),
        (S.COMPLETE_ABORT, True, INVALID),
        (S.COMPLETE_ABORT, False, NONE),
    ],
)
def test_an_end_without_a_transaction(state: TransactionState, is_commit: bool, code: ErrorCode) -> None:
    """May be the last one, asked for again."""
    assert end(BY_STATE[state], False, SELF, is_commit, 0, NOW) is code


@pytest.mark.parametrize(
    ("state", "is_commit", "is_retry", "code"),
    [
        (S.EMPTY, False, True, FENCED),
        (S.EMPTY, False, False, None),
        (S.EMPTY, True, True, FENCED),
        (S.EMPTY, True, False, INVALID),
        (S.COMPLETE_ABORT, False, True, NONE),
        (S.COMPLETE_ABORT, False, False, None),
        (S.COMPLETE_ABORT, True, True, INVALID),
        (S.COMPLETE_ABORT, True, False, INVALID),
        (S.COMPLETE_COMMIT, False, True, INVALID),
        (S.COMPLETE_COMMIT, False, False, None),
        (S.COMPLETE_COMMIT, True, True, NONE),
        (S.COMPLETE_COMMIT, True, False, INVALID),
    ],
)
def test_with_epochs_that_change_a_retry_is_told_from_the_next_end(
    state: TransactionState, is_commit: bool, is_retry: bool, code: ErrorCode | None
) -> None:
    """The table of KIP-890; what has no code is an abort of a transaction without partitions."""
    outcome = end(BY_STATE[state]._replace(version=2), False, OLD if is_retry else SELF, is_commit, 2, NOW)
    if code is not None:
        assert outcome is code
        return
    new = changed(outcome)
    assert (new.state, new.producer_epoch, new.started_ms) == (S.PREPARE_ABORT, 6, NOW)


@pytest.mark.parametrize("state", DECIDED)
def test_with_epochs_that_change_the_next_end_waits_for_nobody(state: TransactionState) -> None:
    """Who asks again with the epoch before is told to come back, all others are fenced."""
    known = BY_STATE[state]._replace(version=2)
    assert end(known, False, OLD, True, 2, NOW) is CONCURRENT
    assert end(known, False, SELF, True, 2, NOW) is FENCED


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("state", [*DECIDED, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_what_an_older_kind_of_producer_has_ended_is_no_retry(state: TransactionState, is_commit: bool) -> None:
    """Its epoch is one above that of the producer it has fenced, which would be given it and go on beside it."""
    assert end(BY_STATE[state], False, OLD, is_commit, 2, NOW) is FENCED


def test_the_epoch_that_nobody_is_given_is_nobody_s() -> None:
    """A producer that claims it cannot make the next one overflow."""
    last = KNOWN._replace(producer_epoch=LAST_EPOCH)
    claimed = Producer(7, LAST_EPOCH)
    assert add(last, False, claimed, PARTITIONS, 2, NOW) is FENCED
    assert end(last, False, claimed, False, 2, NOW) is FENCED
    assert end(last, False, claimed, False, 0, NOW) is FENCED


def test_the_last_end_of_a_producer_id_takes_the_next_id() -> None:
    """The marker has the last epoch; the producer goes on with the new id, and may ask again with the old one."""
    known = BY_STATE[S.ONGOING]._replace(producer_epoch=LAST_EPOCH - 1)
    last = Producer(7, LAST_EPOCH - 1)
    assert end(known, False, last, True, 2, NOW) is NEEDS_PRODUCER_ID
    decided = changed(end(known, False, last, True, 2, NOW, NEXT_ID))
    assert (decided.producer_id, decided.producer_epoch, decided.next_id) == (7, LAST_EPOCH, NEXT_ID)
    over = complete(decided, NOW)
    assert (over.producer_id, over.producer_epoch, over.previous_id, over.next_id) == (NEXT_ID, 0, 7, -1)
    assert end(over, False, last, True, 2, NOW) is NONE
    assert end(over, False, last, False, 2, NOW) is INVALID
    assert end(over, False, Producer(7, 3), True, 2, NOW) is MAPPING


def test_time() -> None:
    """A transaction is overdue when its time is over, an id expires when nothing has happened for so long."""
    known = BY_STATE[S.ONGOING]._replace(started_ms=NOW - 1000)
    assert (is_overdue(known, NOW), is_overdue(known, NOW + 1)) == (False, True)
    assert not is_overdue(BY_STATE[S.COMPLETE_COMMIT]._replace(started_ms=0), NOW)
    for state, each in BY_STATE.items():
        old = each._replace(updated_ms=NOW - 500)
        assert is_expired(old, 500, NOW) == (state in IDLE)
        assert not is_expired(old, 501, NOW)
