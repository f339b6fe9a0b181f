"""Asking the coordinator of a transaction whether a partition is part of it, before the first batch is written there.

Owns: whom to ask, one request at a time for each other broker (what comes meanwhile goes with the next one), and what
answers mean. A coordinator on this broker is asked directly. Where the producer speaks transactions version 2, asking
adds the partition. Must not know: batches, what producers are told. Follows KIP-890 and Kafka's
`AddPartitionsToTxnManager`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Final, NamedTuple, Protocol

from odradek.broker.metadata.image import NO_LEADER
from odradek.broker.nodes.broker_channels import RequestsToBrokers
from odradek.broker.nodes.requests import Disconnected
from odradek.broker.runtime.deferred import Deferred, then
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode, KafkaError, error_name
from odradek.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.storage.names import TopicPartition

log = get_logger("transactions")

_ADDING_VERSION: Final = 2
"""The version of transactions in which partitions are added by asking."""

_FIRST_PRODUCE_THAT_ADDS: Final = 12
_FIRST_PRODUCE_WITH_ABORTABLE: Final = 11
_FIRST_COMMIT_THAT_ADDS: Final = 5
_FIRST_COMMIT_WITH_ABORTABLE: Final = 4

Refused = Mapping[TopicPartition, ErrorCode]
"""The partitions that nothing may be written to, and why; empty where all is well."""


class Operation(Enum):
    """What the version of a producer's request makes of the question."""

    VERIFY = "errors as producers have always known them"
    VERIFY_OR_ABORT = "TRANSACTION_ABORTABLE may be answered"
    ADD = "the partitions are added to the transaction"


def of_produce(version: int) -> Operation:
    """Return what is asked for a Produce request of a version."""
    if version >= _FIRST_PRODUCE_THAT_ADDS:
        return Operation.ADD
    return Operation.VERIFY_OR_ABORT if version >= _FIRST_PRODUCE_WITH_ABORTABLE else Operation.VERIFY


def of_commit(version: int) -> Operation:
    """Return what is asked for a TxnOffsetCommit request of a version."""
    if version >= _FIRST_COMMIT_THAT_ADDS:
        return Operation.ADD
    return Operation.VERIFY_OR_ABORT if version >= _FIRST_COMMIT_WITH_ABORTABLE else Operation.VERIFY


