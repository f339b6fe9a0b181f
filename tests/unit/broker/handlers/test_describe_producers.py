"""DescribeProducers: which producers a partition tells of, and how many."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.handlers import describe_producers
from odradek.broker.handlers.describe_producers import MOST_PARTITIONS, DescribeProducersHandler, fair_shares
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.describe_producers import DescribeProducersRequest, PartitionResponse, TopicRequest
from tests.support.partitions import Node, context
from tests.unit.broker.handlers.produce_support import idempotent, produce, request


@pytest.fixture
def node() -> Node:
    """A node with a topic `t` of three partitions."""
    node = Node()
    node.create("t", 3)
    return node


def describe(node: Node, *places: tuple[str, int]) -> list[PartitionResponse]:
    asked = DescribeProducersRequest(topics=[TopicRequest(name=name, partition_indexes=[at]) for name, at in places])
    answer = DescribeProducersHandler(node.table).describe_producers(context(0), asked)
    assert [(topic.name, topic.partitions[0].partition_index) for topic in answer.topics] == list(places)
    return [partition for topic in answer.topics for partition in topic.partitions]


def told(found: PartitionResponse) -> list[tuple[int, int, int, int]]:
    return [
        (each.producer_id, each.producer_epoch, each.last_sequence, each.current_txn_start_offset)
        for each in found.active_producers
    ]


def test_idempotent_producers_are_told(node: Node) -> None:
    """Id, epoch and last sequence; no transaction; those without an id are nobody."""
    node.append("t", b"x")
    for sequence in (0, 1):
        produce(node, request(("t", 0, idempotent(sequence, producer_id=7))))
    [found, empty] = describe(node, ("t", 0), ("t", 1))
    assert told(found) == [(7, 0, 1, -1)]
    assert found.active_producers[0].coordinator_epoch == -1
    assert (told(empty), empty.error_code) == ([], 0)


def test_open_transaction_is_told_with_its_start(node: Node) -> None:
    """Until its marker comes; then the producer is one like others, with the coordinator's epoch."""
    node.append("t", b"x")
    node.begin_transaction("t", 8, b"y")
    assert [each[3] for each in told(describe(node, ("t", 0))[0])] == [1]
    node.end_transaction("t", 8, committed=True)
    [ended] = describe(node, ("t", 0))[0].active_producers
    assert (ended.current_txn_start_offset, ended.coordinator_epoch) == (-1, 0)


@pytest.mark.parametrize(
    ("name", "index", "code"),
    [
        ("t", 9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("none", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a b", 0, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("", 0, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_partition_that_is_not_here_has_an_error(node: Node, name: str, index: int, code: ErrorCode) -> None:
    """Others are answered."""
    bad, good = describe(node, (name, index), ("t", 0))
    assert (bad.error_code, good.error_code) == (code, 0)


def test_answer_is_bounded(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has an open transaction comes first, on whichever partition, then who came last; each has its fair share."""
    monkeypatch.setattr(describe_producers, "MOST_PRODUCERS", 5)
    node.begin_transaction("t", 1, b"x")
    for producer in (2, 3, 4):
        produce(node, request(("t", 0, idempotent(0, producer_id=producer))))
        produce(node, request(("t", 1, idempotent(0, producer_id=producer))))
    places = ("t", 0), ("t", 1), ("t", 2)
    assert [[each[0] for each in told(found)] for found in describe(node, *places)] == [[1, 4, 3], [4, 3], []]
    assert [[each[0] for each in told(found)] for found in describe(node, *reversed(places))] == [[], [4, 3], [1, 4, 3]]
    monkeypatch.setattr(describe_producers, "MOST_PRODUCERS", 1)
    assert [[each[0] for each in told(found)] for found in describe(node, *reversed(places))] == [[], [], [1]]


@given(wanted=st.lists(st.integers(0, 20), max_size=8), room=st.integers(0, 60))
def test_shares_are_fair(wanted: list[int], room: int) -> None:
    """Nothing is left while somebody wants more, and nobody has one more than another who wants more."""
    shares = fair_shares(wanted, room)
    assert sum(shares) == min(room, sum(wanted))
    assert all(share <= most for share, most in zip(shares, wanted, strict=True))
    hungry = [share for share, most in zip(shares, wanted, strict=True) if share < most]
    assert all(max(shares) - share <= 1 for share in hungry)


def test_more_partitions_than_fit_in_a_turn_are_not_answered(node: Node) -> None:
    """There is no place for an error of the whole, so that the connection ends."""
    partitions = [TopicRequest(name="none", partition_indexes=[0] * MOST_PARTITIONS)]
    with pytest.raises(KafkaError):
        DescribeProducersHandler(node.table).describe_producers(context(0), DescribeProducersRequest(topics=partitions))
