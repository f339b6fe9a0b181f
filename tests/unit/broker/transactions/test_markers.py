"""Markers on their way: to this broker and to others, again until they are there, and never too many at once."""

from collections.abc import Sequence

import pytest

from odradek.broker.coordinator.background import FEW
from odradek.broker.nodes.requests import Disconnected
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.transactions.markers import MOST_IN_REQUEST, RETRY_S, MarkerSender, Sending
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.storage.names import TopicPartition
from tests.support.log_lines import LogLines
from tests.unit.broker.transactions.shard_world import World

COMMIT = TransactionMarker(7, 1, 3, True, 2)
PASSING = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
)


def at(*indexes: int) -> list[TopicPartition]:
    return [TopicPartition("t", index) for index in indexes]


class Markers:
    """A sender, and what came of what it sent."""

    def __init__(self, **leaders: Sequence[int]) -> None:
        """`leaders`: the partitions that other brokers lead, by `b<id>`."""
        self.world = World()
        for name, indexes in leaders.items():
            for partition in at(*indexes):
                self.world.leader_ids[partition] = int(name[1:])
        self.sender: MarkerSender = self.world.new_sender()
        self.told: list[bool] = []

    def send(self, *indexes: int, marker: TransactionMarker = COMMIT) -> Sending:
        """Send a marker."""
        return self.sender.send(marker, {"t": frozenset(indexes)} if indexes else {}, self.told.append)

    @property
    def here(self) -> list[list[int]]:
        """The partitions of this broker that were written to, each time."""
        return [[one.partition for one in partitions] for _, partitions in self.world.leaders.written]

    @property
    def asked(self) -> list[tuple[int, dict[int, list[int]]]]:
        """Who was asked and has not answered: by producer the partitions."""
        found = []
        for broker_id, request, _ in self.world.others.asked:
            assert isinstance(request, WriteTxnMarkersRequest)
            by_producer = {one.producer_id: one.topics[0].partition_indexes for one in request.markers}
            found.append((broker_id, by_producer))
        return found

    def answer(self, code: ErrorCode = ErrorCode.NONE, **codes: ErrorCode) -> None:
        """Answer the oldest request with a code for each partition, `p<index>` apart."""
        request = self.world.others.asked[0][1]
        assert isinstance(request, WriteTxnMarkersRequest)
        markers = []
        for marker in request.markers:
            topics = []
            for topic in marker.topics:
                results = [
                    WritableTxnMarkerPartitionResult(partition_index=index, error_code=codes.get(f"p{index}", code))
                    for index in topic.partition_indexes
                ]
                topics.append(WritableTxnMarkerTopicResult(name=topic.name, partitions=results))
            markers.append(WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics))
        self.world.others.answer(WriteTxnMarkersResponse(markers=markers))

    def wait(self) -> None:
        """Let the time pass after which is tried again."""
        self.world.scheduler.advance(RETRY_S)


def test_a_transaction_without_partitions_needs_no_marker() -> None:
    """It is over at once."""
    markers = Markers()
    assert markers.send().is_over
    assert (markers.told, markers.here) == ([True], [])


def test_each_leader_gets_the_marker_once() -> None:
    """Those here are written, others asked; it is over when all have it."""
    markers = Markers(b2=[1, 3], b5=[4])
    markers.send(0, 1, 2, 3, 4)
    assert markers.here == [[0, 2]]
    assert markers.asked == [(2, {7: [1, 3]}), (5, {7: [4]})]
    request = markers.world.others.asked[0][1]
    assert isinstance(request, WriteTxnMarkersRequest)
    (marker,) = request.markers
    assert (marker.producer_epoch, marker.coordinator_epoch, marker.transaction_version) == (1, 3, 2)
    assert marker.transaction_result
    markers.answer()
    assert markers.told == []
    markers.answer()
    assert markers.told == [True]


@pytest.mark.parametrize("code", PASSING)
def test_what_could_not_be_written_is_tried_again(code: ErrorCode) -> None:
    """Here and elsewhere, those partitions alone, for as long as it takes."""
    markers = Markers(b2=[1, 2])
    markers.world.leaders.codes[at(0)[0]] = code
    markers.send(0, 1, 2, 3)
    markers.answer(p2=code)
    for _ in range(3):
        markers.wait()
        markers.answer(code)
    markers.world.leaders.codes.clear()
    markers.wait()
    assert markers.here == [[0, 3], [0], [0], [0], [0]]
    assert markers.told == []
    assert markers.asked == [(2, {7: [2]})]
    markers.answer()
    assert markers.told == [True]


