"""Transactions of one id, whatever comes in whichever order: producers, zombies, slow disks, slow partitions, restarts.

The model knows what was told, and holds every marker and every record to it.
"""

from collections.abc import Mapping

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.broker.transactions.state import LAST_EPOCH, Producer, TransactionState
from odradek.protocol.errors import ErrorCode
from tests.unit.broker.transactions.shard_world import T0, T01, TIMEOUT_MS, TX, Told, World

S = TransactionState
FOLLOWS: Mapping[TransactionState | None, set[TransactionState]] = {
    None: {S.EMPTY},
    S.EMPTY: {S.EMPTY, S.ONGOING, S.PREPARE_ABORT},
    S.ONGOING: {S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT},
    S.PREPARE_COMMIT: {S.COMPLETE_COMMIT},
    S.PREPARE_ABORT: {S.COMPLETE_ABORT},
    S.COMPLETE_COMMIT: {S.EMPTY, S.ONGOING, S.PREPARE_ABORT},
    S.COMPLETE_ABORT: {S.EMPTY, S.ONGOING, S.PREPARE_ABORT},
}
"""Which state may be written after which."""


class Transactions(RuleBasedStateMachine):
    """A shard with one id, and all who have ever been its producer."""

    def __init__(self) -> None:
        super().__init__()
        self.producers: list[Producer] = []
        self.beginning: list[Told] = []
        self.going_on: list[Told] = []
        self.ending: list[tuple[Producer, bool, int, Told]] = []

    @initialize(is_slow=st.booleans())
    def start(self, is_slow: bool) -> None:
        """With a disk that is slow, or not."""
        self.world = World(flush_messages=1 if is_slow else 1 << 60)

    @rule(goes_on=st.booleans(), who=st.integers(0, 100))
    def begin(self, goes_on: bool, who: int) -> None:
        """A producer comes, or goes on."""
        expected = self.producers[who % len(self.producers)] if goes_on and self.producers else None
        self.beginning.append(self.world.initialise(expected))
        if expected is not None:
            self.going_on.append(self.beginning[-1])

    @precondition(lambda self: self.producers)
    @rule(who=st.integers(0, 100), is_more=st.booleans(), version=st.sampled_from([0, 2]))
    def add(self, who: int, is_more: bool, version: int) -> None:
        """Any of them adds partitions."""
        self.world.add(self._producer(who), T01 if is_more else T0, version)

    @precondition(lambda self: self.producers)
    @rule(who=st.integers(0, 100), is_commit=st.booleans(), version=st.sampled_from([0, 2]))
    def end(self, who: int, is_commit: bool, version: int) -> None:
        """Any of them ends the transaction."""
        producer = self._producer(who)
        self.ending.append((producer, is_commit, version, self.world.end(producer, is_commit, version)))

    @precondition(lambda self: TX in self.world.shard.transactions and not self.world.flusher.wanted)
    @rule()
    def use_epochs_up(self) -> None:
        """Nearly all of them, as if a year had passed; the producers of before are fenced."""
        known = self.world.known()
        if known.state in (S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT) and known.producer_epoch < LAST_EPOCH - 3:
            self.world.shard.transactions[TX] = known._replace(producer_epoch=LAST_EPOCH - 3, last_epoch=-1)

    @rule()
    def flush(self) -> None:
        """The disk has what was written."""
        self.world.flusher.flush()

    @rule(seconds=st.sampled_from([0.1, 6, TIMEOUT_MS / 1000 + 1]))
    def wait(self, seconds: float) -> None:
        """Time passes, and is looked at."""
        self.world.scheduler.advance(seconds)
        for _ in self.world.shard.abort_overdue():
            pass

    @rule(is_slow=st.booleans())
    def change_partitions(self, is_slow: bool) -> None:
        """Partitions write markers later, or at once again."""
        self.world.leaders.is_slow = is_slow
        if not is_slow:
            self.finish_markers()

    @rule()
    def finish_markers(self) -> None:
        """What waits in partitions is written."""
        self.world.leaders.finish()

    @rule()
    def restart(self) -> None:
        """What is on the disk is loaded, after a stop in order."""
        self.world.leaders.waiting.clear()
        self.world.flusher.flush()
        self.world.restart()
        self.world.scheduler.advance(0.01)

    def _producer(self, who: int) -> Producer:
        return self.producers[-1 - who % len(self.producers)]

    @invariant()
    def producers_are_new(self) -> None:
        """Nobody is told the epoch that is for fencing, and a new one is told what nobody before was told."""
        for told in self.beginning:
            for result in told.all:
                if result.error is ErrorCode.NONE:
                    assert 0 <= result.producer_epoch < LAST_EPOCH
                    assert told in self.going_on or told.producer not in self.producers
                    self.producers.append(told.producer)
        self.beginning = [told for told in self.beginning if not told.all]

    @invariant()
    def what_is_told_is_done(self) -> None:
        """A commit that was told is a commit, an abort an abort; markers of one transaction never differ."""
        outcomes: dict[Producer, bool] = {}
        for marker, _ in self.world.leaders.written if hasattr(self, "world") else ():
            key = Producer(marker.producer_id, marker.producer_epoch)
            if marker.transaction_version >= 2:
                assert outcomes.setdefault(key, marker.committed) == marker.committed
        for _, _, version, told in self.ending:
            for result in told.all:
                if version >= 2 and result.error is ErrorCode.NONE and told.producer not in self.producers:
                    self.producers.append(told.producer)
        for producer, is_commit, version, told in self.ending:
            if version >= 2 and told.all and told.all[0].error is ErrorCode.NONE:
                ended = Producer(producer.producer_id, producer.epoch + 1)
                assert outcomes.get(ended, is_commit) == is_commit

    @invariant()
    def records_follow_each_other(self) -> None:
        """States as Kafka's, epochs of one producer id never lower."""
        if not hasattr(self, "world"):
            return
        state: TransactionState | None = None
        highest: dict[int, int] = {}
        for _, known in self.world.records():
            assert known is not None
            assert known.state in FOLLOWS[state], f"{known.state.name} after {state}"
            assert known.producer_epoch >= highest.get(known.producer_id, 0)
            highest[known.producer_id] = known.producer_epoch
            state = known.state

    def teardown(self) -> None:
        """In the end nothing is under way for ever, and another producer may begin."""
        if not hasattr(self, "world"):
            return
        world = self.world
        world.leaders.is_slow = False
        for _ in range(5):
            world.leaders.finish()
            world.flusher.flush()
            world.scheduler.advance(2)
        assert TX not in world.shard.transactions or not world.state().is_decided
        last: list[ErrorCode] = []
        for _ in range(3):
            told = world.initialise()
            for _ in range(3):
                world.flusher.flush()
                world.scheduler.advance(2)
            last.append(told.error)
        assert last[-1] is ErrorCode.NONE


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
