"""What a leader decides of its followers, held against a model that remembers everything that happened."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.broker.metadata.image import PartitionImage
from odradek.broker.replication.leader_state import AlterPartitionAnswer, IsrChange, IsrOutcome, LeaderState
from odradek.protocol.errors import ErrorCode

ME, LAG_MS = 1, 100
FOLLOWERS = (2, 3)


def leading(isr: tuple[int, ...] = (1, 2, 3), end: int = 10, min_isr: int = 1) -> LeaderState:
    """Return the state of a leader whose log ends at `end`, at time 0."""
    state = LeaderState(ME, LAG_MS, min_isr)
    assert state.assigned(PartitionImage((1, 2, 3), isr, ME, 5, 7), end, False, 0)
    return state


def anybody(_broker: int, epoch: int | None) -> bool:
    return epoch is not None


def fetched(state: LeaderState, replica: int, offset: int, end: int, now_ms: int) -> None:
    state.followers[replica].fetched(offset, 0, -1, end, now_ms)


def test_older_metadata_changes_nothing() -> None:
    """A partition epoch that is known, in a leader epoch that is known, is no news."""
    state = leading()
    assert not state.assigned(PartitionImage((1, 2, 3), (1,), ME, 5, 7), 10, True, 0)
    assert state.isr == {1, 2, 3}


def test_follower_that_has_what_there_was_at_its_last_fetch_is_caught_up_since_then() -> None:
    """So one that is always a little behind a busy leader stays in sync."""
    state = leading()
    fetched(state, 2, 10, 10, 0)
    fetched(state, 2, 10, 20, 60)
    fetched(state, 2, 20, 30, 120)
    assert state.followers[2].caught_up_ms == 60
    fetched(state, 2, 21, 40, 180)
    assert state.followers[2].caught_up_ms == 60


def test_follower_joins_when_it_has_what_is_committed_and_what_the_epoch_began_with() -> None:
    """Not below the high watermark, not below the start of the epoch, not while the metadata speaks against it."""
    state = leading(isr=(1, 2), end=10)
    fetched(state, 3, 9, 12, 0)
    assert state.expansion(3, 5, anybody) is None
    fetched(state, 3, 10, 12, 0)
    assert state.expansion(3, 11, anybody) is None
    assert state.expansion(3, 10, lambda _broker, _epoch: False) is None
    change = state.expansion(3, 10, anybody)
    assert change == IsrChange(5, 7, ((1, -1), (2, -1), (3, -1)), 3)
    assert state.maximal_isr == {1, 2, 3}
    assert state.isr == {1, 2}


def test_one_change_at_a_time() -> None:
    """Neither another expansion nor a shrink begins while one is under way."""
    state = leading(isr=(1,))
    for replica in FOLLOWERS:
        fetched(state, replica, 10, 10, 0)
    assert state.expansion(2, 10, anybody) is not None
    assert state.expansion(3, 10, anybody) is None
    assert state.shrinkage(20, 10_000) is None


def test_slow_follower_counts_until_the_controller_has_taken_it_out() -> None:
    """The high watermark passes it only after that."""
    state = leading()
    fetched(state, 2, 20, 20, 50)
    fetched(state, 3, 10, 20, 0)
    change = state.shrinkage(20, LAG_MS + 1)
    assert change is not None
    assert change.isr == (1, 2)
    assert state.high_watermark(20, LAG_MS + 1, anybody) == 10
    answer = AlterPartitionAnswer(ErrorCode.NONE, 5, 8, (1, 2))
    assert state.answered(change, answer) is IsrOutcome.COMMITTED
    assert state.high_watermark(20, LAG_MS + 1, anybody) == 20


@pytest.mark.parametrize(
    ("error", "outcome", "is_pending"),
    [
        (ErrorCode.INELIGIBLE_REPLICA, IsrOutcome.REVERTED, False),
        (ErrorCode.OPERATION_NOT_ATTEMPTED, IsrOutcome.REVERTED, False),
        (ErrorCode.FENCED_LEADER_EPOCH, IsrOutcome.AWAITS_METADATA, True),
        (ErrorCode.INVALID_UPDATE_VERSION, IsrOutcome.AWAITS_METADATA, True),
        (ErrorCode.UNKNOWN_TOPIC_ID, IsrOutcome.AWAITS_METADATA, True),
        (ErrorCode.NEW_LEADER_ELECTED, IsrOutcome.AWAITS_METADATA, True),
        (ErrorCode.NOT_CONTROLLER, IsrOutcome.RETRY, True),
        (ErrorCode.UNKNOWN_SERVER_ERROR, IsrOutcome.RETRY, True),
    ],
)
def test_each_refusal_has_its_consequence(error: ErrorCode, outcome: IsrOutcome, is_pending: bool) -> None:
    """The ISR is what it was, the leader waits for metadata, or it asks again."""
    state = leading()
    fetched(state, 2, 20, 20, 50)
    change = state.shrinkage(20, LAG_MS + 1)
    assert change is not None
    assert state.answered(change, AlterPartitionAnswer(error)) is outcome
    assert (state.pending is change) is is_pending


def test_answer_to_what_metadata_has_settled_is_dropped() -> None:
    """A newer picture of the partition came first."""
    state = leading()
    change = state.shrinkage(20, LAG_MS + 1)
    assert change is not None
    state.assigned(PartitionImage((1, 2, 3), (1, 3), ME, 5, 9), 20, True, 0)
    assert state.answered(change, AlterPartitionAnswer(ErrorCode.NONE, 5, 8, (1, 2))) is IsrOutcome.OUTDATED
    assert state.isr == {1, 3}


def test_nothing_is_committed_by_too_few() -> None:
    """min.insync.replicas guards the high watermark, as far as there are replicas."""
    assert leading(isr=(1,), min_isr=2).high_watermark(20, LAG_MS * 9, anybody) is None
    assert leading(isr=(1,), min_isr=1).high_watermark(20, LAG_MS * 9, anybody) == 20
    assert leading(isr=(1, 2, 3), min_isr=9).effective_min_isr == 3


@given(starts=st.lists(st.integers(0, 9), min_size=2, max_size=2), alive=st.sets(st.sampled_from(FOLLOWERS)))
def test_low_watermark_is_the_lowest_start_of_those_alive(starts: list[int], alive: set[int]) -> None:
    """The dead do not hold up a deletion."""
    state = leading()
    for replica, start in zip(FOLLOWERS, starts, strict=True):
        state.followers[replica].fetched(10, start, -1, 10, 0)
    expected = min([5, *(start for replica, start in zip(FOLLOWERS, starts, strict=True) if replica in alive)])
    assert state.low_watermark(5, lambda replica: replica in alive) == expected


class LeaderMachine(RuleBasedStateMachine):
    """A leader, its followers and a controller that answers late; what counts is what every replica really has."""

    @initialize(min_isr=st.integers(1, 3), isr=st.sampled_from([(1, 2, 3), (1, 2), (1,)]))
    def begin(self, min_isr: int, isr: tuple[int, ...]) -> None:
        """Lead."""
        self.now_ms = 0
        self.end = 10
        self.state = leading(isr, 10, min_isr)
        self.has = dict.fromkeys(FOLLOWERS, 0)
        self.high_watermark = 0
        self.fenced: set[int] = set()
        self.controller_isr = set(isr)
        self.partition_epoch = 7
        self.asked: IsrChange | None = None
        self.is_decided = False

    def is_eligible(self, broker: int, epoch: int | None) -> bool:
        """Whether the metadata speaks for a broker."""
        return epoch is not None and broker not in self.fenced

    def advance(self) -> None:
        """Look at the high watermark again, as a leader does after each event."""
        candidate = self.state.high_watermark(self.end, self.now_ms, self.is_eligible)
        if candidate is not None and candidate > self.high_watermark:
            behind = [one for one in self.controller_isr - {ME} if self.has[one] < candidate]
            assert not behind, f"{candidate} is committed without {behind}"
            assert len(self.state.isr) >= self.state.effective_min_isr
            self.high_watermark = candidate

    @rule(count=st.integers(1, 5))
    def append(self, count: int) -> None:
        """Records come."""
        self.end += count
        self.advance()

    @rule(replica=st.sampled_from(FOLLOWERS), share=st.integers(0, 4))
    def fetch(self, replica: int, share: int) -> None:
        """A follower tells where it is, and gets some of what comes next."""
        offset = self.has[replica]
        self.state.followers[replica].fetched(offset, 0, -1, self.end, self.now_ms)
        change = self.state.expansion(replica, self.high_watermark, self.is_eligible)
        if change is not None:
            assert self.asked is None or self.is_decided
            self.asked, self.is_decided = change, False
        self.advance()
        self.has[replica] = offset + (self.end - offset) * share // 4

    @rule(ms=st.integers(1, 150))
    def wait(self, ms: int) -> None:
        """Time passes."""
        self.now_ms += ms

    @rule()
    def shrink(self) -> None:
        """The leader looks for those who fell behind."""
        change = self.state.shrinkage(self.end, self.now_ms)
        if change is not None:
            assert ME in change.isr
            self.asked, self.is_decided = change, False

    @rule(replica=st.sampled_from(FOLLOWERS))
    def fence(self, replica: int) -> None:
        """The metadata turns against a broker, or for it again."""
        self.fenced ^= {replica}

    @precondition(lambda self: self.asked is not None and not self.is_decided)
    @rule()
    def decide(self) -> None:
        """The controller makes up its mind; the leader does not know it yet."""
        assert self.asked is not None
        if self.asked.partition_epoch == self.partition_epoch:
            self.controller_isr = set(self.asked.isr)
            self.partition_epoch += 1
        self.is_decided = True

    @precondition(lambda self: self.asked is not None and self.is_decided)
    @rule(is_lost=st.booleans())
    def answer(self, is_lost: bool) -> None:
        """The answer arrives, or the metadata does first."""
        assert self.asked is not None
        isr = tuple(self.controller_isr)
        if is_lost:
            self.state.assigned(
                PartitionImage((1, 2, 3), isr, ME, 5, self.partition_epoch), self.end, True, self.now_ms
            )
        else:
            self.state.answered(self.asked, AlterPartitionAnswer(ErrorCode.NONE, 5, self.partition_epoch, isr))
        self.asked = None
        self.advance()

    @invariant()
    def known_isr_is_covered(self) -> None:
        """Whoever the controller has in the ISR counts for the leader, too."""
        if hasattr(self, "state"):
            assert self.controller_isr <= self.state.maximal_isr


TestLeader = LeaderMachine.TestCase
