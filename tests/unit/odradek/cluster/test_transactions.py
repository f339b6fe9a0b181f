"""What is asked of the coordinators of transactions, and what becomes of their answers."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from odradek.cluster import transactions
from odradek.cluster.broker_requests import BrokerRequests
from odradek.cluster.transactions import (
    ListedTransaction,
    Successor,
    TransactionDescription,
    TransactionSelection,
    describe_transactions,
    force_terminate,
    list_transactions,
)
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.describe_transactions import (
    DescribedTransactionState,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    DescribeTransactionsTopic,
)
from odradek.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.protocol.messages.list_transactions import (
    ListedTransactionState,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from odradek.protocol.registry import ApiKey
from odradek.terminal.errors import CommandError, WrongUsageError
from tests.support.scripted_broker import ScriptedBroker

SERVED = {
    ApiKey.FIND_COORDINATOR: (0, 6),
    ApiKey.INIT_PRODUCER_ID: (0, 5),
    ApiKey.DESCRIBE_TRANSACTIONS: (0, 0),
    ApiKey.LIST_TRANSACTIONS: (0, 2),
}
Script = Callable[[Message], Message | None]


@contextmanager
def coordinator(script: Script, list_version: int = 2) -> Iterator[tuple[ScriptedBroker, BrokerRequests]]:
    """A broker, number 5, that is found as the coordinator of all ids and answers everything else from a script."""

    def answer(request: Message) -> Message | None:
        if not isinstance(request, FindCoordinatorRequest):
            return script(request)
        assert request.key_type == 1
        host, port = broker.address
        found = [Coordinator(key=each, node_id=5, host=host, port=port) for each in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=found)

    with (
        ScriptedBroker({**SERVED, ApiKey.LIST_TRANSACTIONS: (0, list_version)}, answer) as broker,
        closing(BrokerRequests({}, lambda: [broker.address], timeout_s=5)) as requests,
    ):
        yield broker, requests


def _listed(*ids: str) -> ListTransactionsResponse:
    states = [ListedTransactionState(transactional_id=each, producer_id=7, transaction_state="Ongoing") for each in ids]
    return ListTransactionsResponse(transaction_states=states)


def test_all_brokers_are_listed() -> None:
    """In the order of their ids, with the filters handed on."""
    with coordinator(lambda _: _listed("b")) as (one, requests), coordinator(lambda _: _listed("a")) as (two, _):
        only = TransactionSelection(["Ongoing"], [7], 5_000, "[ab]")
        found = list_transactions(requests, {1: one.address, 2: two.address}, only)
    assert found == [ListedTransaction("a", 2, 7, "Ongoing"), ListedTransaction("b", 1, 7, "Ongoing")]
    asked = ListTransactionsRequest(
        state_filters=["Ongoing"], producer_id_filters=[7], duration_filter=5_000, transactional_id_pattern="[ab]"
    )
    assert [one.asked, two.asked] == [[(2, asked)]] * 2


def test_a_list_that_is_not_whole_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that does not answer, or that still reads what it coordinates, is named."""
    with (
        coordinator(lambda _: None) as (broker, requests),
        pytest.raises(CommandError, match=r"the transactions of broker 3: .*lost"),
    ):
        list_transactions(requests, {3: broker.address})
    monkeypatch.setattr(transactions, "ANSWER_TIMEOUT_S", 0)
    loading = ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    with (
        coordinator(lambda _: loading) as (broker, requests),
        pytest.raises(CommandError, match=r"broker 3: COORDINATOR_LOAD_IN_PROGRESS .*__transaction_state"),
    ):
        list_transactions(requests, {3: broker.address})


