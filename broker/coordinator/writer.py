"""Writing to one partition of an internal topic, and waiting until what was written is safe.

Owns: batches, and what a failed append is called towards clients. Must not know: what the records mean. Follows
Kafka's coordinator runtime: one batch per operation, create time, no acknowledgement before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from odradek.broker.coordinator.plain_records import KeyAndValue
from odradek.broker.coordinator.timers import Alarm, TimerLoop
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import Codec
from odradek.protocol.records.building import BatchFields, build_batch, make_records
from odradek.storage.producers.producer_state import AppendOrigin, Verification

log = get_logger("coordinator")

_UNAVAILABLE: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
_LOST: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR})
_OF_PRODUCER: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE})
"""What is wrong with the transaction of a batch is its producer's business, and nothing is wrong here."""
_TOO_LARGE: Final = frozenset(
    {ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE}
)


class OpenTransaction(NamedTuple):
    """The transaction that a batch is part of."""

    producer_id: int
    producer_epoch: int
    guard: Verification | None
    """Under which the transaction was verified; None: it is open in the partition already."""


def coordinator_error(code: ErrorCode) -> ErrorCode:
    """Return what clients are told when the log says `code`."""
    if code in _UNAVAILABLE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in _LOST:
        return ErrorCode.NOT_COORDINATOR
    return ErrorCode.UNKNOWN_SERVER_ERROR if code in _TOO_LARGE else code


class PartitionWriter:
    """Appends the records of one shard, and tells when they are safe."""

    __slots__ = ("_failing", "_fields", "_scheduler", "_timeout_s", "_waits", "partition")

    def __init__(self, partition: Partition, scheduler: TimerLoop, codec: int, timeout_ms: int) -> None:
        """`codec` compresses what is written; `timeout_ms` is how long a write may take to become safe."""
        self.partition = partition
        self._scheduler = scheduler
        self._fields = BatchFields(codec=Codec(codec) if codec in Codec._value2member_map_ else Codec.NONE)
        self._timeout_s = timeout_ms / 1000
        self._waits: dict[_Wait, None] = {}
        self._failing: ErrorCode | None = None
        """Why the last write failed; None: it did not."""

    def append(self, pairs: Sequence[KeyAndValue], now_ms: int, transaction: OpenTransaction | None = None) -> int:
        """Append records in one batch, which may be part of a producer's transaction; return the offset behind them.

        Raises:
            KafkaError: with the code for clients; nothing was written then.
        """
        fields, guard = self._fields, None
        if transaction is not None:
            producer_id, epoch, guard = transaction
            fields = replace(fields, producer_id=producer_id, producer_epoch=epoch, base_sequence=0, transactional=True)
        batch = build_batch(make_records(pairs, now_ms), fields)
        partition = self.partition
        try:
            partition.check_leads_enough()
            if len(batch) > partition.log.config.max_message_bytes:
                raise KafkaError(
                    ErrorCode.MESSAGE_TOO_LARGE,
                    f"{len(pairs)} records of {len(batch)} bytes are more than max.message.bytes of the topic",
                )
            end = partition.append(batch, now_ms, AppendOrigin.COORDINATOR, guard=guard).last_offset + 1
        except KafkaError as failed:
            if failed.code in _OF_PRODUCER:
                raise
            if failed.code is not self._failing:  # a full disk is said once, not with every heartbeat
                self._failing = failed.code
                log.error(
                    "a write of a coordinator failed, and others may",
                    topic=partition.topic,
                    partition=partition.index,
                    reason=str(failed),
                )
            raise KafkaError(coordinator_error(failed.code), failed.message) from failed
        self._failing = None
        return end

    def append_marker(self, marker: TransactionMarker, now_ms: int) -> int:
        """Append the end of a transaction, and return the offset behind it.

        Raises:
            KafkaError: with the code of the log; nothing was written then.
        """
        self.partition.check_leads_enough()
        return self.partition.append_marker(marker, now_ms).last_offset + 1

    @property
    def end(self) -> int:
        """Offset behind everything that was appended."""
        return self.partition.log.log_end_offset

    def is_safe(self, end: int) -> bool:
        """Whether everything below the offset is committed."""
        return self.partition.high_watermark >= end

    def when_safe(self, end: int, done: Callable[[ErrorCode], None]) -> None:
        """Call `done` once everything below the offset is committed, with the error if that fails or takes too long."""
        wait = _Wait(done, self._waits)
        wait.alarm = self._scheduler.call_later(self._timeout_s, wait.finish, ErrorCode.REQUEST_TIMED_OUT)
        if not self.partition.when_committed(end, wait.finish):
            wait.finish(ErrorCode.NONE)

    def abandon(self) -> None:
        """Wait for nothing any more: whoever does is told to look for the coordinator."""
        for wait in list(self._waits):
            wait.finish(ErrorCode.NOT_LEADER_OR_FOLLOWER)


class _Wait:
    __slots__ = ("_done", "_waits", "alarm")

    def __init__(self, done: Callable[[ErrorCode], None], waits: dict[_Wait, None]) -> None:
        self._done: Callable[[ErrorCode], None] | None = done
        self._waits = waits
        self.alarm: Alarm | None = None
        waits[self] = None

    def finish(self, code: ErrorCode) -> None:
        done, self._done = self._done, None
        if done is not None:
            self._waits.pop(self, None)
            if self.alarm is not None:
                self.alarm.cancel()
            done(coordinator_error(code))
