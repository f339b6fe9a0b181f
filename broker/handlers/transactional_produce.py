"""The transactions of produce requests: verified by their coordinator before the first batch goes to a partition.

Owns: which batches have to be verified, the request while it waits for that, and what the producer is told. Where the
transaction is open on all partitions already, nobody is asked. Must not know: how batches are appended, whom to ask.
Follows KIP-890 and Kafka's `ReplicaManager.handleProduceAppend`.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.kept_records import kept, kept_bytes
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.transactions.verification import (
    Operation,
    Question,
    Refused,
    TransactionVerifier,
    of_produce,
)
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.hot.produce import FIRST_BY_ID
from odradek.protocol.messages.produce import PartitionProduceData, ProduceRequest
from odradek.protocol.records.batch import NO_PRODUCER_ID, BatchHeader, read_header
from odradek.storage.names import TopicPartition
from odradek.storage.producers.producer_state import Verification
from odradek.storage.validation import check_produce_records

_TRY_AGAIN: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""Errors after which the producer is to send its batch again; old ones do that after NOT_ENOUGH_REPLICAS."""


class RetrySettings(NamedTuple):
    """How long the end of the transaction before is waited for (add.partitions.to.txn.retry.backoff.*)."""

    longest_ms: int
    backoff_ms: int


class TooManyProducers(KafkaError):  # noqa: N818 - says what is the matter
    """The batches of a request are of several producers, of which one transactional id has only one."""

    def __init__(self) -> None:
        message = "Transactional records contained more than one producer ID"
        super().__init__(ErrorCode.INVALID_PRODUCER_ID_MAPPING, message)


@dataclass(slots=True)
class Verified:
    """What became of the partitions of a request whose transaction was not open."""

    guards: dict[Partition, Verification] = field(default_factory=dict)
    epochs: dict[Partition, int] = field(default_factory=dict)
    """Under which this broker led when the coordinator was asked."""
    errors: dict[Partition, KafkaError] = field(default_factory=dict)
    held_bytes: int = 0
    """Of the request's records, which are kept."""

    def check(self, partition: Partition) -> None:
        """Raise the KafkaError that a partition's batch is refused with, if it is."""
        error = self.errors.get(partition)
        if error is not None:
            raise error
        if partition in self.guards and self.epochs[partition] != partition.leader_epoch:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)  # somebody else led meanwhile: to be verified anew


