"""AddPartitionsToTxn (0-5), AddOffsetsToTxn (0-4) and EndTxn (0-5): what producers ask of their transaction's
coordinator; from version 4 on AddPartitionsToTxn is what brokers ask (KIP-890).

Version notes: error PRODUCER_FENCED with v2 of each, INVALID_PRODUCER_EPOCH before. EndTxn v5 takes the producer to its
next epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from odradek.broker.coordinator.background import Slices
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.metadata.internal_topics import OFFSETS_TOPIC
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, and_then, gather, then
from odradek.broker.transactions.coordinator import TransactionCoordinator
from odradek.broker.transactions.shard import ProducerResult
from odradek.broker.transactions.state import PER_SLICE, Partitions, Producer, in_slices
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from odradek.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from odradek.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from odradek.storage.names import TopicPartition

_FIRST_OF_BROKERS: Final = 4
_FIRST_WITH_FENCED: Final = 2
_FIRST_WITH_BUMPS: Final = 5
_WITHOUT_BUMPS: Final = 0
_WITH_BUMPS: Final = 2
"""Versions of transactions that a request speaks (`transaction.version`)."""

Results = list[AddPartitionsToTxnTopicResult]


class _Named(NamedTuple):
    """The partitions that a request names."""

    partitions: Partitions
    """All of them, if they exist."""
    unknown: Mapping[TopicPartition, ErrorCode]
    """Those that do not exist, with their error: where there is one, none is added."""


class _Outcome(NamedTuple):
    """What became of the partitions of a transaction."""

    common: ErrorCode
    """Of all that are not told apart."""
    codes: Mapping[TopicPartition, ErrorCode] = MappingProxyType({})

    def for_version(self, version: int) -> _Outcome:
        """Return it with errors that the version knows."""
        return self._replace(common=_code_for_version(self.common, version))


class TransactionHandlers:
    """Answers producers, and brokers that ask for them."""

    def __init__(self, coordinator: TransactionCoordinator, groups: GroupCoordinator, metadata: MetadataImages) -> None:
        self._coordinator = coordinator
        self._groups = groups
        self._metadata = metadata

    # partitions

    def add_partitions_to_txn(
        self, context: RequestContext, request: AddPartitionsToTxnRequest
    ) -> AddPartitionsToTxnResponse | Deferred[AddPartitionsToTxnResponse]:
        """Answer AddPartitionsToTxn."""
        version = context.api_version
        if version >= _FIRST_OF_BROKERS:
            results = gather([self._of_broker(one) for one in request.transactions])
            return then(results, lambda found: AddPartitionsToTxnResponse(results_by_transaction=found))
        topics = request.v3_and_below_topics
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=topics,
        )
        results_of_topics = and_then(
            self._add(transaction, _WITHOUT_BUMPS),
            lambda outcome: self._results(topics, outcome.for_version(version)),
        )
        return then(results_of_topics, lambda found: AddPartitionsToTxnResponse(results_by_topic_v3_and_below=found))

    def _of_broker(
        self, transaction: AddPartitionsToTxnTransaction
    ) -> AddPartitionsToTxnResult | Deferred[AddPartitionsToTxnResult]:
        outcome = self._verify(transaction) if transaction.verify_only else self._add(transaction, _WITH_BUMPS)
        results = and_then(outcome, partial(self._results, transaction.topics))
        transactional_id = transaction.transactional_id
        return then(
            results, lambda found: AddPartitionsToTxnResult(transactional_id=transactional_id, topic_results=found)
        )

    def _add(self, asked: AddPartitionsToTxnTransaction, version: int) -> _Outcome | Deferred[_Outcome]:
        def add(named: _Named) -> _Outcome | Deferred[_Outcome]:
            if named.unknown:
                return _Outcome(ErrorCode.OPERATION_NOT_ATTEMPTED, named.unknown)
            producer = Producer(asked.producer_id, asked.producer_epoch)
            return then(self._coordinator.add(asked.transactional_id, producer, named.partitions, version), _Outcome)

        return and_then(self._named(asked.topics), add)

    def _verify(self, asked: AddPartitionsToTxnTransaction) -> _Outcome | Deferred[_Outcome]:
        def verify(named: _Named) -> _Outcome | Deferred[_Outcome]:
            if named.unknown:
                return _Outcome(ErrorCode.OPERATION_NOT_ATTEMPTED, named.unknown)
            return self._coordinator.background.result_of(_count(asked.topics), self._verdicts(asked, named.partitions))

        return and_then(self._named(asked.topics), verify)

    def _verdicts(self, asked: AddPartitionsToTxnTransaction, partitions: Partitions) -> Slices[_Outcome]:
        codes: dict[TopicPartition, ErrorCode] = {}
        for some in in_slices(partitions):
            codes |= self._coordinator.verify_partitions(
                asked.transactional_id, asked.producer_id, asked.producer_epoch, list(map(TopicPartition._make, some))
            )
            yield
        return _Outcome(ErrorCode.NONE, codes)

    def _named(self, topics: Sequence[AddPartitionsToTxnTopic]) -> _Named | Deferred[_Named]:
        """Return what a request names; in slices where that is much."""

        def slices() -> Slices[_Named]:
            image = self._metadata.image
            partitions: dict[str, set[int]] = {}
            unknown: dict[TopicPartition, ErrorCode] = {}
            for number, topic in enumerate(topics):
                name, indexes = topic.name, topic.partitions
                known = image.topic(name)
                count = 0 if known is None else len(known.partitions)
                for start in range(0, len(indexes), PER_SLICE):
                    some = indexes[start : start + PER_SLICE]
                    partitions.setdefault(name, set()).update(some)
                    if min(some) < 0 or max(some) >= count:
                        for index in some:
                            if not 0 <= index < count:
                                unknown[TopicPartition(name, index)] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    if len(some) == PER_SLICE:
                        yield
                if number % PER_SLICE == PER_SLICE - 1:
                    yield
            if unknown:
                return _Named({}, unknown)
            return _Named({name: frozenset(indexes) for name, indexes in partitions.items()}, unknown)

        return self._coordinator.background.result_of(_count(topics), slices())

    def _results(self, topics: Sequence[AddPartitionsToTxnTopic], outcome: _Outcome) -> Results | Deferred[Results]:
        """Return what became of each partition, in the order of the request; in slices where they are many.

        Where they are told apart, each is named once, as by Kafka.
        """

        common, codes = outcome

        def slices() -> Slices[Results]:
            results = []
            done = 0
            for topic in topics:
                found: list[AddPartitionsToTxnPartitionResult] = []
                for index in dict.fromkeys(topic.partitions) if codes else topic.partitions:
                    code = codes.get(TopicPartition(topic.name, index), common) if codes else common
                    found.append(AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code))
                    done += 1
                    if done % PER_SLICE == 0:
                        yield
                done += 1
                if done % PER_SLICE == 0:
                    yield
                results.append(AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=found))
            return results

        return self._coordinator.background.result_of(_count(topics), slices())

    # offsets

    def add_offsets_to_txn(
        self, context: RequestContext, request: AddOffsetsToTxnRequest
    ) -> AddOffsetsToTxnResponse | Deferred[AddOffsetsToTxnResponse]:
        """Answer AddOffsetsToTxn: the group's partition of `__consumer_offsets` takes part."""

        def add(unavailable: KafkaError | None) -> ErrorCode | Deferred[ErrorCode]:
            if unavailable is not None:
                return unavailable.code
            held = {OFFSETS_TOPIC: frozenset({self._groups.partition_of(request.group_id)})}
            producer = Producer(request.producer_id, request.producer_epoch)
            return self._coordinator.add(request.transactional_id, producer, held, _WITHOUT_BUMPS)

        outcome = and_then(self._groups.prepare(), add)
        return then(
            outcome, lambda code: AddOffsetsToTxnResponse(error_code=_code_for_version(code, context.api_version))
        )

    # the end

    def end_txn(self, context: RequestContext, request: EndTxnRequest) -> EndTxnResponse | Deferred[EndTxnResponse]:
        """Answer EndTxn."""
        version = context.api_version
        outcome = self._coordinator.end_transaction(
            request.transactional_id,
            Producer(request.producer_id, request.producer_epoch),
            request.committed,
            _WITH_BUMPS if version >= _FIRST_WITH_BUMPS else _WITHOUT_BUMPS,
        )

        def answer(result: ProducerResult) -> EndTxnResponse:
            if result.error is not ErrorCode.NONE:
                return EndTxnResponse(error_code=_code_for_version(result.error, version))
            return EndTxnResponse(producer_id=result.producer_id, producer_epoch=result.producer_epoch)

        return then(outcome, answer)


def _count(topics: Sequence[AddPartitionsToTxnTopic]) -> int:
    return sum([1 + len(topic.partitions) for topic in topics])


def _code_for_version(code: ErrorCode, version: int) -> ErrorCode:
    is_old = code is ErrorCode.PRODUCER_FENCED and version < _FIRST_WITH_FENCED
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_old else code
