"""AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, DescribeTransactions and ListTransactions, as messages.

Every error at every version is compared with Apache Kafka's over the wire (`tests/interop/differential`).
"""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from odradek.broker.runtime.deferred import Deferred
from odradek.broker.transactions.state import Producer
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from odradek.protocol.messages.describe_transactions import DescribeTransactionsRequest
from odradek.protocol.messages.end_txn import EndTxnRequest
from odradek.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from tests.support.deferred import now
from tests.unit.broker.groups.coordinator_world import Cluster
from tests.unit.broker.handlers.metadata_support import at
from tests.unit.broker.transactions.coordinator_world import RunningTransactions


@pytest.fixture
async def broker() -> AsyncIterator[RunningTransactions]:
    running = RunningTransactions(Cluster.new("t", "u"))
    yield running
    running.stop()


def by_client(producer: Producer, **topics: list[int]) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="tx",
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=name, partitions=each) for name, each in topics.items()],
    )


def by_broker(producer: Producer, verify_only: bool, **topics: list[int]) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id="tx",
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        verify_only=verify_only,
        topics=[AddPartitionsToTxnTopic(name=name, partitions=each) for name, each in topics.items()],
    )


def offsets_of(producer: Producer) -> AddOffsetsToTxnRequest:
    return AddOffsetsToTxnRequest(
        transactional_id="tx", producer_id=producer.producer_id, producer_epoch=producer.epoch, group_id="g"
    )


def commit_of(producer: Producer) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id="tx", producer_id=producer.producer_id, producer_epoch=producer.epoch, committed=True
    )


def codes(results: list[AddPartitionsToTxnTopicResult]) -> dict[str, list[tuple[int, int]]]:
    """Return the code of each partition."""
    return {
        topic.name: [(one.partition_index, one.partition_error_code) for one in topic.results_by_partition]
        for topic in results
    }


async def test_partitions_are_added_all_or_none(broker: RunningTransactions) -> None:
    """One that does not exist keeps the others out."""
    producer, handlers = broker.begin(), broker.handlers()
    told = now(handlers.add_partitions_to_txn(at(3), by_client(producer, t=[0, 9], none=[0])))
    assert codes(told.results_by_topic_v3_and_below) == {
        "t": [(0, ErrorCode.OPERATION_NOT_ATTEMPTED), (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)],
        "none": [(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)],
    }
    told = now(handlers.add_partitions_to_txn(at(3), by_client(producer, t=[0, 2], u=[1])))
    assert codes(told.results_by_topic_v3_and_below) == {"t": [(0, 0), (2, 0)], "u": [(1, 0)]}
    (described,) = now(
        broker.admin().describe_transactions(at(0), DescribeTransactionsRequest(transactional_ids=["tx"]))
    ).transaction_states
    assert described.transaction_state == "Ongoing"
    assert {topic.topic: topic.partitions for topic in described.topics} == {"t": [0, 2], "u": [1]}


@pytest.mark.parametrize(("version", "code"), [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)])
async def test_who_is_fenced_is_told_in_the_words_of_the_version(
    broker: RunningTransactions, version: int, code: ErrorCode
) -> None:
    """PRODUCER_FENCED came with version 2 of each."""
    handlers = broker.handlers()
    zombie = Producer(broker.begin().producer_id, 7)
    told = now(handlers.add_partitions_to_txn(at(version), by_client(zombie, t=[0])))
    assert codes(told.results_by_topic_v3_and_below) == {"t": [(0, code)]}
    offsets = offsets_of(zombie)
    assert now(handlers.add_offsets_to_txn(at(version), offsets)).error_code == code
    end = commit_of(zombie)
    assert now(handlers.end_txn(at(version), end)).error_code == code


async def test_brokers_ask_for_many_transactions_at_once(broker: RunningTransactions) -> None:
    """Whether they have the partitions, or to add them; each transaction has an answer of its own."""
    producer, handlers = broker.begin(), broker.handlers()
    request = AddPartitionsToTxnRequest(
        transactions=[
            by_broker(producer, False, t=[0]),
            by_broker(producer, True, t=[0, 1]),
            by_broker(Producer(producer.producer_id, 7), True, t=[1]),
        ]
    )
    told = now(handlers.add_partitions_to_txn(at(5), request))
    assert isinstance(told, AddPartitionsToTxnResponse)
    assert [codes(one.topic_results) for one in told.results_by_transaction] == [
        {"t": [(0, ErrorCode.NONE)]},
        {"t": [(0, ErrorCode.NONE), (1, ErrorCode.TRANSACTION_ABORTABLE)]},
        {"t": [(1, ErrorCode.PRODUCER_FENCED)]},
    ]


