"""What a topic-partition is to a client: append, read up to the high watermark, and be told when that moves.

The high watermark is the end of what is committed: acknowledged and visible. With a single replica that is the end of
the log, at once; with flush.messages it is the end of what is on the disk, so that nothing is acknowledged or served
that a power cut could take back. With several replicas it is the end of what all have that are in sync: a leader's
`replicas` say so, and a follower is told it by its leader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from odradek.broker.partitions.awaited import AwaitedDisk, AwaitedOffset
from odradek.broker.partitions.damages import DamageReports
from odradek.broker.partitions.delayed_operation import Waiter
from odradek.broker.partitions.failed_appends import FailedAppends
from odradek.broker.partitions.roles import LeaderReplicas, Role
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.errors import CorruptRecord
from odradek.storage.log.log import Log
from odradek.storage.log.log_values import AppendInfo, LogSlice
from odradek.storage.log.replicated_batches import ReplicatedBatches
from odradek.storage.log.retention import DueSegment, remove_next_due
from odradek.storage.producers.producer_state import AppendOrigin, Verification
from odradek.storage.validation import Effort, ValidatedBatch

NO_LEADER_EPOCH: Final = -1


class Flusher(Protocol):
    """Brings a partition's log to the disk on a thread, and calls `Partition.flushed` or `flush_failed` when it has."""

    def request(self, partition: Partition) -> None:
        """Flush now, since somebody waits for it; nothing new happens while a flush of the partition runs."""

    def request_in_background(self, partition: Partition) -> None:
        """Flush when there is time, after others for which that was asked."""


