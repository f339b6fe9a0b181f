"""The producers of partitions, which of their transactions hang, and the marker that ends one."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from odradek.cluster import partition_producers
from odradek.cluster.broker_requests import BrokerRequests
from odradek.cluster.partition_producers import (
    PartitionProducer,
    describe_producers,
    hanging,
    open_for_longer,
    write_abort_marker,
)
from odradek.cluster.transactions import TransactionDescription
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from odradek.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.protocol.registry import ApiKey
from odradek.terminal.errors import CommandError
from tests.support.scripted_broker import ScriptedBroker

SERVED = {ApiKey.DESCRIBE_PRODUCERS: (0, 0), ApiKey.WRITE_TXN_MARKERS: (1, 2)}


@pytest.fixture
def requests() -> Iterator[BrokerRequests]:
    """Connections to brokers that the test makes."""
    with closing(BrokerRequests({}, list, timeout_s=5)) as made:
        yield made


def _producer(
    producer_id: int, *, start: int | None = 0, written: int | None = 0, number: int = 0
) -> PartitionProducer:
    return PartitionProducer("t", number, producer_id, 0, None, 0, written, start)


def _each_partition(request: Message) -> Message:
    """Answer with one producer in each partition, numbered as the partition is."""
    assert isinstance(request, DescribeProducersRequest)
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    PartitionResponse(
                        partition_index=number,
                        active_producers=[
                            ProducerState(producer_id=number, producer_epoch=1, coordinator_epoch=-1, last_sequence=4)
                        ],
                    )
                    for number in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def test_producers_of_several_brokers_in_portions(requests: BrokerRequests, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each broker is asked for its own, for a few at a time; what a partition does not know is None."""
    monkeypatch.setattr(partition_producers, "PARTITIONS_AT_ONCE", 2)
    with ScriptedBroker(SERVED, _each_partition) as one, ScriptedBroker(SERVED, _each_partition) as two:
        places = {("t", 2): 1, ("t", 1): 1, ("t", 0): 1, ("t", 3): 2}
        found = describe_producers(requests, {1: one.address, 2: two.address}, places)
    assert found == [PartitionProducer("t", number, number, 1, None, 4, None, None) for number in range(4)]
    assert (len(one.asked), len(two.asked)) == (2, 1)


def test_a_partition_that_does_not_tell(requests: BrokerRequests) -> None:
    """Its error is that of the command."""
    topic = TopicResponse(name="t", partitions=[PartitionResponse(partition_index=3, error_code=6)])
    answer = DescribeProducersResponse(topics=[topic])
    with (
        ScriptedBroker(SERVED, lambda _: answer) as broker,
        pytest.raises(CommandError, match=r"partition 3 of t: .*NOT_LEADER"),
    ):
        describe_producers(requests, {1: broker.address}, {("t", 3): 1})


def test_open_for_longer() -> None:
    """Counted from the last batch, as Kafka does; exactly as long as the limit is not longer."""
    old, young, done = _producer(1, written=89), _producer(2, written=90), _producer(3, start=None)
    unknown = _producer(4, written=None)
    assert open_for_longer([old, young, done, unknown], 100, 10) == [old, unknown]


def test_what_hangs() -> None:
    """No transactional id has the producer id, the id is gone, or its transaction does not wait for this partition."""
    waits_here = TransactionDescription("a", 1, 1, 0, "Ongoing", 1, 1, [("t", 0)])
    waits_elsewhere = TransactionDescription("b", 1, 2, 0, "PrepareAbort", 1, 1, [("t", 1), ("u", 0)])
    opened = [_producer(number) for number in (1, 2, 3, 4)] + [_producer(2, number=1)]
    ids = {1: "a", 2: "b", 3: "gone"}
    found = hanging(opened, ids, {"a": waits_here, "b": waits_elsewhere, "gone": None})
    assert [each.producer_id for each in found] == [2, 3, 4]
    assert {each.partition for each in found} == {0}


def _written(code: int) -> WriteTxnMarkersResponse:
    partitions = [WritableTxnMarkerPartitionResult(partition_index=2, error_code=code)]
    topics = [WritableTxnMarkerTopicResult(name="t", partitions=partitions)]
    return WriteTxnMarkersResponse(markers=[WritableTxnMarkerResult(producer_id=7, topics=topics)])


def test_abort_marker(requests: BrokerRequests) -> None:
    """As Kafka's tool sends it: of transactions version 0, and of coordinator epoch 0 where none has ended anything."""
    with ScriptedBroker(SERVED, lambda _: _written(0)) as broker:
        write_abort_marker(requests, broker.address, ("t", 2), 7, 3, None)
    marker = WritableTxnMarker(
        producer_id=7,
        producer_epoch=3,
        transaction_result=False,
        coordinator_epoch=0,
        topics=[WritableTxnMarkerTopic(name="t", partition_indexes=[2])],
    )
    assert broker.asked == [(2, WriteTxnMarkersRequest(markers=[marker]))]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (_written(ErrorCode.INVALID_PRODUCER_EPOCH), "partition 2 of t: .*old epoch"),
        (WriteTxnMarkersResponse(), "partition 2 of t: the broker does not say"),
        (None, "partition 2 of t: .*lost"),
    ],
)
def test_abort_that_is_refused(requests: BrokerRequests, answer: Message | None, said: str) -> None:
    """An error of the partition, no word on it, no answer at all: it failed."""
    with ScriptedBroker(SERVED, lambda _: answer) as broker, pytest.raises(CommandError, match=said):
        write_abort_marker(requests, broker.address, ("t", 2), 7, 3, None)