async def test_offsets_of_a_group_make_its_partition_part_of_the_transaction(broker: RunningTransactions) -> None:
    """The topic of the offsets is made if there is none yet, and gets the marker at the end."""
    producer, handlers = broker.begin(), broker.handlers()
    told = now(handlers.add_offsets_to_txn(at(3), offsets_of(producer)))
    assert told.error_code == ErrorCode.NONE
    known = broker.coordinator.describe("tx")
    assert known is not None
    assert list(known.partitions) == ["__consumer_offsets"]
    ended = now(handlers.end_txn(at(5), commit_of(producer)))
    assert (ended.error_code, ended.producer_id, ended.producer_epoch) == (0, producer.producer_id, 1)
    await asyncio.sleep(0)  # markers are written in the next turn of the loop
    ends = [broker.partitions.get("__consumer_offsets", index).log.log_end_offset for index in range(3)]
    assert sorted(ends) == [0, 0, 1]


async def test_very_many_partitions_have_an_answer_each(broker: RunningTransactions) -> None:
    """Made in slices: others have their turn in between."""
    producer, handlers, many = broker.begin(), broker.handlers(), list(range(250_000))
    for is_verified in (None, True, False):
        began = time.thread_time()
        if is_verified is None:
            outcome = handlers.add_partitions_to_txn(at(3), by_client(producer, t=many))
        else:
            request = AddPartitionsToTxnRequest(transactions=[by_broker(producer, is_verified, t=many)])
            outcome = handlers.add_partitions_to_txn(at(5), request)
        assert time.thread_time() - began < 0.05, "it would take 0.3 s in one go"
        assert isinstance(outcome, Deferred)
        told = await asyncio.wait_for(outcome, 30)
        transaction = told.results_by_transaction
        (topic,) = transaction[0].topic_results if transaction else told.results_by_topic_v3_and_below
        assert len(topic.results_by_partition) == len(many)
        assert topic.results_by_partition[3].partition_error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def listed(told: ListTransactionsResponse) -> set[str]:
    """Return the ids that are listed."""
    assert told.error_code == ErrorCode.NONE
    return {one.transactional_id for one in told.transaction_states}


async def test_transactions_are_listed_as_they_are_asked_for(broker: RunningTransactions) -> None:
    """By state, producer, age and name; what is no state is said to be none."""
    handlers, admin = broker.handlers(), broker.admin()
    producer = broker.begin()
    now(handlers.add_partitions_to_txn(at(3), by_client(producer, t=[0])))
    other = broker.begin("other")
    broker.cluster.clock.advance(10)

    def ask(**fields: object) -> ListTransactionsResponse:
        request = ListTransactionsRequest()
        for name, value in fields.items():
            setattr(request, name, value)
        return now(admin.list_transactions(at(2), request))

    assert listed(ask()) == {"tx", "other"}
    assert listed(ask(state_filters=["Ongoing"])) == {"tx"}
    odd = ask(state_filters=["Ongoing", "Odd", "Odd"])
    assert (listed(odd), odd.unknown_state_filters) == ({"tx"}, ["Odd"])
    assert listed(ask(producer_id_filters=[other.producer_id, 77])) == {"other"}
    assert listed(ask(duration_filter=9_999, state_filters=["Ongoing"])) == {"tx"}
    assert listed(ask(duration_filter=10_000, state_filters=["Ongoing"])) == set()
    assert listed(ask(transactional_id_pattern="o.*")) == {"other"}
    assert listed(ask(transactional_id_pattern="o")) == set()
    assert ask(transactional_id_pattern="(").error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


async def test_very_many_transactions_are_listed_in_slices(broker: RunningTransactions) -> None:
    """Also with an expression that each name has to be matched with."""
    for number in range(1000):
        broker.begin(f"tx-{number}")
    outcome = broker.admin().list_transactions(at(2), ListTransactionsRequest(transactional_id_pattern="tx-[0-4].*"))
    assert isinstance(outcome, Deferred)
    told = await asyncio.wait_for(outcome, 10)
    assert len(listed(told)) == sum(f"{number}"[0] in "01234" for number in range(1000))


async def test_what_cannot_be_described(broker: RunningTransactions) -> None:
    """Ids that are none, and that nobody has used; one that comes twice is answered once."""
    broker.begin()
    request = DescribeTransactionsRequest(transactional_ids=["tx", "", "none", "tx"])
    told = now(broker.admin().describe_transactions(at(0), request))
    assert [(one.transactional_id, one.error_code, one.transaction_state) for one in told.transaction_states] == [
        ("tx", ErrorCode.NONE, "Empty"),
        ("", ErrorCode.INVALID_REQUEST, ""),
        ("none", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, ""),
    ]


async def test_a_coordinator_that_still_loads_does_not_list_half(
    broker: RunningTransactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client asks again."""
    monkeypatch.setattr(broker.coordinator, "shards", lambda: ([], False))
    told = now(broker.admin().list_transactions(at(0), ListTransactionsRequest()))
    assert told.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