def test_a_coordinator_that_loads_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it has loaded."""
    monkeypatch.setattr(transactions, "PAUSE_S", 0)
    loading = ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    answers = iter([loading, loading, _listed("a")])
    with coordinator(lambda _: next(answers)) as (broker, requests):
        assert [each.transactional_id for each in list_transactions(requests, {5: broker.address})] == ["a"]


def test_filters_that_are_refused() -> None:
    """A state that there is not, a pattern that is none: both are wrong arguments."""
    unknown = ListTransactionsResponse(unknown_state_filters=["Open"])
    with coordinator(lambda _: unknown) as (broker, requests), pytest.raises(WrongUsageError, match="state Open"):
        list_transactions(requests, {5: broker.address}, TransactionSelection(["Open"]))
    no_pattern = ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    with coordinator(lambda _: no_pattern) as (broker, requests), pytest.raises(WrongUsageError, match=r"'\('"):
        list_transactions(requests, {5: broker.address}, TransactionSelection(pattern="("))


@pytest.mark.parametrize(
    ("version", "only", "is_listed"),
    [
        (0, TransactionSelection(), True),
        (0, TransactionSelection(duration_ms=1), False),
        (1, TransactionSelection(duration_ms=1), True),
        (1, TransactionSelection(pattern="a"), False),
    ],
)
def test_a_filter_that_a_broker_does_not_know(version: int, only: TransactionSelection, is_listed: bool) -> None:
    """It is not left out in silence."""
    with coordinator(lambda _: _listed("a"), version) as (broker, requests):
        if is_listed:
            assert len(list_transactions(requests, {5: broker.address}, only)) == 1
        else:
            with pytest.raises(CommandError, match=f"broker 5 cannot choose .* ends at version {version}"):
                list_transactions(requests, {5: broker.address}, only)


def test_description(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions in order; an id that does not exist is None; what its coordinator is about to load is asked again."""
    monkeypatch.setattr(transactions, "PAUSE_S", 0)
    told = DescribedTransactionState(
        transactional_id="a",
        transaction_state="Ongoing",
        transaction_timeout_ms=60_000,
        transaction_start_time_ms=123,
        producer_id=7,
        producer_epoch=2,
        topics=[
            DescribeTransactionsTopic(topic="u", partitions=[0]),
            DescribeTransactionsTopic(topic="t", partitions=[3, 1]),
        ],
    )
    missing = DescribedTransactionState(transactional_id="b", error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    late = DescribedTransactionState(transactional_id="a", error_code=ErrorCode.NOT_COORDINATOR)
    answers = iter([[late, missing], [told]])
    with coordinator(lambda _: DescribeTransactionsResponse(transaction_states=next(answers))) as (broker, requests):
        found = describe_transactions(requests, ["a", "b"])
        asked = [each for _, each in broker.asked if isinstance(each, DescribeTransactionsRequest)]
    described = TransactionDescription("a", 5, 7, 2, "Ongoing", 60_000, 123, [("t", 1), ("t", 3), ("u", 0)])
    assert found == {"a": described, "b": None}
    assert [each.transactional_ids for each in asked] == [["a", "b"], ["a"]]


def test_nothing_is_asked_of_nobody() -> None:
    """No ids, no request: it would make a topic."""
    with coordinator(lambda _: None) as (broker, requests):
        assert describe_transactions(requests, []) == {}
        assert broker.asked == []


def test_termination_waits_for_the_abort(monkeypatch: pytest.MonkeyPatch) -> None:
    """The coordinator says CONCURRENT_TRANSACTIONS until the markers are written; the id keeps its timeout."""
    monkeypatch.setattr(transactions, "PAUSE_S", 0)
    answers = iter(
        [
            InitProducerIdResponse(error_code=ErrorCode.CONCURRENT_TRANSACTIONS),
            InitProducerIdResponse(producer_id=7, producer_epoch=4),
        ]
    )
    transaction = TransactionDescription("a", 5, 7, 2, "Ongoing", 90_000, 123, [("t", 1)])
    with coordinator(lambda _: next(answers)) as (broker, requests):
        assert force_terminate(requests, transaction) == Successor(7, 4)
        asked = [each for _, each in broker.asked if isinstance(each, InitProducerIdRequest)]
    assert asked == [InitProducerIdRequest(transactional_id="a", transaction_timeout_ms=90_000)] * 2


def test_termination_that_is_refused() -> None:
    """One sentence that names the id."""
    refused = InitProducerIdResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    transaction = TransactionDescription("a", 5, 7, 2, "Empty", 90_000, None, [])
    with (
        coordinator(lambda _: refused) as (_, requests),
        pytest.raises(CommandError, match=r"transactional id a: .*authorization failed"),
    ):
        force_terminate(requests, transaction)
