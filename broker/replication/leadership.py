"""A partition with several replicas that this broker leads: its state, its log and the controller, brought together.

Owns: when the high watermark is looked at again, when a change of the ISR is asked for, and who waits for all replicas
to have deleted. What is decided is in `leader_state`. A `Partition` knows it as its `replicas`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from odradek.broker.metadata.image import MetadataImage, PartitionImage
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.roles import Pulse, Role
from odradek.broker.replication.eligibility import is_alive, is_eligible
from odradek.broker.replication.leader_state import AlterPartitionAnswer, IsrChange, IsrOutcome, LeaderState
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import ErrorCode, KafkaError

log = get_logger("replication")


class IsrChanges(Protocol):
    """Takes what leaders want of the controller to it (`isr_changes`)."""

    def submit(self, leadership: Leadership, change: IsrChange) -> None:
        """Ask for a change of the ISR; `Leadership.answered` is called with the outcome."""


class Surroundings(NamedTuple):
    """What the partitions that this broker leads have in common."""

    node_id: int
    clock: Clock
    image: Callable[[], MetadataImage]
    isr_changes: IsrChanges
    max_lag_ms: int
    """replica.lag.time.max.ms"""


class _AwaitedStart(NamedTuple):
    offset: int
    done: Callable[[ErrorCode], None]


class Leadership:
    """What is known of a partition's other replicas while this broker leads it."""

    __slots__ = ("_awaited_starts", "_surroundings", "partition", "state")

    def __init__(self, partition: Partition, surroundings: Surroundings) -> None:
        self.partition = partition
        self.state = LeaderState(surroundings.node_id, surroundings.max_lag_ms)
        self._surroundings = surroundings
        self._awaited_starts: list[_AwaitedStart] = []

    def assigned(self, image: PartitionImage) -> None:
        """Follow the metadata, which makes this broker the leader; before the partition itself begins to lead."""
        partition, state = self.partition, self.state
        state.min_insync_replicas = partition.log.config.min_insync_replicas
        was_leader = partition.role is Role.LEADER
        state.assigned(image, partition.log.log_end_offset, was_leader, self._now_ms())

    def reconfigured(self) -> None:
        """The topic's configs have changed."""
        self.state.min_insync_replicas = self.partition.log.config.min_insync_replicas
        self.advance()

    def ended(self) -> None:
        """Another broker leads from now on, or the partition is gone."""
        awaited, self._awaited_starts = self._awaited_starts, []
        for waiter in awaited:
            waiter.done(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    # what producers ask

    def check_enough(self) -> None:
        """Refuse an append with acks=all while too few replicas are in sync.

        Raises:
            KafkaError: NOT_ENOUGH_REPLICAS.
        """
        state = self.state
        if state.is_under_min_isr:
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{len(state.isr)} replicas of {self.partition.topic}-{self.partition.index} are in sync,"
                f" and {state.effective_min_isr} must be",
            )

    @property
    def commit_code(self) -> ErrorCode:
        """What those are told who waited for the high watermark that has moved now."""
        state = self.state
        if len(state.maximal_isr) < state.effective_min_isr:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    @property
    def epoch_start_offset(self) -> int:
        """Where this leader epoch begins."""
        return self.state.epoch_start_offset

    # progress

    def advance(self) -> None:
        """Look at the high watermark again: the log, a follower or the ISR has changed."""
        partition = self.partition
        end = self.state.high_watermark(partition.safe_end, self._now_ms(), self._is_eligible)
        if end is not None:
            partition.advance(end)

    def has_replica(self, replica: int) -> bool:
        """Whether a broker is one of the partition's followers."""
        return replica in self.state.followers

    def is_in_sync(self, replica: int) -> bool:
        """Whether a follower is in the ISR."""
        return replica in self.state.isr

    def check_broker_epoch(self, replica: int, broker_epoch: int) -> None:
        """Refuse a follower that fetches under an older registration than the one that is known (KIP-903).

        Raises:
            KafkaError: NOT_LEADER_OR_FOLLOWER.
        """
        broker = self._surroundings.image().brokers.get(replica)
        if broker is not None and 0 <= broker_epoch < broker.epoch:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {replica} fetches with an old broker epoch")

    def fetched(
        self, replica: int, broker_epoch: int, fetch_offset: int, log_start_offset: int, leader_end: int
    ) -> None:
        """Note how far a follower is that has fetched while the log ended at `leader_end`."""
        state, partition = self.state, self.partition
        progress = state.followers[replica]
        old_start = progress.log_start_offset
        has_moved = progress.fetched(fetch_offset, log_start_offset, broker_epoch, leader_end, self._now_ms())
        if replica not in state.isr:
            change = state.expansion(replica, partition.high_watermark, self._is_eligible)
            if change is not None:
                self._submit(change)
        if has_moved:
            self.advance()
        if log_start_offset != old_start and self._awaited_starts:
            self._report_starts()

    def rest(self, replica: int, pulse: Pulse) -> None:
        """A follower that has everything fetches whenever the pulse says so, until `stir`."""
        self.state.followers[replica].rest(pulse)

    def stir(self, replica: int) -> None:
        """Something has happened since a follower fetched last: what it has is told by its fetches again."""
        progress = self.state.followers.get(replica)
        if progress is not None:
            progress.stir()

    def shrink(self) -> None:
        """Ask for the ISR without those who fell behind; to be called every half of replica.lag.time.max.ms."""
        change = self.state.shrinkage(self.partition.log.log_end_offset, self._now_ms())
        if change is not None:
            self._submit(change)

    def _submit(self, change: IsrChange) -> None:
        log.info(
            "asks for another ISR",
            topic=self.partition.topic,
            partition=self.partition.index,
            isr=sorted(self.state.isr),
            wanted=list(change.isr),
        )
        self._surroundings.isr_changes.submit(self, change)

    def answered(self, change: IsrChange, answer: AlterPartitionAnswer) -> None:
        """Take over what the controller made of a change of the ISR."""
        outcome = self.state.answered(change, answer)
        if outcome is IsrOutcome.RETRY:
            self._surroundings.isr_changes.submit(self, change)
        elif outcome is IsrOutcome.COMMITTED:
            self.advance()
        elif outcome is not IsrOutcome.OUTDATED:
            log.info(
                "the controller refuses another ISR",
                topic=self.partition.topic,
                partition=self.partition.index,
                error=answer.error.name,
                wanted=list(change.isr),
            )

    # deletion

    @property
    def low_watermark(self) -> int:
        """Where the logs of all replicas begin at the latest that are alive."""
        return self.state.low_watermark(self.partition.log.log_start_offset, self._is_alive)

    def when_started(self, offset: int, done: Callable[[ErrorCode], None]) -> bool:
        """Call `done` once all replicas that are alive begin at `offset` or later; returns False where they do already,
        and does not call."""
        if self.low_watermark >= offset:
            return False
        self._awaited_starts.append(_AwaitedStart(offset, done))
        return True

    def _report_starts(self) -> None:
        start, awaited = self.low_watermark, self._awaited_starts
        self._awaited_starts = [waiter for waiter in awaited if waiter.offset > start]
        for waiter in awaited:
            if waiter.offset <= start:
                waiter.done(ErrorCode.NONE)

    def _now_ms(self) -> int:
        return int(self._surroundings.clock.monotonic() * 1000)

    def _is_eligible(self, broker_id: int, broker_epoch: int | None) -> bool:
        return is_eligible(self._surroundings.image(), broker_id, broker_epoch)

    def _is_alive(self, broker_id: int) -> bool:
        return is_alive(self._surroundings.image(), broker_id)
