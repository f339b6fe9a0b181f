"""A partition of `__transaction_state`: from requests to records to markers, over restarts, time-outs and failures."""

import gc

import pytest

from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.transactions.state import LAST_EPOCH, Producer, TransactionState
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.names import TopicPartition
from tests.unit.broker.transactions.shard_world import T0, T01, TIMEOUT_MS, TX, World

NONE = ErrorCode.NONE
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("is_commit", [True, False])
def test_a_transaction_from_beginning_to_end(version: int, is_commit: bool) -> None:
    """Each step is a record; its partitions get the marker, and with version 2 the producer its next epoch."""
    world = World()
    producer = world.begin(version, T01)
    assert producer == Producer(1000, 0)
    ended = world.end(producer, is_commit, version)
    next_epoch = 1 if version == 2 else 0
    assert (ended.error, ended.producer) == (NONE, Producer(1000, next_epoch))
    assert world.leaders.written == [(TransactionMarker(1000, next_epoch, 0, is_commit, version), [FIRST, SECOND])]
    prepared, completed = (
        (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
        if is_commit
        else (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)
    )
    records = [(known.state, dict(known.partitions)) for name, known in world.records() if known and name == TX]
    assert records == [
        (TransactionState.EMPTY, {}),
        (TransactionState.ONGOING, T01),
        (prepared, T01),
        (completed, {}),
    ]
    assert world.add(Producer(1000, next_epoch), T0, version).error is NONE


def test_the_producer_does_not_wait_for_markers() -> None:
    """Its answer is sent, and then, before anything else is looked at, the partitions here get their markers."""
    world = World()
    producer = world.begin(2)
    world.turn = []
    assert world.end(producer, True, 2).error is NONE
    assert (world.leaders.written, world.state()) == ([], TransactionState.PREPARE_COMMIT)
    [turn] = world.turn
    turn()
    assert world.leaders.written == [(TransactionMarker(1000, 1, 0, True, 2), [FIRST])]
    assert world.state() is TransactionState.COMPLETE_COMMIT


def test_no_markers_are_sent_where_the_partition_has_gone_in_the_same_turn() -> None:
    """Who leads it now sends them."""
    world = World()
    producer = world.begin(2)
    world.turn = []
    assert world.end(producer, True, 2).error is NONE
    world.host.close()
    [turn] = world.turn
    turn()
    assert world.leaders.written == []


def test_what_is_known_comes_back_after_a_restart() -> None:
    """All of it, but the epoch before, which is only for retries."""
    world = World()
    world.begin(2, T01)
    before = world.known()
    world.restart()
    assert world.known() == before._replace(last_epoch=-1)


@pytest.mark.parametrize("is_commit", [True, False])
def test_what_was_decided_before_a_restart_is_done_after_it(is_commit: bool) -> None:
    """Whether or not some of the partitions have the marker already: they get it again."""
    world = World()
    producer = world.begin(2, T01)
    world.leaders.is_slow = True
    assert world.end(producer, is_commit, 2).error is NONE
    assert world.add(Producer(1000, 1), T0, 2).error is CONCURRENT
    world.leaders.written.clear()
    world.leaders.is_slow = False
    world.restart()
    assert world.leaders.written == [(TransactionMarker(1000, 1, 0, is_commit, 2), [FIRST, SECOND])]
    assert world.state() is (TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT)
    count = len(world.records())
    world.restart()
    assert len(world.records()) == count


def test_nobody_is_told_before_the_record_is_committed() -> None:
    """And the id is busy meanwhile; no marker goes out before the decision is committed."""
    world = World(flush_messages=1)
    began = world.initialise()
    assert (began.all, world.initialise().error) == ([], CONCURRENT)
    world.flusher.flush()
    producer = began.producer
    added = world.add(producer)
    assert (added.all, world.add(producer).error) == ([], CONCURRENT)
    world.flusher.flush()
    assert added.error is NONE
    ended = world.end(producer)
    assert (ended.all, world.end(producer).error, world.leaders.written) == ([], CONCURRENT, [])
    world.flusher.flush()
    assert ended.error is NONE
    assert len(world.leaders.written) == 1
    assert world.state() is TransactionState.PREPARE_COMMIT
    assert world.end(producer).error is CONCURRENT
    world.flusher.flush()
    assert world.state() is TransactionState.COMPLETE_COMMIT
    assert world.end(producer).error is NONE


def test_a_record_that_takes_long_is_waited_for_and_who_asked_is_told_to_come_back() -> None:
    """What is known is never other than what the log will say."""
    world = World(flush_messages=1)
    began = world.initialise()
    world.scheduler.advance(6)
    assert began.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.initialise().error is CONCURRENT
    world.scheduler.advance(20)
    world.flusher.flush()
    world.scheduler.advance(1)
    assert world.known().producer_epoch == 0
    again = world.initialise()
    world.flusher.flush()
    assert again.producer == Producer(1000, 1)


def test_a_record_that_cannot_be_written_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next try begins where this one did."""
    world = World()
    producer = world.begin()
    before = world.known()

    def full(*_: object, **__: object) -> None:
        raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)

    with monkeypatch.context() as patched:
        patched.setattr(type(world.partition), "append", full)
        assert world.end(producer).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.known() == before
    assert world.end(producer).error is NONE
    assert world.state() is TransactionState.COMPLETE_COMMIT


def test_the_last_record_of_a_transaction_is_written_again_until_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """All partitions have the marker: nobody is told, and nothing is lost."""
    world = World()
    producer = world.begin()
    world.leaders.is_slow = True
    assert world.end(producer).error is NONE

    def full(*_: object, **__: object) -> None:
        raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)

    with monkeypatch.context() as patched:
        patched.setattr(type(world.partition), "append", full)
        world.leaders.finish()
        world.scheduler.advance(3)
        assert world.state() is TransactionState.PREPARE_COMMIT
    world.scheduler.advance(1)
    assert world.state() is TransactionState.COMPLETE_COMMIT


def test_who_waits_when_the_partition_goes_is_told_to_look_elsewhere() -> None:
    """And no marker is sent any more."""
    world = World(flush_messages=1)
    began = world.initialise()
    world.host.close()
    assert began.error is ErrorCode.NOT_COORDINATOR
    world.flusher.flush()
    assert began.error is ErrorCode.NOT_COORDINATOR


def test_an_open_transaction_is_aborted_for_a_new_producer() -> None:
    """Who is told to come back, and then gets an epoch above that of the one before."""
    world = World()
    old = world.begin(2)
    assert world.initialise().error is CONCURRENT
    assert world.leaders.written == [(TransactionMarker(1000, 1, 0, False, 2), [FIRST])]
    assert world.state() is TransactionState.COMPLETE_ABORT
    assert world.initialise().producer == Producer(1000, 2)
    assert world.end(old, True, 2).error is ErrorCode.PRODUCER_FENCED


def test_transactions_end_when_their_time_is_over() -> None:
    """Their producers are fenced."""
    world = World()
    producer = world.begin(2)
    for _ in world.shard.abort_overdue():
        pass
    assert world.state() is TransactionState.ONGOING
    world.clock.advance(TIMEOUT_MS / 1000 + 0.001)
    for _ in world.shard.abort_overdue():
        pass
    assert world.state() is TransactionState.COMPLETE_ABORT
    assert world.leaders.written == [(TransactionMarker(1000, 1, 0, False, 2), [FIRST])]
    assert world.end(producer, True, 0).error is ErrorCode.PRODUCER_FENCED


def test_transactions_that_were_open_before_a_restart_end_when_their_time_is_over() -> None:
    """Whoever began them, an Apache Kafka on the same directory too."""
    world = World()
    world.begin(0)
    world.restart()
    world.clock.advance(TIMEOUT_MS / 1000 + 0.001)
    for _ in world.shard.abort_overdue():
        pass
    assert world.state() is TransactionState.COMPLETE_ABORT


def test_ids_that_nobody_uses_are_forgotten() -> None:
    """With a tombstone, those with an open transaction never."""
    world = World()
    world.begin()
    for number in range(700):
        assert world.initialise(name=f"idle-{number}").error is NONE
    world.clock.advance(100)
    assert world.initialise(name="used").error is NONE
    world.clock.advance(100)
    for _ in world.shard.forget_idle(150_000):
        pass
    assert set(world.shard.transactions) == {TX, "used"}
    assert [known for name, known in world.records() if name == "idle-7"][1:] == [None]
    world.restart()
    assert set(world.shard.transactions) == {TX, "used"}


def test_an_id_whose_tombstone_is_not_committed_is_busy() -> None:
    """A producer that comes back just then asks again, and begins anew."""
    world = World(flush_messages=1)
    world.initialise()
    world.flusher.flush()
    world.clock.advance(100)
    for _ in world.shard.forget_idle(1000):
        pass
    assert world.initialise().error is CONCURRENT
    world.flusher.flush()
    assert TX not in world.shard.transactions
    began = world.initialise()
    world.flusher.flush()
    assert began.producer == Producer(1001, 0)


def test_a_new_producer_id_may_come_later() -> None:
    """Two who wait for one at once do not both begin, and a block that cannot be had is told."""
    world = World(slow_ids=[])
    assert world.slow_ids is not None
    one, other, third = world.initialise(), world.initialise(), world.initialise(name="third")
    world.slow_ids[0].resolve(7)
    world.slow_ids[1].resolve(8)
    world.slow_ids[2].resolve(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
    assert (one.producer, other.producer) == (Producer(7, 0), Producer(7, 1))
    assert third.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_partition_that_goes_while_a_producer_id_is_awaited() -> None:
    """Nothing is written to it any more."""
    world = World(slow_ids=[])
    assert world.slow_ids is not None
    began = world.initialise()
    world.host.close()
    world.slow_ids[0].resolve(7)
    assert began.error is ErrorCode.NOT_COORDINATOR
    assert world.log.log_end_offset == 0


def test_the_last_epoch_of_a_producer_id_leads_to_another_one() -> None:
    """With the end of its transaction, also where another coordinator writes the last record (KIP-890)."""
    world = World()
    world.begin(2)
    last = Producer(1000, LAST_EPOCH - 1)
    world.shard.transactions[TX] = world.known()._replace(producer_epoch=last.epoch)
    world.leaders.is_slow = True
    ended = world.end(last, True, 2)
    assert (ended.error, ended.producer) == (NONE, Producer(1001, 0))
    assert world.leaders.written == [(TransactionMarker(1000, LAST_EPOCH, 0, True, 2), [FIRST])]
    world.leaders.is_slow = False
    world.restart()
    assert (world.known().producer_id, world.known().producer_epoch) == (1001, 0)
    again = world.end(last, True, 2)
    assert (again.error, again.producer) == (NONE, Producer(1001, 0))


def test_a_transactional_id_that_no_record_can_hold_is_refused() -> None:
    """Its length is told in two bytes."""
    assert World().initialise(name="x" * 40_000).error is ErrorCode.INVALID_REQUEST


def test_very_many_decided_transactions_are_ended_a_few_at_a_time() -> None:
    """After a restart others have their turn in between."""
    world = World()
    world.leaders.is_slow = True
    for number in range(300):
        told = world.shard.initialise(f"tx-{number}", None, TIMEOUT_MS)
        assert not isinstance(told, Deferred)
        producer = Producer(told.producer_id, told.producer_epoch)
        world.shard.add(f"tx-{number}", producer, T0, 2)
        world.shard.end(f"tx-{number}", producer, True, 2)
    world.leaders.is_slow = False
    world.leaders.written.clear()
    world.restart()
    assert world.leaders.written == []
    world.scheduler.advance(1)
    assert {known.state for known in world.shard.transactions.values()} == {TransactionState.COMPLETE_COMMIT}


def test_a_transaction_leaves_nothing_to_the_garbage_collector() -> None:
    """Whose work grows with all that a broker keeps, and would come with every few hundred transactions."""
    world = World()
    producer = world.begin(2, T01)
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            ended = world.end(producer, True, 2).producer
            assert ended is not None
            producer = ended
            assert world.add(producer, T0, 2).error is NONE
        assert gc.collect() == 0
    finally:
        gc.enable()