def test_a_broker_that_is_gone_is_left_for_who_leads_next() -> None:
    """Whether or not it had written the marker is not known: writing it twice does no harm."""
    markers = Markers(b2=[0])
    markers.send(0)
    markers.world.leader_ids[at(0)[0]] = -1
    markers.world.others.answer(Disconnected("gone"))
    markers.wait()
    markers.wait()
    assert (markers.asked, markers.told) == ([], [])
    markers.world.leader_ids[at(0)[0]] = 4
    markers.wait()
    assert markers.asked == [(4, {7: [0]})]


def test_partitions_that_are_gone_need_no_marker() -> None:
    """Their topic was deleted meanwhile."""
    markers = Markers(b2=[0])
    markers.send(0)
    markers.world.leader_ids[at(0)[0]] = None
    markers.answer(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    markers.wait()
    assert markers.told == [True]


@pytest.mark.parametrize("code", [ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION])
def test_a_log_that_knows_no_transactions_needs_no_marker(code: ErrorCode) -> None:
    """It is of a format before them."""
    markers = Markers()
    markers.world.leaders.codes[at(0)[0]] = code
    markers.send(0)
    assert markers.told == [True]


@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
def test_another_coordinator_s_transaction_is_left_to_it(code: ErrorCode) -> None:
    """Nothing more is sent, wherever some of it has come to."""
    markers = Markers(b2=[1], b5=[2])
    markers.send(0, 1, 2)
    markers.answer(code)
    assert markers.told == [False]
    markers.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    markers.wait()
    assert (markers.asked, markers.told) == ([], [False])


def test_an_error_that_means_nothing_here_is_tried_again_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided is decided."""
    lines = LogLines()
    monkeypatch.setattr("odradek.broker.transactions.markers.log", lines)
    markers = Markers(b2=[0])
    markers.send(0)
    markers.answer(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    markers.wait()
    assert markers.asked == [(2, {7: [0]})]
    assert [line.fields["error"] for line in lines.lines] == ["CLUSTER_AUTHORIZATION_FAILED"]


def test_one_request_at_a_time_goes_to_a_broker() -> None:
    """What comes meanwhile goes with the next one, whatever transactions it is of."""
    markers = Markers(b2=range(10))
    markers.send(0)
    markers.send(1, marker=COMMIT._replace(producer_id=8))
    markers.send(2, marker=COMMIT._replace(producer_id=9))
    assert markers.asked == [(2, {7: [0]})]
    markers.answer()
    assert markers.asked == [(2, {8: [1], 9: [2]})]
    markers.answer()
    assert markers.told == [True, True, True]


def test_two_markers_of_one_producer_go_one_after_the_other() -> None:
    """Answers are told apart by the producer id."""
    markers = Markers(b2=range(10))
    markers.send(0, marker=COMMIT._replace(producer_id=8))
    markers.send(1)
    markers.send(2, marker=COMMIT._replace(producer_epoch=2))
    markers.answer()
    assert markers.asked == [(2, {7: [1]})]
    markers.answer()
    assert markers.asked == [(2, {7: [2]})]


def test_what_is_cancelled_is_not_sent() -> None:
    """Its coordinator is another broker now; nobody is told of it."""
    markers = Markers(b2=[0, 1])
    markers.send(0, marker=COMMIT._replace(producer_id=8))
    sending = markers.send(1)
    sending.cancel()
    markers.answer()
    assert (markers.asked, markers.told) == ([], [True])


def test_very_many_partitions_are_told_a_few_at_a_time() -> None:
    """Others have their turn in between, and no request is larger than it may be."""
    count = MOST_IN_REQUEST + 3 * FEW
    markers = Markers(b2=range(count))
    sending = markers.send(*range(count))
    assert (markers.asked, len(sending.remaining)) == ([], 0), "not even their names are put together at once"
    sizes = []
    while not markers.told:
        markers.world.scheduler.advance(0.01)
        sizes.append(sum(len(indexes) for _, by_producer in markers.asked for indexes in by_producer.values()))
        markers.answer()
    assert sum(sizes) == count
    assert max(sizes) <= MOST_IN_REQUEST


def test_nothing_is_sent_after_a_stop() -> None:
    """Nor is anybody told."""
    markers = Markers(b2=[0])
    markers.world.leader_ids[at(1)[0]] = -1
    markers.send(0, 1)
    markers.sender.stop()
    markers.world.leader_ids[at(1)[0]] = 2
    markers.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    markers.wait()
    assert (markers.asked, markers.told) == ([], [])