class Partition:
    """A partition of which this broker has a replica, and its log is open. A request is given those that are led
    (`TopicPartitions.get`), so that nothing here looks at the role for each of them."""

    __slots__ = (
        "_awaited",
        "_awaiting_disk",
        "_damages",
        "_failed_appends",
        "_flush_messages",
        "_flusher",
        "_is_retired",
        "delayed_fetches",
        "high_watermark",
        "index",
        "last_flush_ms",
        "leader_epoch",
        "leader_id",
        "log",
        "replicas",
        "role",
        "topic",
    )

    def __init__(
        self,
        log: Log,
        leader_id: int,
        leader_epoch: int,
        flusher: Flusher,
        role: Role = Role.LEADER,
        high_watermark: int = 0,
    ) -> None:
        """`high_watermark` is what is known to be committed of one with several replicas."""
        self.topic: str = log.topic
        self.index: int = log.partition
        self.log = log
        self.role = Role.FOLLOWER
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = max(log.log_start_offset, min(high_watermark, log.log_end_offset))
        self.delayed_fetches: dict[Waiter, None] = {}
        """Those that wait for something new here, in the order in which they came."""
        self.last_flush_ms = 0
        """When a flush last ended well (wall time); 0 if that was before this start."""
        self._flusher = flusher
        self._flush_messages = log.config.flush_messages
        self._awaited: deque[AwaitedOffset] = deque()
        self._awaiting_disk = AwaitedDisk()
        self._is_retired = False
        self._damages = DamageReports()
        self._failed_appends: FailedAppends | None = None
        self.replicas: LeaderReplicas | None = None
        """The other replicas while this broker leads; None where there are none."""
        if role is Role.LEADER:
            self.lead(leader_id, leader_epoch)
        if log.local.sync_problem:
            self._flusher.request(self)

    # appending

    def append(
        self,
        batch: memoryview | bytearray | ValidatedBatch,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        effort: Effort | None = None,
        guard: Verification | None = None,
    ) -> AppendInfo:
        """Append one batch, of a client unless `origin` says that it is the broker's own; `guard` says that the
        transaction of the batch was verified.

        Raises:
            KafkaError: the batch is refused; nothing was written.
            TakesLonger: checking it takes more than the `effort`; nothing was written.
        """
        log = self.log
        info = log.append(batch, self.leader_epoch, now_ms, origin, guard, effort)
        if self._failed_appends is not None:
            self._failed_appends.over()
            self._failed_appends = None
        local = log.local
        end = local.log_end_offset
        if end - local.recovery_point >= self._flush_messages:  # what follows is `_grown`, without a call
            self._flusher.request(self)
            if self.replicas is not None:
                self.wake_fetches()  # followers read what is not on the disk yet
        elif self.replicas is None:
            self.advance(end)
        else:
            self.replicas.advance()
            self.wake_fetches()
        return info

    def append_failed(self, reason: str) -> None:
        """Take note that the disk did not take a client's batch, which is told as long as it lasts, but rarely."""
        if self._failed_appends is None:
            self._failed_appends = FailedAppends(self.topic, self.index)
        self._failed_appends.failed(reason)

    def append_marker(self, marker: TransactionMarker, now_ms: int) -> AppendInfo:
        """Append the control batch that ends a transaction here.

        Raises:
            KafkaError: INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED for a marker that comes too late, or
                KAFKA_STORAGE_ERROR; nothing was written.
        """
        log = self.log
        batch = marker.batch(now_ms, log.rules.log_append_time)
        info = log.append_marker(batch, self.leader_epoch, now_ms, marker.transaction_version)
        self._grown()
        return info

    def _grown(self) -> None:
        """The log has a further batch, which counts as committed as soon as it may."""
        if self.log.log_end_offset - self.log.recovery_point >= self._flush_messages:
            self._flusher.request(self)
            if self.replicas is not None:
                self.wake_fetches()
        elif self.replicas is None:
            self.advance(self.log.log_end_offset)
        else:
            self.replicas.advance()
            self.wake_fetches()

    def check_leads_enough(self) -> None:
        """Refuse an append with acks=all where this broker does not lead, or too few replicas are in sync.

        Raises:
            KafkaError: NOT_ENOUGH_REPLICAS, and NOT_LEADER_OR_FOLLOWER where another broker leads by now.
        """
        if self.role is not Role.LEADER or self._is_retired:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if self.replicas is not None:
            self.replicas.check_enough()

    def when_committed(self, offset: int, done: Callable[[ErrorCode], None]) -> bool:
        """Call `done` once the high watermark has reached `offset`; returns False where it has already, and does not
        call."""
        if self.high_watermark >= offset:
            return False
        self._awaited.append(AwaitedOffset(offset, done))
        return True

    def when_written(self, offset: int, done: Callable[[ErrorCode], None]) -> bool:
        """Call `done` once what is before the offset is as safe here as the topic asks for (flush.messages), which is
        under way; returns False where it is already, and does not call."""
        if self.safe_end >= offset:
            return False
        self._awaiting_disk.add(offset, done)
        return True

    def when_on_disk(self, done: Callable[[ErrorCode], None]) -> bool:
        """Bring all that is in the log now to the disk in the background, and call `done` once it is there, or is not
        going to be.

        Returns False where it is there already, and does not call.
        """
        end = self.log.log_end_offset
        if self.log.recovery_point >= end:
            return False
        self._awaiting_disk.add(end, done)
        self._flusher.request_in_background(self)
        return True

    def flushed(self) -> None:
        """A flush has ended well: what is on the disk is committed."""
        if self._is_retired:
            return  # another flush would write to names that may be a new partition's by now
        log = self.log
        if self._awaiting_disk and self._awaiting_disk.reached(log.recovery_point):
            self._flusher.request_in_background(self)  # for what came later
        if self.role is not Role.LEADER:
            return  # the leader says what is committed
        if self.replicas is not None:
            self.replicas.advance()
        else:
            self.advance(self.safe_end)
        if log.log_end_offset - log.recovery_point >= self._flush_messages:
            self._flusher.request(self)

    @property
    def safe_end(self) -> int:
        """End of what of this replica's log is safe enough to be committed: with flush.messages, of what the disk
        has."""
        log = self.log
        end = log.log_end_offset
        return end if end - log.recovery_point < self._flush_messages else log.recovery_point

    def flush_failed(self) -> None:
        """The disk refused: those who wait learn that their data may not survive."""
        self._report_all(ErrorCode.KAFKA_STORAGE_ERROR)

    def advance(self, offset: int) -> None:
        """Let what is below the offset count as committed; that does not fall."""
        if offset <= self.high_watermark:
            return
        self.high_watermark = offset
        awaited = self._awaited
        if awaited and awaited[0].offset <= offset:
            code = ErrorCode.NONE if self.replicas is None else self.replicas.commit_code
            while awaited and awaited[0].offset <= offset:
                awaited.popleft().done(code)
        if self.delayed_fetches:
            self.wake_fetches()

    def wake_fetches(self) -> None:
        """Let waiting fetches look again."""
        for fetch in list(self.delayed_fetches):  # some leave
            fetch.wake()

    def _report_all(self, code: ErrorCode) -> None:
        awaited = [*self._awaited, *self._awaiting_disk.take()]
        self._awaited = deque()
        for waiter in awaited:
            waiter.done(code)

    # reading

    def check_leader_epoch(self, current_leader_epoch: int) -> None:
        """Refuse a client whose idea of the leader's epoch is older or newer than ours; -1 is no idea.

        Raises:
            KafkaError: FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH.
        """
        if current_leader_epoch in (NO_LEADER_EPOCH, self.leader_epoch):
            return
        if current_leader_epoch < self.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)

    @property
    def last_stable_offset(self) -> int:
        """End of what a reader of committed data may see: before the first open transaction."""
        unstable = self.log.producers.first_unstable_offset(self.high_watermark)
        if unstable is None or unstable >= self.high_watermark:
            return self.high_watermark
        return max(unstable, self.log.log_start_offset)

    def read(self, offset: int, max_bytes: int, upto: int, at_least_one: bool, wait: bool = True) -> LogSlice:
        """A stretch of the log from `offset` on, below the offset `upto`.

        Without `at_least_one` it is empty where not even the first batch fits: a part of a batch and nothing else is
        what clients take for a batch that they will never get whole (KIP-74).

        Raises:
            OffsetOutOfRange: below the log's start or beyond its end.
            CorruptRecord: the data there is damaged; the broker's log names the place.
            NotInMemory: it would have to `wait` for the disk, and is not to.
        """
        try:
            piece = self.log.read(offset, max_bytes, upto, at_least_one, wait)
        except CorruptRecord as damage:
            self._damages.report(self.topic, self.index, str(damage))
            raise
        if not at_least_one and 0 < piece.length == max_bytes:
            first = self.log.read(offset, 0, upto, True, wait)
            if first.length > max_bytes:
                return LogSlice(None, 0, 0, offset, piece.segment_base)
        return piece

    # life

    def lead(self, leader_id: int, leader_epoch: int, replicas: LeaderReplicas | None = None) -> None:
        """Lead in this epoch from now on; it begins at the end of the log, even if no record follows."""
        was_alone = self.role is Role.LEADER and self.replicas is None
        self._replace_replicas(replicas)
        if leader_epoch != self.leader_epoch:
            self.log.producers.forget_verifications()
        self.role, self.leader_id, self.leader_epoch = Role.LEADER, leader_id, leader_epoch
        if leader_epoch != self.log.leader_epochs.latest:
            self.log.begin_leader_epoch(leader_epoch)
        if not (was_alone and replicas is None):
            self.flushed()  # with one replica, what is in the log is committed, or will be once it is on the disk
        if self.delayed_fetches:
            self.wake_fetches()  # those of another epoch, or of who is no replica any more

    def follow(self, leader_id: int, leader_epoch: int) -> None:
        """Follow this leader from now on: whoever waits must ask there."""
        self._replace_replicas(None)
        self.role, self.leader_id, self.leader_epoch = Role.FOLLOWER, leader_id, leader_epoch
        self._report_all(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.wake_fetches()

    def _replace_replicas(self, replicas: LeaderReplicas | None) -> None:
        old, self.replicas = self.replicas, replicas
        if old is not None and old is not replicas:
            old.ended()

    def reconfigured(self) -> None:
        """The topic's configs have changed."""
        self._flush_messages = self.log.config.flush_messages
        if self.replicas is not None:
            self.replicas.reconfigured()
        elif self.high_watermark < self.log.log_end_offset:
            self.flushed()

    # following

    def append_as_follower(self, batches: ReplicatedBatches, now_ms: int) -> None:
        """Append batches of the leader as they are; raises what `Log.append_replicated` raises."""
        log = self.log
        log.append_replicated(batches, now_ms)
        if log.log_end_offset - log.recovery_point >= self._flush_messages:
            self._flusher.request(self)

    def follow_marks(self, high_watermark: int, log_start_offset: int) -> None:
        """Take over from the leader what is committed, as far as it is here, and where the log begins.

        Raises:
            StorageError: segments that are before the start could not be removed.
        """
        log = self.log
        self.advance(min(high_watermark, log.log_end_offset))
        if log_start_offset > log.log_start_offset:
            log.delete_records_before(min(log_start_offset, self.high_watermark))
            self.wake_fetches()

    def was_cut(self) -> None:
        """The log was truncated, which may take away what was committed; or it starts anew further on."""
        log = self.log
        self.high_watermark = max(log.log_start_offset, min(self.high_watermark, log.log_end_offset))
        self.wake_fetches()

    def delete_records_before(self, offset: int) -> int:
        """Move the start of the log (DeleteRecords); -1 means the high watermark. Returns the new start.

        Raises:
            KafkaError: OFFSET_OUT_OF_RANGE beyond the high watermark, POLICY_VIOLATION where the topic does not delete.
        """
        if "delete" not in self.log.config.cleanup_policy:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "cleanup.policy of the topic does not include delete")
        target = self.high_watermark if offset == -1 else offset
        if target < 0 or target > self.high_watermark:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        self.log.delete_records_before(target)
        self.wake_fetches()
        return self.log.log_start_offset

    @property
    def low_watermark(self) -> int:
        """Where the logs of all replicas begin at the latest that are alive, as far as is known here."""
        return self.log.log_start_offset if self.replicas is None else self.replicas.low_watermark

    def remove_old_segment(self, now_ms: int) -> DueSegment | None:
        """Remove the oldest segment if retention lets it go, and return it; nothing goes once the partition is retired.

        Fetches that wait below the new start of the log learn at once that their offset is out of range. Raises what
        `Log.remove_next_due` raises.
        """
        if self._is_retired:
            return None
        removed = remove_next_due(self.log, self.high_watermark, now_ms)
        if removed is not None:
            self.wake_fetches()
        return removed

    @property
    def is_retired(self) -> bool:
        """Whether the partition is deleted or moved away."""
        return self._is_retired

    def retired(self, code: ErrorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER) -> None:
        """The partition is deleted or moved away: whoever waits must ask for its new home; or its log is lost, and
        `code` says so."""
        self._is_retired = True
        self._replace_replicas(None)
        self._report_all(code)
        self.wake_fetches()
