"""The ends of transactions, as they are written to partitions and told to their coordinator."""

import pytest

from odradek.broker.coordinator.background import FEW, Background
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.transactions.marker_writer import MarkerWriter, Written
from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import check_crc, read_header
from odradek.protocol.records.building import BatchFields
from odradek.storage.names import TopicPartition
from tests.support.partitions import Node
from tests.support.replicated_brokers import TOPIC, ReplicatedBrokers

TIMEOUT_S = 30
COMMIT = TransactionMarker(7, 0, 0, True, 0)
ABORT = COMMIT._replace(committed=False)
Partitions = tuple[TopicPartition, ...]


def no_groups(_index: int, _marker: TransactionMarker) -> ErrorCode:
    raise AssertionError("no offsets are part of the transaction")


def writer_of(node: Node) -> MarkerWriter:
    return MarkerWriter(node.table, no_groups, node.loop, node.clock, TIMEOUT_S * 1000, Background(node.loop))


def writer_at(cluster: ReplicatedBrokers, broker: int) -> MarkerWriter:
    loop = cluster.loop
    return MarkerWriter(cluster[broker].table, no_groups, loop, cluster.clock, TIMEOUT_S * 1000, Background(loop))


def told(outcome: Written | Deferred[Written]) -> list[Written]:
    """Return a list that has the outcome, or will."""
    found: list[Written] = []
    if isinstance(outcome, Deferred):
        outcome.on_done(found.append)
    else:
        found.append(outcome)
    return found


@pytest.fixture
def node() -> Node:
    """A node with a topic `t` of two partitions."""
    node = Node()
    node.create("t", 2)
    return node


@pytest.mark.parametrize("marker", [COMMIT, ABORT])
def test_a_marker_ends_the_transaction(node: Node, marker: TransactionMarker) -> None:
    """It takes an offset, committed readers go on behind it, and skip what was aborted."""
    node.begin_transaction("t", 7, b"a", b"b")
    partition = node.table.get("t", 0)
    assert partition.last_stable_offset == 0
    place = TopicPartition("t", 0)
    assert told(writer_of(node).write(marker, [place, place])) == [{place: ErrorCode.NONE}]
    assert (partition.high_watermark, partition.last_stable_offset) == (3, 3)
    aborted = partition.log.aborted_transactions(0, 3)
    assert [each.producer_id for each in aborted] == ([] if marker.committed else [7])


def test_partitions_fail_one_by_one(node: Node) -> None:
    """What is unknown here, and a marker that comes too late."""
    for producer_id, epoch in ((7, 1), (8, 0)):
        fields = BatchFields(producer_id=producer_id, producer_epoch=epoch, base_sequence=0, transactional=True)
        node.append("t", b"x", fields=fields)
    places = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("t", 2), TopicPartition("u", 0)]
    [codes] = told(writer_of(node).write(COMMIT, places))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list(codes.values()) == [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.NONE, unknown, unknown]
    assert node.table.get("t", 0).last_stable_offset == 0
    node.table.get("t", 0).append_marker(TransactionMarker(8, 0, 5, True, 0), 0)
    [codes] = told(writer_of(node).write(TransactionMarker(8, 0, 4, True, 0), places[:1]))
    assert codes == {places[0]: ErrorCode.TRANSACTION_COORDINATOR_FENCED}


def test_a_marker_has_the_broker_s_time_where_the_topic_says_so(node: Node) -> None:
    """As every other batch of the topic (attributes of the batch)."""
    node.create("stamped", 1, **{"message.timestamp.type": "LogAppendTime"})
    places = [TopicPartition("t", 0), TopicPartition("stamped", 0)]
    assert told(writer_of(node).write(COMMIT, places)) == [dict.fromkeys(places, ErrorCode.NONE)]
    for place, is_append_time in zip(places, (False, True), strict=True):
        region = node.table.get(*place).log.read(0, 1 << 20, 1, at_least_one=True)
        assert region.file is not None
        batch = memoryview(region.file.pread(region.length, region.position))
        header = read_header(batch)
        assert (header.is_log_append_time, header.max_timestamp) == (is_append_time, node.clock.now_ms())
        check_crc(batch, header)