class Verifications:
    """Verifies the transactions of produce requests."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        partitions: PartitionTable,
        clock: Clock,
        memory: RequestMemory,
        verifier: TransactionVerifier,
        is_enabled: Callable[[], bool],
        retries: RetrySettings,
    ) -> None:
        """`is_enabled` tells transaction.partition.verification.enable."""
        self._loop = loop
        self._partitions = partitions
        self._clock = clock
        self._memory = memory
        self._verifier = verifier
        self._is_enabled = is_enabled
        self._retries = retries

    def verify(self, request: ProduceRequest, version: int) -> Verified | Deferred[Verified]:
        """Return what may be written; where that comes later, the records are kept until `let_go`.

        Raises:
            KafkaError: the request as a whole is refused: INVALID_PRODUCER_ID_MAPPING, or REQUEST_TIMED_OUT where there
                is no memory for requests that wait.
        """
        operation = of_produce(version)
        outcome = self._try(request, version, operation)
        if isinstance(outcome, Verified) and not self._is_to_be_retried(outcome, operation):
            return outcome
        size = _keep(request, self._memory)
        until = self._loop.time() + self._retries.longest_ms / 1000
        answer: Deferred[Verified] = Deferred()

        def arrived(verified: Verified) -> None:
            if self._is_to_be_retried(verified, operation) and self._loop.time() < until:
                self._loop.call_later(self._retries.backoff_ms / 1000, again)
            else:
                verified.held_bytes = size
                answer.resolve(verified)

        def again() -> None:
            following = self._try(request, version, operation)
            if isinstance(following, Deferred):
                following.on_done(arrived)
            else:
                arrived(following)

        if isinstance(outcome, Deferred):
            outcome.on_done(arrived)
        else:
            arrived(outcome)
        return answer

    def let_go(self, verified: Verified) -> None:
        """The batches that have waited are appended or refused."""
        self._memory.release(verified.held_bytes)

    def _is_to_be_retried(self, verified: Verified, operation: Operation) -> bool:
        """Whether the transaction before has yet to end: that takes less time than the producer's next attempt."""
        return operation is Operation.ADD and any(
            error.code is ErrorCode.CONCURRENT_TRANSACTIONS for error in verified.errors.values()
        )

    def _try(self, request: ProduceRequest, version: int, operation: Operation) -> Verified | Deferred[Verified]:
        verified = Verified()
        if operation is not Operation.ADD and not self._is_enabled():
            return verified
        places, producer = self._unverified(request, version, operation, verified)
        if not places:
            return verified
        assert request.transactional_id is not None and producer is not None  # noqa: PT018 - checked before
        outcome = self._verifier.ask(Question(request.transactional_id, *producer, list(places), operation))

        def told(refused: Refused) -> Verified:
            for place, code in refused.items():
                verified.errors[places[place]] = _told(code, operation)
            return verified

        return outcome.then(told) if isinstance(outcome, Deferred) else told(outcome)

    def _unverified(
        self, request: ProduceRequest, version: int, operation: Operation, verified: Verified
    ) -> tuple[Mapping[TopicPartition, Partition], tuple[int, int] | None]:
        """Return the partitions that the coordinator has to be asked about, and the producer of their batches."""
        now_ms = self._clock.now_ms()
        producer: tuple[int, int] | None = None
        places: dict[TopicPartition, Partition] = {}
        for wanted in request.topic_data:
            topic = self._partitions.find(wanted.topic_id if version >= FIRST_BY_ID else wanted.name)
            if topic is None:
                continue
            for data in wanted.partition_data:
                header = _transactional_header(data, version)
                if header is None or not 0 <= data.index < topic.count:
                    continue
                if producer not in (None, (header.producer_id, header.producer_epoch)):
                    raise TooManyProducers
                producer = header.producer_id, header.producer_epoch
                partition = topic.get(data.index)
                if partition is None:
                    continue  # whose leader is somebody else, or whose log is not there
                try:
                    guard = partition.log.producers.start_verification(header, operation is Operation.ADD, now_ms)
                except KafkaError as refused:
                    verified.errors[partition] = KafkaError(refused.code)
                    continue
                if guard is not None:
                    verified.guards[partition] = guard
                    verified.epochs[partition] = partition.leader_epoch
                    places[TopicPartition(topic.name, data.index)] = partition
        return places, producer


def _transactional_header(data: PartitionProduceData, version: int) -> BatchHeader | None:
    """Return the header of a batch that is part of a transaction, None where it is not, or is refused anyway."""
    records = data.records
    try:
        check_produce_records(records, version)
        assert isinstance(records, memoryview)  # not null, and what is decoded from a frame is a view of it
        header = read_header(records)
    except KafkaError:
        return None
    return header if header.is_transactional and header.producer_id != NO_PRODUCER_ID else None


def _told(code: ErrorCode, operation: Operation) -> KafkaError:
    """Return what a producer is told of what the coordinator said; old ones know few errors."""
    if code is ErrorCode.INVALID_TXN_STATE:
        return KafkaError(code, "Partition was not added to the transaction")
    if code in _TRY_AGAIN or (code is ErrorCode.CONCURRENT_TRANSACTIONS and operation is not Operation.ADD):
        return KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            f"Unable to verify the partition has been added to the transaction. Underlying error: {code.name}",
        )
    return KafkaError(code)


def _keep(request: ProduceRequest, memory: RequestMemory) -> int:
    """Keep the records, whatever becomes of the memory they came in; return how much they take."""
    held = [data for topic in request.topic_data for data in topic.partition_data if data.records is not None]
    size = kept_bytes([memoryview(data.records or b"") for data in held])
    if not memory.may_hold(size):
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "Too many batches wait for their transactions to be verified")
    memory.hold(size)
    for data in held:
        data.records = kept(memoryview(data.records or b""))
    return size
