"""TxnOffsetCommit (0-5): how far a group has read, as part of a producer's transaction (KIP-98, KIP-447, KIP-890).

Partitions that are not there are refused one by one. Version notes: leader epochs come with v2; before it producers may
fail at COORDINATOR_LOAD_IN_PROGRESS (KAFKA-7296) and are told COORDINATOR_NOT_AVAILABLE; before v3 nobody says
which member of the group he is, and nobody is fenced; TRANSACTION_ABORTABLE is told from v4 on; v5 makes the group's
partition of `__consumer_offsets` part of the transaction, and before it has to be that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from odradek.broker.coordinator.background import Slices
from odradek.broker.coordinator.writer import OpenTransaction, coordinator_error
from odradek.broker.groups.classic.values import CommitRequest
from odradek.broker.groups.commits import check_transactional_commit
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.groups.records import OffsetAndMetadata, OffsetKey, OffsetRecord, encode_commit
from odradek.broker.groups.shard import GroupShard
from odradek.broker.handlers.group_offsets import MAX_OFFSETS
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.partitions.topic_partitions import TopicPartitions
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, and_then, then
from odradek.broker.transactions.verification import Operation, Question, Refused, TransactionVerifier, of_commit
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from odradek.protocol.records.batch import NO_SEQUENCE
from odradek.storage.names import TopicPartition
from odradek.storage.producers.producer_state import Verification

_PER_SLICE = 50
"""Topics and partitions looked at before others get their turn."""

_TOLD: Final[Mapping[ErrorCode, ErrorCode]] = {
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,  # old producers try again then, here
    ErrorCode.STALE_MEMBER_EPOCH: ErrorCode.ILLEGAL_GENERATION,
}
"""Errors that producers do not know, and what they are told instead."""

_FIRST_THAT_WAITS: Final = 2
"""The version from which on producers know that a coordinator may be loading."""


class _Producer(NamedTuple):
    """Who commits, as the partition has to know for the verification."""

    producer_id: int
    producer_epoch: int
    base_sequence: int = NO_SEQUENCE


class _Place(NamedTuple):
    """A partition of a commit that is there, and where its result goes."""

    topic: TopicPartitions
    wanted: TxnOffsetCommitRequestPartition
    result: TxnOffsetCommitResponsePartition


class _Commit(NamedTuple):
    """A request that is prepared."""

    response: TxnOffsetCommitResponse
    """With errors for partitions that are not there."""
    places: list[_Place]
    too_large: list[TxnOffsetCommitResponsePartition]
    """Results of partitions whose metadata is larger than allowed."""
    offsets: list[OffsetRecord]


class TxnOffsetCommitHandler:
    """Answers TxnOffsetCommit once the offsets are safe; they count when the transaction is committed."""

    def __init__(
        self,
        coordinator: GroupCoordinator,
        verifier: TransactionVerifier,
        partitions: PartitionTable,
        clock: Clock,
        max_metadata: int,
        is_verification_enabled: Callable[[], bool],
    ) -> None:
        """`max_metadata` is offset.metadata.max.bytes; `is_verification_enabled` tells
        transaction.partition.verification.enable."""
        self._coordinator = coordinator
        self._verifier = verifier
        self._partitions = partitions
        self._clock = clock
        self._max_metadata = max_metadata
        self._is_enabled = is_verification_enabled

    def txn_offset_commit(
        self, context: RequestContext, request: TxnOffsetCommitRequest
    ) -> TxnOffsetCommitResponse | Deferred[TxnOffsetCommitResponse]:
        """Answer a request."""
        operation = of_commit(context.api_version)
        count = sum([1 + len(topic.partitions) for topic in request.topics])
        prepared = self._coordinator.background.result_of(count, self._prepare(request))
        return and_then(prepared, lambda commit: self._commit(request, commit, operation, context.api_version))

    def _prepare(self, request: TxnOffsetCommitRequest) -> Slices[_Commit]:
        """Find the partitions and make records for them; whether they may be committed is decided after that."""
        commit = _Commit(TxnOffsetCommitResponse(), [], [], [])
        now, group_id = self._clock.now_ms(), request.group_id
        count = 0
        for wanted in request.topics:
            count += 1
            if count % _PER_SLICE == 0:
                yield
            topic = self._partitions.find(wanted.name)
            if topic is not None and not wanted.partitions:
                continue  # Kafka does not mention it either
            results = TxnOffsetCommitResponseTopic(name=wanted.name)
            commit.response.topics.append(results)
            for partition in wanted.partitions:
                count += 1
                if count % _PER_SLICE == 0:
                    yield
                index = partition.partition_index
                result = TxnOffsetCommitResponsePartition(partition_index=index)
                results.partitions.append(result)
                if topic is None or not 0 <= index < topic.count:
                    result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    continue
                commit.places.append(_Place(topic, partition, result))
                metadata = partition.committed_metadata or ""
                if len(metadata) > self._max_metadata:
                    commit.too_large.append(result)
                elif len(commit.offsets) <= MAX_OFFSETS:  # one more, and none of them is taken
                    committed = OffsetAndMetadata(
                        partition.committed_offset,
                        partition.committed_leader_epoch,
                        metadata,
                        now,
                        topic_id=topic.topic_id,
                    )
                    commit.offsets.append(encode_commit(OffsetKey(group_id, topic.name, index), committed))
        return commit

    def _commit(
        self, request: TxnOffsetCommitRequest, commit: _Commit, operation: Operation, version: int
    ) -> TxnOffsetCommitResponse | Deferred[TxnOffsetCommitResponse]:
        if not commit.places:
            return commit.response
        return then(self._written(request, commit, operation), lambda code: _finish(commit, code, version))

    def _written(
        self, request: TxnOffsetCommitRequest, commit: _Commit, operation: Operation
    ) -> ErrorCode | Deferred[ErrorCode]:
        """Verify the transaction, and write the offsets then; return how that went."""
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        if operation is not Operation.ADD and not self._is_enabled():
            return self._append(request, commit, None, -1)
        producer = _Producer(request.producer_id, request.producer_epoch)
        try:
            partition = self._coordinator.shard(request.group_id).writer.partition
            now = self._clock.now_ms()
            guard = partition.log.producers.start_verification(producer, operation is Operation.ADD, now)
        except KafkaError as refused:
            return refused.code
        epoch = partition.leader_epoch
        if guard is None:
            return self._append(request, commit, None, epoch)
        place = TopicPartition(partition.topic, partition.index)
        question = Question(request.transactional_id, *producer[:2], (place,), operation)

        def verified(refused: Refused) -> ErrorCode | Deferred[ErrorCode]:
            code = refused.get(place, ErrorCode.NONE)
            return self._append(request, commit, guard, epoch) if code is ErrorCode.NONE else coordinator_error(code)

        return and_then(self._verifier.ask(question), verified)

    def _append(
        self, request: TxnOffsetCommitRequest, commit: _Commit, guard: Verification | None, epoch: int
    ) -> ErrorCode | Deferred[ErrorCode]:
        """Write the offsets if the group lets their producer; `epoch` is that of the leader who gave the `guard`."""
        try:
            shard = self._coordinator.shard(request.group_id)
            if guard is not None and shard.writer.partition.leader_epoch != epoch:
                return ErrorCode.NOT_COORDINATOR  # somebody else was it meanwhile: to be verified anew
            self._check(shard, request, commit)
        except KafkaError as refused:
            return refused.code
        for result in commit.too_large:
            result.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
        if not commit.offsets:
            return ErrorCode.NONE
        transaction = OpenTransaction(request.producer_id, request.producer_epoch, guard)
        return shard.write_transactional_offsets(commit.offsets, transaction)

    def _check(self, shard: GroupShard, request: TxnOffsetCommitRequest, commit: _Commit) -> None:
        """Raise the KafkaError that the commit is refused with, if it is."""
        who = CommitRequest(request.member_id, request.group_instance_id, request.generation_id, transactional=True)
        rule = check_transactional_commit(shard, request.group_id, who)
        for place in commit.places:  # one partition that is not the member's refuses them all
            error = rule.error_of(place.topic.topic_id, place.wanted.partition_index)
            if error is not ErrorCode.NONE:
                raise KafkaError(error)
        if len(commit.offsets) > MAX_OFFSETS:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _finish(commit: _Commit, code: ErrorCode, version: int) -> TxnOffsetCommitResponse:
    if code is not ErrorCode.NONE:
        told = _TOLD.get(code, code)
        if told is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _FIRST_THAT_WAITS:
            told = ErrorCode.COORDINATOR_NOT_AVAILABLE
        for place in commit.places:
            if place.result.error_code == ErrorCode.NONE:
                place.result.error_code = told
    return commit.response