class Question(NamedTuple):
    """What a coordinator is asked about one transaction."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: Sequence[TopicPartition]
    operation: Operation

    def refused(self, code: ErrorCode) -> Refused:
        """Return the same error for every partition."""
        return dict.fromkeys(self.partitions, code)


Verdicts = Mapping[TopicPartition, ErrorCode]


class Coordinator(Protocol):
    """What coordinates the transactions whose partition of `__transaction_state` this broker leads."""

    def leader_for(self, transactional_id: str) -> int:
        """Return the broker that coordinates an id, -1 for nobody."""

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        version: int,
    ) -> ErrorCode | Deferred[ErrorCode]:
        """Make partitions part of the transaction; return how that went once it is safe."""

    def verify_partitions(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Sequence[TopicPartition]
    ) -> Verdicts | Deferred[Verdicts]:
        """Return for each partition NONE if it is part of the transaction, and why not otherwise."""


class _Asked(NamedTuple):
    question: Question
    answer: Deferred[Refused]


class _Node:
    """What another broker is to be asked."""

    __slots__ = ("is_asked", "waiting")

    def __init__(self) -> None:
        self.is_asked = False
        self.waiting: list[_Asked] = []


class TransactionVerifier:
    """Puts questions to coordinators, here and elsewhere."""

    def __init__(self, node_id: int, coordinator: Coordinator, brokers: RequestsToBrokers, timeout_ms: int) -> None:
        """`coordinator` is the one of this broker; another one may take `timeout_ms` to answer (request.timeout.ms)."""
        self._node_id = node_id
        self._coordinator = coordinator
        self._brokers = brokers
        self._timeout_s = timeout_ms / 1000
        self._nodes: dict[int, _Node] = {}

    def ask(self, question: Question) -> Refused | Deferred[Refused]:
        """Return the partitions that may not be written to.

        Besides the coordinator's own errors: COORDINATOR_NOT_AVAILABLE where nobody coordinates at present,
        NETWORK_EXCEPTION where the coordinator did not answer. PRODUCER_FENCED comes as INVALID_PRODUCER_EPOCH, and
        TRANSACTION_ABORTABLE as INVALID_TXN_STATE to those who do not know it.
        """
        leader = self._coordinator.leader_for(question.transactional_id)
        if leader == NO_LEADER:
            return question.refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if leader == self._node_id:
            return self._ask_here(question)
        node = self._nodes.setdefault(leader, _Node())
        answer: Deferred[Refused] = Deferred()
        node.waiting.append(_Asked(question, answer))
        if not node.is_asked:
            self._ask_node(leader, node)
        return answer

    def _ask_here(self, question: Question) -> Refused | Deferred[Refused]:
        transactional_id, producer_id, epoch, partitions, operation = question
        coordinator = self._coordinator
        try:
            if operation is Operation.ADD:
                added = coordinator.add_partitions(transactional_id, producer_id, epoch, partitions, _ADDING_VERSION)
                return then(added, lambda code: _failures(question, dict.fromkeys(partitions, code)))
            verdicts = coordinator.verify_partitions(transactional_id, producer_id, epoch, partitions)
        except KafkaError as refused:
            return question.refused(refused.code)
        return then(verdicts, partial(_failures, question))

    def _ask_node(self, node_id: int, node: _Node) -> None:
        """Send what waits, each transaction once: what else is asked about one goes with the next request."""
        asked: dict[str, _Asked] = {}
        left: list[_Asked] = []
        for each in node.waiting:
            if asked.setdefault(each.question.transactional_id, each) is not each:
                left.append(each)
        node.waiting = left
        node.is_asked = True
        request = AddPartitionsToTxnRequest(transactions=[_transaction(each.question) for each in asked.values()])

        def arrived(response: Message | Disconnected) -> None:
            node.is_asked = False
            if node.waiting:
                self._ask_node(node_id, node)
            for each, refused in _read(node_id, asked, response):
                each.answer.resolve(refused)

        self._brokers.send(node_id, request, self._timeout_s).on_done(arrived)


def _transaction(question: Question) -> AddPartitionsToTxnTransaction:
    topics: dict[str, list[int]] = {}
    for name, index in question.partitions:
        topics.setdefault(name, []).append(index)
    return AddPartitionsToTxnTransaction(
        transactional_id=question.transactional_id,
        producer_id=question.producer_id,
        producer_epoch=question.producer_epoch,
        verify_only=question.operation is not Operation.ADD,
        topics=[AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in topics.items()],
    )


def _read(node_id: int, asked: Mapping[str, _Asked], response: Message | Disconnected) -> list[tuple[_Asked, Refused]]:
    """Return what each one who asked is told; what the answer leaves out counts as not answered."""
    if isinstance(response, Disconnected):
        if response.is_unsupported:  # Kafka before 3.5 as the coordinator cannot be asked
            log.warning("transactions are not verified: their coordinator cannot tell", node_id=node_id)
            return [(each, {}) for each in asked.values()]
        log.warning("the coordinator of transactions does not answer", node_id=node_id, reason=response.reason)
        return [(each, each.question.refused(ErrorCode.NETWORK_EXCEPTION)) for each in asked.values()]
    assert isinstance(response, AddPartitionsToTxnResponse)
    if response.error_code:
        log.error(
            "the coordinator of transactions refuses to tell", node_id=node_id, code=error_name(response.error_code)
        )
        code = _known(response.error_code)
        if code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            code = ErrorCode.INVALID_TXN_STATE  # not the producer's fault, nor anything that it can do about
        return [(each, each.question.refused(code)) for each in asked.values()]
    found = {
        result.transactional_id: {
            TopicPartition(topic.name, partition.partition_index): _known(partition.partition_error_code)
            for topic in result.topic_results
            for partition in topic.results_by_partition
        }
        for result in response.results_by_transaction
    }
    return [(each, _failures(each.question, found.get(name, {}))) for name, each in asked.items()]


def _failures(question: Question, verdicts: Verdicts) -> Refused:
    """Return what went wrong, as whoever writes is told."""
    failures: dict[TopicPartition, ErrorCode] = {}
    for partition in question.partitions:
        code = verdicts.get(partition, ErrorCode.NETWORK_EXCEPTION)
        if code is ErrorCode.PRODUCER_FENCED:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        elif code is ErrorCode.TRANSACTION_ABORTABLE and question.operation is Operation.VERIFY:
            code = ErrorCode.INVALID_TXN_STATE
        if code is not ErrorCode.NONE:
            failures[partition] = code
    return failures


def _known(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
