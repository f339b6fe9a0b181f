"""Writing the ends of transactions into the partitions that this broker leads.

Owns: one marker for each partition, and when that counts as written: when it is committed (acks=all). Partitions of
`__consumer_offsets` are the group coordinator's, which lets the offsets of the transaction count, or forgets them. Must
not know: requests, who decided how the transaction ends. Follows Kafka's handling of WriteTxnMarkers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from odradek.broker.coordinator.background import Background
from odradek.broker.coordinator.timers import TimerLoop
from odradek.broker.metadata.internal_topics import OFFSETS_TOPIC
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.deferred import Deferred, then
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.names import TopicPartition

Written = Mapping[TopicPartition, ErrorCode]
"""What became of a marker on each partition."""

EndOffsets = Callable[[int, TransactionMarker], ErrorCode | Deferred[ErrorCode]]
"""Ends a transaction in one partition of `__consumer_offsets`."""

_NO_COORDINATOR = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}
)


class MarkerWriter:
    """Writes markers, each to many partitions."""

    def __init__(
        self,
        partitions: PartitionTable,
        end_offsets: EndOffsets,
        scheduler: TimerLoop,
        clock: Clock,
        timeout_ms: int,
        background: Background,
    ) -> None:
        """`timeout_ms` is how long a marker may take to be committed (request.timeout.ms); what takes longer than a
        request may goes to the `background`."""
        self._partitions = partitions
        self._end_offsets = end_offsets
        self._scheduler = scheduler
        self._clock = clock
        self._timeout_s = timeout_ms / 1000
        self._background = background

    def write(self, marker: TransactionMarker, partitions: Sequence[TopicPartition]) -> Written | Deferred[Written]:
        """Write a marker to partitions; return what became of it on each of them, once it is committed there.

        Errors: UNKNOWN_TOPIC_OR_PARTITION where this broker has no replica, NOT_LEADER_OR_FOLLOWER,
        NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND, REQUEST_TIMED_OUT, KAFKA_STORAGE_ERROR, and for a marker
        that comes too late INVALID_PRODUCER_EPOCH and TRANSACTION_COORDINATOR_FENCED. UNKNOWN_SERVER_ERROR for a marker
        of no producer.
        """
        each = list(dict.fromkeys(partitions))
        outcome = self.write_all([(marker, partition) for partition in each])
        return then(outcome, lambda codes: dict(zip(each, codes, strict=True)))

    def write_all(
        self, wanted: Sequence[tuple[TransactionMarker, TopicPartition]]
    ) -> list[ErrorCode] | Deferred[list[ErrorCode]]:
        """Write markers of any number of transactions; return what became of each, in their order."""
        return self._background.each(wanted, self._write_one)

    def _write_one(self, wanted: tuple[TransactionMarker, TopicPartition]) -> ErrorCode | Deferred[ErrorCode]:
        marker, (name, index) = wanted
        topic = self._partitions.find(name)
        if topic is None or topic.get_replica(index) is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if min(marker.producer_id, marker.producer_epoch, marker.transaction_version) < 0:
            return ErrorCode.UNKNOWN_SERVER_ERROR  # nobody's: what Kafka cannot make a batch of
        if name == OFFSETS_TOPIC:
            return then(self._end_offsets(index, marker), _of_leader)
        partition = topic.get(index)
        if partition is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        try:
            partition.check_leads_enough()
            end = partition.append_marker(marker, self._clock.now_ms()).last_offset + 1
        except KafkaError as refused:
            return refused.code
        return self._when_committed(partition, end)

    def _when_committed(self, partition: Partition, end: int) -> ErrorCode | Deferred[ErrorCode]:
        if partition.high_watermark >= end:
            return ErrorCode.NONE
        waiting: Deferred[ErrorCode] = Deferred()
        alarm = self._scheduler.call_later(self._timeout_s, waiting.resolve, ErrorCode.REQUEST_TIMED_OUT)
        partition.when_committed(end, waiting.resolve)

        def committed(code: ErrorCode) -> ErrorCode:
            alarm.cancel()
            return code

        return waiting.then(committed)


def _of_leader(code: ErrorCode) -> ErrorCode:
    """Return what the coordinator of the transaction is told of a partition of groups: to ask again, or elsewhere."""
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if code in _NO_COORDINATOR else code
