"""Requests of transactions made by hand are what the broker reads, and of its answers the right thing is read."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

import pytest

from benchmarks import records, wire
from benchmarks import transaction_wire as messages
from benchmarks.transaction_wire import Producer, TransactionalProduce
from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from odradek.protocol.messages.describe_transactions import (
    DescribedTransactionState,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    DescribeTransactionsTopic,
)
from odradek.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from odradek.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.protocol.messages.list_transactions import (
    ListedTransactionState,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from odradek.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.protocol.records.batch import read_header

_PRODUCER = Producer(70_000, 7)

M = TypeVar("M", bound=Message)


def _read(request: bytes | bytearray, kind: type[M]) -> tuple[M, int]:
    """Return the message of a request that holds nothing else, and its version."""
    size, _key, version, _correlation, client = struct.unpack_from(">ihhih", request)
    assert size == len(request) - 4
    message, end = decode(kind, bytes(request), version, 14 + client + 1)
    assert end == len(request)
    return message, version


def _answer(message: Message, version: int) -> memoryview:
    return memoryview(bytes(5) + encode(message, version))


def test_requests_without_records_are_read_as_they_were_meant() -> None:
    assert _read(messages.find_coordinator("a"), FindCoordinatorRequest)[0].key_type == 1
    begun, version = _read(messages.init_producer_id("a", 5000), InitProducerIdRequest)
    assert (begun, version) == (InitProducerIdRequest(transactional_id="a", transaction_timeout_ms=5000), 4)
    added, version = _read(messages.add_partitions("a", _PRODUCER, "topic", range(3)), AddPartitionsToTxnRequest)
    [topic] = added.v3_and_below_topics
    assert (version, added.v3_and_below_transactional_id, topic.name, topic.partitions) == (3, "a", "topic", [0, 1, 2])
    assert (added.v3_and_below_producer_id, added.v3_and_below_producer_epoch) == _PRODUCER
    for implicit, expected in ((True, 5), (False, 4)):
        ended, version = _read(messages.end("a", _PRODUCER, implicit=implicit), EndTxnRequest)
        assert version == expected
        assert ended == EndTxnRequest(transactional_id="a", producer_id=70_000, producer_epoch=7, committed=True)
    assert _read(messages.describe(["a", "b"]), DescribeTransactionsRequest)[0].transactional_ids == ["a", "b"]
    listed, _version = _read(messages.list_transactions("Empty"), ListTransactionsRequest)
    assert (listed.state_filters, listed.producer_id_filters) == (["Empty"], [])


@pytest.mark.parametrize("implicit", [True, False])
def test_the_batches_of_a_produce_request_name_their_producer_and_have_the_right_checksum(implicit: bool) -> None:
    batch = records.build_batch([b"value", b"other"], 1000)
    produce = TransactionalProduce("a", "topic", [(0, batch), (3, batch)], implicit=implicit)
    produce.request(Producer(1, 1), 0)
    read, version = _read(produce.request(_PRODUCER, 40), ProduceRequest)
    assert (version, read.transactional_id, read.acks) == (12 if implicit else 11, "a", -1)
    [topic] = read.topic_data
    assert (topic.name, [one.index for one in topic.partition_data]) == ("topic", [0, 3])
    for one in topic.partition_data:
        assert one.records is not None
        header = read_header(one.records)
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (70_000, 7, 40)
        assert header.is_transactional
        sealed = bytearray(one.records)
        records.seal(sealed)
        assert sealed == bytes(one.records)


def _added(code: int) -> memoryview:
    results = [AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=each) for each in (0, code)]
    topic = AddPartitionsToTxnTopicResult(name="topic", results_by_partition=results)
    return _answer(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[topic]), 3)


def _produced(code: int) -> memoryview:
    responses = [PartitionProduceResponse(index=index, error_code=each) for index, each in enumerate((0, code))]
    return _answer(ProduceResponse(responses=[TopicProduceResponse(name="topic", partition_responses=responses)]), 12)


@pytest.mark.parametrize(
    ("answer", "error_of"),
    [
        (lambda code: _answer(InitProducerIdResponse(error_code=code), 4), messages.coordinator_error),
        (lambda code: _answer(EndTxnResponse(error_code=code), 5), messages.coordinator_error),
        (_added, messages.added_error),
        (_produced, messages.produced_error),
    ],
)
def test_the_error_of_an_answer_is_found(
    answer: Callable[[int], memoryview], error_of: Callable[[memoryview], int]
) -> None:
    assert [error_of(answer(code)) for code in (0, 51)] == [0, 51]


@pytest.mark.parametrize(("codes", "errors"), [([0, 0], set()), ([105, 0, 14, 105], {105, 14})])
def test_all_errors_of_described_transactions_are_found(codes: list[int], errors: set[int]) -> None:
    topic = DescribeTransactionsTopic(topic="topic", partitions=[1, 2])
    states = [
        DescribedTransactionState(
            transactional_id=str(place),
            transaction_state="" if code else "Ongoing",
            error_code=code,
            topics=[] if code else [topic, topic],
        )
        for place, code in enumerate(codes)
    ]
    assert messages.described_errors(_answer(DescribeTransactionsResponse(transaction_states=states), 0)) == errors


def test_the_producer_of_the_next_transaction_is_read() -> None:
    assert messages.producer_of(_answer(EndTxnResponse(producer_id=70_000, producer_epoch=7), 5)) == _PRODUCER


def test_listed_transactions_are_counted_and_errors_are_raised() -> None:
    states = [ListedTransactionState(transactional_id=str(number)) for number in range(300)]
    assert messages.listed_count(_answer(ListTransactionsResponse(transaction_states=states), 0)) == 300
    with pytest.raises(wire.WireError, match="14"):
        messages.listed_count(_answer(ListTransactionsResponse(error_code=14), 0))
    with pytest.raises(wire.WireError, match="unknown"):
        messages.listed_count(_answer(ListTransactionsResponse(unknown_state_filters=["Empty"]), 0))


@pytest.mark.parametrize("message", [None, "", "NONE", "x" * 200])
def test_where_the_coordinator_is(message: str | None) -> None:
    """Behind a message of any length."""
    answer = FindCoordinatorResponse(error_message=message, node_id=3, host="there", port=9092)
    assert messages.coordinator_of(_answer(answer, 3)) == 3
