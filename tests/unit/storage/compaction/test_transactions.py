"""What a pass over a log knows of transactions."""

from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.control import ControlType
from odradek.storage.compaction.transactions import TransactionPass
from odradek.storage.segment.transaction_index import AbortedTxn

ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT


def header(offset: int, producer_id: int = 1, transactional: bool = True) -> BatchHeader:
    """A batch of one record."""
    return BatchHeader(offset, 60, 0, 2, 0, 0x10 if transactional else 0, 0, 0, 0, producer_id, 0, 0, 1)


def test_records_of_an_aborted_transaction_are_told_from_others() -> None:
    """By producer and offset: before it and after its marker, the same producer's records count."""
    following = TransactionPass()
    following.expect([AbortedTxn(1, 10, 20, 21)])
    assert not following.data_is_aborted(header(5))
    following.end(header(6), COMMIT)
    assert following.data_is_aborted(header(10))
    assert not following.data_is_aborted(header(11, producer_id=2))
    assert not following.data_is_aborted(header(12, transactional=False))
    following.end(header(20), ABORT)
    assert not following.data_is_aborted(header(21))


def test_a_marker_stays_while_records_of_its_transaction_are_seen() -> None:
    """Of a commit and of an abort alike; the aborted transaction is wanted in the index of the new segment."""
    aborted = AbortedTxn(1, 10, 20, 21)
    following = TransactionPass()
    following.expect([aborted])
    following.data_is_aborted(header(10))
    following.data_is_aborted(header(11, producer_id=2))
    assert following.end(header(20), ABORT) == (False, aborted)
    assert following.end(header(22, producer_id=2), COMMIT) == (False, None)


def test_a_marker_may_go_once_no_record_is_left() -> None:
    """Its transaction had none here, or they were removed by an earlier round."""
    following = TransactionPass()
    following.expect([AbortedTxn(1, 10, 20, 21)])
    assert following.end(header(20), ABORT) == (True, None)
    assert following.end(header(21, producer_id=2), COMMIT) == (True, None)
    assert following.end(header(22, producer_id=3), None) == (True, None)


def test_control_batches_of_other_kinds_stay() -> None:
    """A change of the leader, say, is no end of a transaction."""
    assert TransactionPass().end(header(1), ControlType.LEADER_CHANGE) == (False, None)
    assert TransactionPass().end(header(1), ControlType.UNKNOWN) == (False, None)


def test_a_transaction_may_be_announced_twice() -> None:
    """Once with each segment that it has records in."""
    aborted = AbortedTxn(1, 10, 30, 31)
    following = TransactionPass()
    following.expect([aborted])
    assert following.data_is_aborted(header(10))
    following.expect([aborted])
    assert following.data_is_aborted(header(20))
    assert following.end(header(30), ABORT) == (False, aborted)
    assert not following.data_is_aborted(header(31))