@pytest.mark.parametrize(
    "marker",
    [COMMIT._replace(producer_id=-1), COMMIT._replace(producer_epoch=-1), COMMIT._replace(transaction_version=-1)],
)
def test_a_marker_of_no_producer_is_not_written(node: Node, marker: TransactionMarker) -> None:
    """UNKNOWN_SERVER_ERROR, but for partitions that are not there."""
    places = [TopicPartition("t", 0), TopicPartition("u", 0)]
    [codes] = told(writer_of(node).write(marker, places))
    assert list(codes.values()) == [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert node.table.get("t", 0).log.log_end_offset == 0


def test_partitions_of_groups_are_the_group_coordinators(node: Node) -> None:
    """Where it is not ready, the coordinator of the transaction is told to come back."""
    node.create("__consumer_offsets", 3)
    asked: list[int] = []
    later: Deferred[ErrorCode] = Deferred()
    answers: list[ErrorCode | Deferred[ErrorCode]] = [
        ErrorCode.NONE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        later,
    ]

    def end(index: int, marker: TransactionMarker) -> ErrorCode | Deferred[ErrorCode]:
        assert marker == COMMIT
        asked.append(index)
        return answers[index]

    writer = MarkerWriter(node.table, end, node.loop, node.clock, 1000, Background(node.loop))
    found = told(writer.write(COMMIT, [TopicPartition("__consumer_offsets", index) for index in range(3)]))
    assert (asked, found) == ([0, 1, 2], [])
    later.resolve(ErrorCode.NOT_COORDINATOR)
    not_leader = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert [list(each.values()) for each in found] == [[ErrorCode.NONE, not_leader, not_leader]]


def test_many_partitions_are_written_in_slices(node: Node) -> None:
    """Others get their turns in between."""
    count = FEW + 1
    node.create("many", count)
    places = [TopicPartition("many", index) for index in range(count)]
    found = told(writer_of(node).write(COMMIT, places))
    assert found == []
    while not node.loop.is_idle:
        node.loop.advance(0.001)
    assert found == [dict.fromkeys(places, ErrorCode.NONE)]


def test_a_marker_is_written_when_it_is_on_all_replicas_in_sync() -> None:
    """Readers of committed records get what it ends then, and not before."""
    cluster = ReplicatedBrokers(2)
    cluster.settle()
    leader = cluster[1].partition
    found = told(writer_at(cluster, 1).write(COMMIT, [TopicPartition(TOPIC, 0)]))
    assert (found, leader.log.log_end_offset, leader.high_watermark) == ([], 1, 0)
    cluster.pass_time(1)
    assert found == [{TopicPartition(TOPIC, 0): ErrorCode.NONE}]
    assert leader.high_watermark == 1
    assert told(writer_at(cluster, 2).write(COMMIT, [TopicPartition(TOPIC, 0)])) == [
        {TopicPartition(TOPIC, 0): ErrorCode.NOT_LEADER_OR_FOLLOWER}
    ]


def test_a_marker_that_is_not_copied_is_told_in_time() -> None:
    """REQUEST_TIMED_OUT; with too few replicas in sync it is not written at all."""
    cluster = ReplicatedBrokers(2, {"min.insync.replicas": "2"})
    cluster.settle()
    cluster.cuts |= {(2, 1), (1, 2)}
    cluster.controller_is_silent = True
    place = TopicPartition(TOPIC, 0)
    found = told(writer_at(cluster, 1).write(COMMIT, [place]))
    cluster.pass_time(TIMEOUT_S + 1, 1)
    assert found == [{place: ErrorCode.REQUEST_TIMED_OUT}]
    cluster.change(isr=(1,))
    end = cluster[1].partition.log.log_end_offset
    assert told(writer_at(cluster, 1).write(COMMIT, [place])) == [{place: ErrorCode.NOT_ENOUGH_REPLICAS}]
    assert cluster[1].partition.log.log_end_offset == end


def test_who_waits_for_a_marker_learns_that_another_broker_leads() -> None:
    """It is written there again."""
    cluster = ReplicatedBrokers(2)
    cluster.settle()
    cluster.cuts |= {(2, 1), (1, 2)}
    found = told(writer_at(cluster, 1).write(COMMIT, [TopicPartition(TOPIC, 0)]))
    cluster.elect(2)
    assert found == [{TopicPartition(TOPIC, 0): ErrorCode.NOT_LEADER_OR_FOLLOWER}]
