"""A partition that this broker follows, as its fetcher works on it: its ends, appending, cutting.

Owns what a follower does to its log. Must not know: requests, other partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from odradek.broker.partitions.partition import Partition
from odradek.broker.replication.follower_session import FetchPosition, ReplicaId
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.logging import get_logger
from odradek.storage.checkpoints.leader_epochs import EpochEnd
from odradek.storage.log.replicated_batches import ReplicatedBatches
from odradek.storage.names import TopicPartition

log = get_logger("replication")


class TruncatedLogs(Protocol):
    """The part of the log manager that a follower needs: cuts are written down before others' records come."""

    @property
    def high_watermarks(self) -> Mapping[TopicPartition, int]: ...

    def truncate_to(self, partition: TopicPartition, offset: int) -> None: ...

    def truncate_fully(self, partition: TopicPartition, offset: int) -> None: ...


class Following:
    """The replica of one partition while it follows."""

    __slots__ = (
        "_clock",
        "_log",
        "_logs",
        "_name",
        "_position",
        "leader_epoch",
        "leader_mark",
        "partition",
        "replica",
    )

    def __init__(self, partition: Partition, leader_epoch: int, logs: TruncatedLogs, clock: Clock) -> None:
        """A log without leader epochs is cut to what is known to be committed: it has no other way to compare."""
        self.partition = partition
        topic_id = partition.log.topic_id
        assert topic_id is not None  # logs of a cluster that replicates are made with their topic's id
        self.replica = ReplicaId(topic_id, partition.index)
        self.leader_epoch = leader_epoch
        self.leader_mark = -1
        """High watermark of the leader when it last answered."""
        self._log = partition.log
        self._position = FetchPosition(-1, -1, -1, -1)
        self._logs = logs
        self._clock = clock
        self._name = TopicPartition(partition.topic, partition.index)

    def __str__(self) -> str:
        return str(self._name)

    def position(self) -> FetchPosition:
        """Where it is, as the leader is told; the same object while it is the same place."""
        log, known = self._log, self._position
        end, epoch, start = log.local.log_end_offset, log.leader_epochs.latest, log.log_start_offset
        if known.fetch_offset != end or known.last_fetched_epoch != epoch or known.log_start_offset != start:
            known = self._position = FetchPosition(end, self.leader_epoch, epoch, start)
        return known

    @property
    def log_end_offset(self) -> int:
        """Where the next record goes."""
        return self.partition.log.log_end_offset

    @property
    def log_start_offset(self) -> int:
        """Where the log begins."""
        return self.partition.log.log_start_offset

    @property
    def latest_epoch(self) -> int:
        """The leader epoch of the last record, -1 if none is known."""
        return self.partition.log.leader_epochs.latest

    def end_offset_for_epoch(self, leader_epoch: int) -> EpochEnd:
        """Return the largest epoch here that is not after this one, and where it ends."""
        return self.partition.log.end_offset_for_epoch(leader_epoch)

    def cut_what_cannot_be_compared(self) -> None:
        """Cut a log that knows no leader epochs to what is committed. Raises StorageError."""
        if self.latest_epoch < 0 and self.log_end_offset > self.partition.high_watermark:
            self.truncate_to(self.partition.high_watermark)

    def check(self, records: memoryview) -> ReplicatedBatches | None:
        """Return the whole batches of what the leader sent, None if there are none; raises what
        `Log.check_as_follower` raises."""
        return self._log.check_as_follower(records)

    def position_after(self, batches: ReplicatedBatches) -> FetchPosition:
        """Where it is once these are appended."""
        last = batches.batches[-1][1]
        epoch = max(last.partition_leader_epoch, self._log.leader_epochs.latest)
        return FetchPosition(last.next_offset, self.leader_epoch, epoch, self._log.log_start_offset)

    def append(self, batches: ReplicatedBatches) -> None:
        """Append what the leader sent; raises what `Log.append_replicated` raises."""
        self.partition.append_as_follower(batches, self._clock.now_ms())

    def follow_marks(self, high_watermark: int, log_start_offset: int) -> None:
        """Take over what the leader says is committed, and where its log begins. Raises StorageError."""
        self.leader_mark = high_watermark
        self.partition.follow_marks(high_watermark, log_start_offset)

    @property
    def lag(self) -> int:
        """How many records that are committed at the leader are not here, as of its last answer."""
        return max(0, self.leader_mark - self.log_end_offset)

    def truncate_to(self, offset: int) -> None:
        """Cut the log: what comes from this offset on is not the leader's. Raises StorageError."""
        partition = self.partition
        below = offset < partition.high_watermark
        (log.warning if below else log.info)(
            "the log is cut, since the leader's is another one from there on",
            topic=partition.topic,
            partition=partition.index,
            offset=offset,
            log_end_offset=self.log_end_offset,
            high_watermark=partition.high_watermark,
        )
        self._logs.truncate_to(self._name, offset)
        partition.was_cut()

    def truncate_fully(self, offset: int) -> None:
        """Begin anew at this offset, where the leader's log begins. Raises StorageError."""
        partition = self.partition
        log.warning(
            "the log begins anew, since the leader has nothing any more of what comes next here",
            topic=partition.topic,
            partition=partition.index,
            offset=offset,
            log_end_offset=self.log_end_offset,
        )
        self._logs.truncate_fully(self._name, offset)
        partition.was_cut()
