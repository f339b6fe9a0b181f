"""What the leader of a partition with several replicas decides: the high watermark, and who is in sync.

Pure: offsets, times (monotonic milliseconds) and the standing of brokers come with each call; a change of the ISR goes
out as a value, and its outcome comes back. One change of a partition is under way at a time. While it is, the *maximal*
ISR counts: all who are in the ISR before or after it, since either may be what the controller has by now. Follows
Kafka's `Partition` (KIP-497, KIP-841, KIP-903, KIP-966's guard of the high watermark).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from odradek.broker.metadata.image import PartitionImage
from odradek.broker.replication.follower_progress import UNKNOWN, FollowerProgress
from odradek.protocol.errors import ErrorCode

IsEligible = Callable[[int, int | None], bool]
"""Whether a broker that fetches under a broker epoch may be in an ISR: it is registered under it, not fenced and not
about to stop (`replication.eligibility`)."""


class IsrChange(NamedTuple):
    """The ISR that a leader asks the controller for."""

    leader_epoch: int
    partition_epoch: int
    members: tuple[tuple[int, int], ...]
    """Broker ids with the broker epochs under which they fetch; -1 where that is not known."""
    added: int | None
    """Who comes in; None: only some go."""

    @property
    def isr(self) -> tuple[int, ...]:
        """The broker ids."""
        return tuple(member for member, _ in self.members)


class AlterPartitionAnswer(NamedTuple):
    """What the controller said: an error, or the state that the partition is in now."""

    error: ErrorCode
    leader_epoch: int = -1
    partition_epoch: int = -1
    isr: tuple[int, ...] = ()


class IsrOutcome(Enum):
    """What follows from an answer."""

    COMMITTED = "the ISR is the controller's; look at the high watermark again"
    REVERTED = "the controller refuses: the ISR is what it was"
    AWAITS_METADATA = "the leader's picture is old: nothing is asked before newer metadata comes"
    RETRY = "ask again"
    OUTDATED = "the answer is to a question that metadata has settled meanwhile"


_REVERTED = frozenset({ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED})
_AWAITS_METADATA = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)


@dataclass(slots=True)
class LeaderState:
    """A partition as its leader sees it."""

    node_id: int
    max_lag_ms: int
    """replica.lag.time.max.ms"""
    min_insync_replicas: int = 1
    isr: frozenset[int] = frozenset()
    """The ISR that is known to be committed."""
    leader_epoch: int = UNKNOWN
    partition_epoch: int = UNKNOWN
    epoch_start_offset: int = UNKNOWN
    """Where the log ended when this broker began to lead in this epoch."""
    followers: dict[int, FollowerProgress] = field(default_factory=dict)
    pending: IsrChange | None = None

    # what the metadata says

    def assigned(self, image: PartitionImage, leader_end: int, was_leader: bool, now_ms: int) -> bool:
        """Take over what the metadata says of the partition, which this broker leads; return whether it is news.

        What was asked of the controller is settled by that.
        """
        is_new_epoch = image.leader_epoch > self.leader_epoch
        if not is_new_epoch and image.partition_epoch <= self.partition_epoch:
            return False
        self.isr, self.pending = frozenset(image.isr), None
        self.partition_epoch = image.partition_epoch
        followers = self.followers
        self.followers = {
            replica: followers.get(replica) or FollowerProgress()
            for replica in image.replicas
            if replica != self.node_id
        }
        if is_new_epoch:
            self.leader_epoch, self.epoch_start_offset = image.leader_epoch, leader_end
            for replica, progress in self.followers.items():
                progress.reset(replica in self.isr, was_leader, leader_end, now_ms)
        return True

    # who is in sync

    @property
    def maximal_isr(self) -> frozenset[int]:
        """All who are in the ISR as the controller may see it by now."""
        pending = self.pending
        return self.isr if pending is None or pending.added is None else self.isr | {pending.added}

    @property
    def effective_min_isr(self) -> int:
        """min.insync.replicas, as far as there are replicas."""
        return min(self.min_insync_replicas, len(self.followers) + 1)

    @property
    def is_under_min_isr(self) -> bool:
        """Whether the ISR is too small to commit anything."""
        return len(self.isr) < self.effective_min_isr

    def expansion(self, replica: int, high_watermark: int, is_eligible: IsEligible) -> IsrChange | None:
        """The ISR with this follower, if it has come as far as that takes; it is pending then."""
        progress = self.followers.get(replica)
        if progress is None or self.pending is not None or replica in self.isr:
            return None
        if progress.log_end_offset < max(high_watermark, self.epoch_start_offset):
            return None
        if not is_eligible(replica, progress.broker_epoch):
            return None
        return self._propose((*self.isr, replica), replica)

    def shrinkage(self, leader_end: int, now_ms: int) -> IsrChange | None:
        """The ISR without those who fell behind, if there are any; it is pending then."""
        if self.pending is not None:
            return None
        behind = {replica for replica in self.isr if self._is_out_of_sync(replica, leader_end, now_ms)}
        return self._propose(self.isr - behind, None) if behind else None

    def _is_out_of_sync(self, replica: int, leader_end: int, now_ms: int) -> bool:
        if replica == self.node_id:
            return False
        progress = self.followers.get(replica)
        return progress is None or not progress.is_caught_up(leader_end, now_ms, self.max_lag_ms)

    def _propose(self, isr: Iterable[int], added: int | None) -> IsrChange:
        members = tuple((member, self._known_epoch(member)) for member in sorted(isr))
        self.pending = IsrChange(self.leader_epoch, self.partition_epoch, members, added)
        return self.pending

    def _known_epoch(self, member: int) -> int:
        progress = self.followers.get(member)
        epoch = progress.broker_epoch if progress is not None else None
        return UNKNOWN if epoch is None else epoch

    def answered(self, change: IsrChange, answer: AlterPartitionAnswer) -> IsrOutcome:
        """Take over what the controller made of a change."""
        if change is not self.pending:
            return IsrOutcome.OUTDATED
        if answer.error in _REVERTED:
            self.pending = None
            return IsrOutcome.REVERTED
        if answer.error in _AWAITS_METADATA:
            return IsrOutcome.AWAITS_METADATA
        if answer.error is not ErrorCode.NONE:
            return IsrOutcome.RETRY
        if answer.leader_epoch != self.leader_epoch or answer.partition_epoch < self.partition_epoch:
            return IsrOutcome.OUTDATED
        self.isr, self.partition_epoch, self.pending = frozenset(answer.isr), answer.partition_epoch, None
        return IsrOutcome.COMMITTED

    # what is committed

    def high_watermark(self, leader_end: int, now_ms: int, is_eligible: IsEligible) -> int | None:
        """The end of what all have who count; None while too few are in sync for anything to be committed.

        Those count who are in the maximal ISR, and those who are about to be: caught up, and eligible. It may be below
        the high watermark that there is, or -1: that never falls.
        """
        if self.is_under_min_isr:
            return None
        end = leader_end
        for replica, progress in self.followers.items():
            if progress.log_end_offset < end and self._counts(replica, progress, leader_end, now_ms, is_eligible):
                end = progress.log_end_offset
        return end

    def _counts(
        self, replica: int, progress: FollowerProgress, leader_end: int, now_ms: int, is_eligible: IsEligible
    ) -> bool:
        if replica in self.isr or (self.pending is not None and self.pending.added == replica):
            return True
        return progress.is_caught_up(leader_end, now_ms, self.max_lag_ms) and is_eligible(
            replica, progress.broker_epoch
        )

    def low_watermark(self, leader_start: int, is_alive: Callable[[int], bool]) -> int:
        """Where the logs of all replicas begin at the latest that are alive (DeleteRecords, KIP-107)."""
        starts = [progress.log_start_offset for replica, progress in self.followers.items() if is_alive(replica)]
        return min([leader_start, *starts])
