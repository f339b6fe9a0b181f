"""Asking coordinators of transactions: whom, how often, and what their answers mean."""

import pytest

from odradek.broker.nodes.requests import Disconnected
from odradek.broker.transactions.verification import Operation, Question, of_commit, of_produce
from odradek.protocol.codec import decode, encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from odradek.storage.names import TopicPartition
from tests.unit.broker.transactions.coordinators import ELSEWHERE, ScriptedBrokers, ScriptedCoordinator, told, verifier

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
NONE = ErrorCode.NONE


def question(name: str = "tx", operation: Operation = Operation.VERIFY, *partitions: TopicPartition) -> Question:
    return Question(name, 7, 3, partitions or (T0, T1, U0), operation)


def answer(
    name: str, codes: dict[TopicPartition, int], error: ErrorCode = NONE, *more: AddPartitionsToTxnResult
) -> AddPartitionsToTxnResponse:
    """Return what a broker answers, as it comes over the wire."""
    topics: dict[str, list[AddPartitionsToTxnPartitionResult]] = {}
    for (topic, index), code in codes.items():
        result = AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
        topics.setdefault(topic, []).append(result)
    results = [AddPartitionsToTxnTopicResult(name=each, results_by_partition=found) for each, found in topics.items()]
    only = AddPartitionsToTxnResult(transactional_id=name, topic_results=results)
    response = AddPartitionsToTxnResponse(error_code=error, results_by_transaction=[only, *more])
    return decode(AddPartitionsToTxnResponse, encode(response, 5), 5)[0]


def test_versions_say_what_is_asked() -> None:
    """Of Produce and TxnOffsetCommit."""
    old, new, adds = Operation.VERIFY, Operation.VERIFY_OR_ABORT, Operation.ADD
    assert [of_produce(version) for version in (3, 10, 11, 12, 13)] == [old, old, new, adds, adds]
    assert [of_commit(version) for version in (0, 3, 4, 5)] == [old, old, new, adds]


def test_nobody_coordinates() -> None:
    """The producer tries again."""
    coordinator = ScriptedCoordinator(leader=-1)
    assert told(verifier(coordinator).ask(question())) == [
        dict.fromkeys((T0, T1, U0), ErrorCode.COORDINATOR_NOT_AVAILABLE)
    ]
    assert coordinator.calls == []


def test_the_coordinator_of_this_broker_is_asked_directly() -> None:
    """Whether the partitions are in the transaction, or to add them."""
    coordinator = ScriptedCoordinator(verdicts={T0: NONE, T1: ErrorCode.TRANSACTION_ABORTABLE, U0: NONE})
    assert told(verifier(coordinator).ask(question())) == [{T1: ErrorCode.INVALID_TXN_STATE}]
    newer = question(operation=Operation.VERIFY_OR_ABORT)
    assert told(verifier(coordinator).ask(newer)) == [{T1: ErrorCode.TRANSACTION_ABORTABLE}]
    assert told(verifier(coordinator).ask(question("tx", Operation.ADD, T0))) == [{}]
    assert coordinator.calls == [
        ("verify", "tx", 7, 3, (T0, T1, U0)),
        ("verify", "tx", 7, 3, (T0, T1, U0)),
        ("add", "tx", 7, 3, (T0,)),
    ]


@pytest.mark.parametrize("operation", Operation)
def test_a_fenced_producer_is_told_as_it_knows_it(operation: Operation) -> None:
    """INVALID_PRODUCER_EPOCH is what Produce has for it."""
    coordinator = ScriptedCoordinator(code=ErrorCode.PRODUCER_FENCED)
    refused = dict.fromkeys((T0, T1, U0), ErrorCode.INVALID_PRODUCER_EPOCH)
    assert told(verifier(coordinator).ask(question(operation=operation))) == [refused]


def test_one_request_at_a_time_goes_to_another_broker() -> None:
    """What is asked meanwhile goes with the next one, each transaction once."""
    brokers = ScriptedBrokers()
    asking = verifier(ScriptedCoordinator(leader=ELSEWHERE), brokers)
    first = told(asking.ask(question("a", Operation.ADD)))
    others = [told(asking.ask(question(name, Operation.VERIFY, T0))) for name in ("b", "c", "b")]
    [(node, request, first_answer)] = brokers.sent
    assert node == ELSEWHERE
    over_wire = decode(AddPartitionsToTxnRequest, encode(request, 5), 5)[0]
    [only] = over_wire.transactions
    assert (only.transactional_id, only.producer_id, only.producer_epoch, only.verify_only) == ("a", 7, 3, False)
    assert [(topic.name, topic.partitions) for topic in only.topics] == [("t", [0, 1]), ("u", [0])]
    first_answer.resolve(answer("a", {T0: 0, T1: ErrorCode.PRODUCER_FENCED, U0: 0}))
    assert first == [{T1: ErrorCode.INVALID_PRODUCER_EPOCH}]
    assert others == [[], [], []]
    request, second_answer = brokers.sent[1][1:]
    assert [(each.transactional_id, each.verify_only) for each in request.transactions] == [("b", True), ("c", True)]
    c = answer("c", {T0: ErrorCode.TRANSACTION_ABORTABLE}).results_by_transaction[0]
    second_answer.resolve(answer("b", {T0: 0}, NONE, c))
    assert others == [[{}], [{T0: ErrorCode.INVALID_TXN_STATE}], []]
    brokers.sent[2][2].resolve(answer("b", {T0: 0}))
    assert others[2] == [{}]
    assert len(brokers.sent) == 3


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (Disconnected("gone"), ErrorCode.NETWORK_EXCEPTION),
        (Disconnected("old", is_unsupported=True), None),
        (answer("tx", {}, ErrorCode.CLUSTER_AUTHORIZATION_FAILED), ErrorCode.INVALID_TXN_STATE),
        (answer("tx", {}, ErrorCode.UNKNOWN_SERVER_ERROR), ErrorCode.UNKNOWN_SERVER_ERROR),
        (answer("other", {T0: 0, T1: 0, U0: 0}), ErrorCode.NETWORK_EXCEPTION),
        (answer("tx", dict.fromkeys((T0, T1, U0), 31_000)), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_answers_that_are_none(response: AddPartitionsToTxnResponse | Disconnected, code: ErrorCode | None) -> None:
    """Each one who asks is told something; a coordinator that cannot be asked does not stop anybody, as in Kafka."""
    brokers = ScriptedBrokers()
    found = told(verifier(ScriptedCoordinator(leader=ELSEWHERE), brokers).ask(question()))
    brokers.sent[0][2].resolve(response)
    assert found == [{} if code is None else dict.fromkeys((T0, T1, U0), code)]
