"""Telling the leaders of a transaction's partitions how it ended, until each of them has written it down.

Owns: who leads what at the time, one request in flight to each broker with all that is due there, and trying again for
ever: what is decided is decided. Must not know: what comes after (`shard`). Follows Kafka's
`TransactionMarkerChannelManager`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from odradek.broker.coordinator.background import FEW, Background, Slices
from odradek.broker.coordinator.timers import Alarm, TimerLoop
from odradek.broker.nodes.broker_channels import RequestsToBrokers
from odradek.broker.nodes.requests import Disconnected
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.logging import get_logger
from odradek.broker.transactions.state import Partitions, in_slices
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.storage.names import TopicPartition

log = get_logger("transactions")

RETRY_S: Final = 0.1
"""After how long a partition is tried again: it has no leader, or the leader could not write."""
MOST_IN_REQUEST: Final = 2000
"""Partitions in one request to another broker."""

_WRITTEN: Final = frozenset({ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION})
"""It is there, or can never be: the log is of a format without transactions."""
_FENCED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
_PASSING: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)

Written = Mapping[TopicPartition, ErrorCode]


class LocalMarkers(Protocol):
    """What writes markers to the partitions that this broker leads."""

    def write(self, marker: TransactionMarker, partitions: Sequence[TopicPartition]) -> Written | Deferred[Written]:
        """Write a marker; return what became of it in each partition, once it is committed there."""


@dataclass(frozen=True, slots=True)
class MarkerParts:
    """What the sender works with."""

    node_id: int
    loop: TimerLoop
    background: Background
    leader_of: Callable[[TopicPartition], int | None]
    """The broker that leads a partition, -1 for nobody at present, None where there is no such partition."""
    local: Callable[[], LocalMarkers]
    brokers: RequestsToBrokers
    timeout_s: float
    """How long another broker may take."""


class Sending:
    """The end of one transaction on its way to all of its partitions."""

    __slots__ = ("_done", "marker", "remaining")

    def __init__(
        self, marker: TransactionMarker, partitions: set[TopicPartition], done: Callable[[bool], None]
    ) -> None:
        self.marker = marker
        self.remaining = partitions
        """Those that have not written it yet."""
        self._done: Callable[[bool], None] | None = done

    @property
    def is_over(self) -> bool:
        """Whether nothing is to be sent any more."""
        return self._done is None

    def cancel(self) -> None:
        """Send nothing any more, and tell nobody."""
        self._done = None

    def settle(self, partitions: Sequence[TopicPartition]) -> None:
        """These partitions have it, or are no more."""
        self.remaining.difference_update(partitions)
        if not self.remaining:
            self._finish(True)

    def give_up(self) -> None:
        """Somebody else ends the transaction."""
        self._finish(False)

    def _finish(self, is_written: bool) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(is_written)


@dataclass(slots=True)
class _Broker:
    """What is due at another broker."""

    waiting: deque[tuple[Sending, list[TopicPartition]]] = field(default_factory=deque)
    is_asked: bool = False


class MarkerSender:
    """Sends markers, each until all partitions of its transaction have it."""

    def __init__(self, parts: MarkerParts) -> None:
        self._parts = parts
        self._brokers: dict[int, _Broker] = {}
        self._retries: dict[Sending, list[TopicPartition]] = {}
        self._alarm: Alarm | None = None
        self._is_stopped = False

    def send(self, marker: TransactionMarker, partitions: Partitions, done: Callable[[bool], None]) -> Sending:
        """Send a marker; `done` is told True once all partitions have it, and False if another coordinator ends the
        transaction. It may be told before this returns."""
        sending = Sending(marker, set(), done)
        slices = self._name_and_route(sending, partitions)
        self._parts.background.result_of(sum([len(indexes) for indexes in partitions.values()]), slices)
        return sending

    def stop(self) -> None:
        """Send nothing any more."""
        self._is_stopped = True
        if self._alarm is not None:
            self._alarm.cancel()
        self._retries.clear()
        self._brokers.clear()

    def _name_and_route(self, sending: Sending, partitions: Partitions) -> Slices[None]:
        """Send a marker to all partitions, once all of them are known to be due."""
        for some in in_slices(partitions):
            sending.remaining.update(map(TopicPartition._make, some))
            yield
        if not sending.remaining:
            sending.settle(())
        for some in in_slices(partitions):
            self._route_few(sending, list(map(TopicPartition._make, some)))
            yield

    def _route(self, sending: Sending, partitions: Sequence[TopicPartition]) -> None:
        """Send a marker to partitions where they are led now; many of them in the background."""

        if len(partitions) <= FEW:
            self._route_few(sending, partitions)
            return

        def slices() -> Slices[None]:
            for start in range(0, len(partitions), FEW):
                self._route_few(sending, partitions[start : start + FEW])
                yield

        self._parts.background.add(slices(), lambda _: None)

    def _route_few(self, sending: Sending, partitions: Sequence[TopicPartition]) -> None:
        if sending.is_over or self._is_stopped:
            return
        parts = self._parts
        by_leader: dict[int | None, list[TopicPartition]] = {}
        for partition in partitions:
            by_leader.setdefault(parts.leader_of(partition), []).append(partition)
        for leader, led in by_leader.items():
            if leader is None:
                log.info("partitions of a transaction are gone: they get no marker", partitions=_few_names(led))
                sending.settle(led)
            elif leader == parts.node_id:
                self._write_here(sending, led)
            elif leader < 0:
                self._try_again(sending, led)
            else:
                broker = self._brokers.setdefault(leader, _Broker())
                broker.waiting.append((sending, led))
                self._ask(leader, broker)

    def _write_here(self, sending: Sending, led: Sequence[TopicPartition]) -> None:
        written = self._parts.local().write(sending.marker, led)
        if isinstance(written, Deferred):
            written.on_done(partial(self._take, sending, led))
        else:
            self._take(sending, led, written)

    def _take(self, sending: Sending, asked: Sequence[TopicPartition], written: Written) -> None:
        """Go on with what became of a marker; what is not told of is tried again."""
        if sending.is_over:
            return
        there, again = [], []
        for partition in asked:
            code = written.get(partition, ErrorCode.REQUEST_TIMED_OUT)
            if code in _WRITTEN:
                there.append(partition)
            elif code in _FENCED:
                log.warning(
                    "the end of a transaction is refused by a partition, since somebody else has ended it: its markers"
                    " are not sent any more by this coordinator",
                    producer_id=sending.marker.producer_id,
                    producer_epoch=sending.marker.producer_epoch,
                    partition=str(partition),
                    error=code.name,
                )
                sending.give_up()
                return
            else:
                if code not in _PASSING:
                    log.error(
                        "the end of a transaction could not be written; it is tried again",
                        producer_id=sending.marker.producer_id,
                        partition=str(partition),
                        error=code.name,
                    )
                again.append(partition)
        if again:
            self._try_again(sending, again)
        if there:
            sending.settle(there)

    def _try_again(self, sending: Sending, partitions: Sequence[TopicPartition]) -> None:
        if self._is_stopped:
            return
        self._retries.setdefault(sending, []).extend(partitions)
        if self._alarm is None:
            self._alarm = self._parts.loop.call_later(RETRY_S, self._retry_all)

    def _retry_all(self) -> None:
        self._alarm = None
        retries, self._retries = self._retries, {}
        for sending, partitions in retries.items():
            self._route(sending, partitions)

    def _ask(self, broker_id: int, broker: _Broker) -> None:
        """Send what is due at a broker, unless it has something to answer: then it goes with the next request."""
        if broker.is_asked:
            return
        batch: dict[int, tuple[Sending, list[TopicPartition]]] = {}
        later: list[tuple[Sending, list[TopicPartition]]] = []
        count = 0
        while broker.waiting and count < MOST_IN_REQUEST:
            sending, partitions = broker.waiting.popleft()
            known = batch.get(sending.marker.producer_id)
            if sending.is_over:
                continue
            if known is not None and known[0] is not sending:
                later.append((sending, partitions))  # answers are told apart by the producer id
                continue
            if known is None:
                batch[sending.marker.producer_id] = (sending, list(partitions))
            else:
                known[1].extend(partitions)
            count += len(partitions)
        broker.waiting.extendleft(reversed(later))
        if not batch:
            return
        broker.is_asked = True
        markers = [_writable(sending.marker, partitions) for sending, partitions in batch.values()]
        answer = self._parts.brokers.send(broker_id, WriteTxnMarkersRequest(markers=markers), self._parts.timeout_s)
        answer.on_done(partial(self._answered, broker_id, broker, batch))

    def _answered(
        self,
        broker_id: int,
        broker: _Broker,
        batch: Mapping[int, tuple[Sending, list[TopicPartition]]],
        answer: Message | Disconnected,
    ) -> None:
        broker.is_asked = False
        if self._is_stopped:
            return
        told: dict[int, dict[TopicPartition, ErrorCode]] = {}
        if isinstance(answer, WriteTxnMarkersResponse):
            for marker in answer.markers:
                codes = told.setdefault(marker.producer_id, {})
                for topic in marker.topics:
                    for one in topic.partitions:
                        codes[TopicPartition(topic.name, one.partition_index)] = _code(one.error_code)
        elif isinstance(answer, Disconnected) and answer.is_unsupported:
            log.error("a broker cannot be told how transactions end; it is tried again", reason=answer.reason)
        for producer_id, (sending, partitions) in batch.items():
            self._take(sending, partitions, told.get(producer_id, {}))
        if broker.waiting:
            self._ask(broker_id, broker)
        elif self._brokers.get(broker_id) is broker:
            del self._brokers[broker_id]


def _writable(marker: TransactionMarker, partitions: Sequence[TopicPartition]) -> WritableTxnMarker:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return WritableTxnMarker(
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        transaction_result=marker.committed,
        topics=[WritableTxnMarkerTopic(name=name, partition_indexes=indexes) for name, indexes in topics.items()],
        coordinator_epoch=marker.coordinator_epoch,
        transaction_version=marker.transaction_version,
    )


def _code(number: int) -> ErrorCode:
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def _few_names(partitions: Sequence[TopicPartition]) -> str:
    return ", ".join(map(str, partitions[:5])) + (", ..." if len(partitions) > 5 else "")
