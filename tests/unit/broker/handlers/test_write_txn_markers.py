"""WriteTxnMarkers: the answer, by producer, topic and partition."""

import pytest

from odradek.broker.coordinator.background import Background
from odradek.broker.handlers.write_txn_markers import WriteTxnMarkersHandler
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.transactions.marker_writer import MarkerWriter
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.support.partitions import Node, context

Results = list[tuple[int, str, int, ErrorCode]]


@pytest.fixture
def node() -> Node:
    """A node with a topic `t` of two partitions."""
    node = Node()
    node.create("t", 2)
    return node


def marker(producer_id: int, *indexes: int, epoch: int = 0, topic: str = "t", version: int = 0) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=True,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=list(indexes))] if indexes else [],
        transaction_version=version,
    )


def write(node: Node, *markers: WritableTxnMarker) -> Results:
    background = Background(node.loop)
    writer = MarkerWriter(node.table, lambda *_: ErrorCode.NONE, node.loop, node.clock, 1000, background)
    handler = WriteTxnMarkersHandler(writer, background)
    answer = handler.write_txn_markers(context(2), WriteTxnMarkersRequest(markers=list(markers)))
    found: list[WriteTxnMarkersResponse] = []
    if isinstance(answer, Deferred):
        answer.on_done(found.append)
        while not found:
            node.loop.advance(0.001)
    else:
        found.append(answer)
    [response] = found
    return [
        (result.producer_id, topic.name, partition.partition_index, ErrorCode(partition.error_code))
        for result in response.markers
        for topic in result.topics
        for partition in topic.partitions
    ]


def test_results_are_by_producer(node: Node) -> None:
    """One entry each, whatever number of markers it had; none for a marker without partitions."""
    node.begin_transaction("t", 7, b"x")
    found = write(node, marker(7, 0), marker(8, 1), marker(7, 1), marker(9))
    none = ErrorCode.NONE
    assert found == [(7, "t", 0, none), (7, "t", 1, none), (8, "t", 1, none)]
    assert node.table.get("t", 0).last_stable_offset == 2
    assert write(node) == []


def test_the_epoch_of_a_marker_depends_on_the_version(node: Node) -> None:
    """From version 2 on the epoch of the transaction itself ends nothing."""
    node.begin_transaction("t", 7, b"x")
    assert write(node, marker(7, 0, version=2)) == [(7, "t", 0, ErrorCode.INVALID_PRODUCER_EPOCH)]
    assert write(node, marker(7, 0, epoch=1, version=2)) == [(7, "t", 0, ErrorCode.NONE)]


def test_a_request_with_many_partitions_is_answered_in_slices(node: Node) -> None:
    """Also where none of them is here."""
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    found = write(node, marker(7, *range(1200), topic="none"), marker(8, *range(3), topic="none"))
    assert found == [(7, "none", index, unknown) for index in range(1200)] + [
        (8, "none", index, unknown) for index in range(3)
    ]
