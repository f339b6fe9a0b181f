"""Where partitions begin and end: ListOffsets, OffsetForLeaderEpoch, DeleteRecords."""

from collections.abc import Sequence

import pytest

from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.delete_records import DeleteRecordsHandler
from odradek.broker.handlers.offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    OffsetHandlers,
)
from odradek.broker.handlers.offsets_by_time import OffsetsByTime
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.protocol.messages.metadata_records import PartitionChangeRecord
from odradek.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.support.deferred import now
from tests.support.logs import NOW_MS, read_all
from tests.support.manual_loop import HandExecutor
from tests.support.partitions import Node, context

NEWEST = 11
NOWHERE = (-1, -1, -1)


@pytest.fixture
def node() -> Node:
    """A node with a topic `t` of two partitions; the first has records one second apart at offsets 0 to 3."""
    node = Node()
    node.create("t", 2)
    for value in (b"a", b"b", b"c", b"d"):
        node.append("t", value)
        node.clock.advance(1)
    return node


def handlers_of(node: Node, threads: HandExecutor | None = None) -> OffsetHandlers:
    """Return the handlers of a node; what is in memory needs no threads."""
    by_time = OffsetsByTime(node.loop, threads, Converter(node.loop, node.memory))
    return OffsetHandlers(node.table, node.clock, by_time)


def list_offsets(
    node: Node, *asked: ListOffsetsPartition, topic: str = "t", version: int = NEWEST, committed: bool = False
) -> list[ListOffsetsPartitionResponse]:
    request = ListOffsetsRequest(
        replica_id=-1, isolation_level=committed, topics=[ListOffsetsTopic(name=topic, partitions=list(asked))]
    )
    response = now(handlers_of(node).list_offsets(context(version), request))
    return [partition for found in response.topics for partition in found.partitions]


def offset(
    node: Node, timestamp: int, *, partition: int = 0, version: int = NEWEST, committed: bool = False, epoch: int = -1
) -> tuple[int, int, int]:
    """Return timestamp, offset and leader epoch of an answer without error."""
    asked = ListOffsetsPartition(partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch)
    [found] = list_offsets(node, asked, version=version, committed=committed)
    assert (found.error_code, found.partition_index) == (0, partition)
    return found.timestamp, found.offset, found.leader_epoch


def new_epoch(node: Node, topic: str = "t") -> None:
    """Let the leader of the first partition be elected again."""
    topic_id = node.image.topics_by_name[topic].topic_id
    node.change(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=1))


# ListOffsets


def test_latest_is_the_high_watermark(node: Node) -> None:
    """With the epoch of now, and without a timestamp."""
    assert offset(node, LATEST) == (-1, 4, 0)
    new_epoch(node)
    assert offset(node, LATEST) == (-1, 4, 1)
    assert offset(node, LATEST, partition=1) == (-1, 0, 0)


def test_latest_leaves_out_what_is_not_on_the_disk() -> None:
    """A consumer that starts at the end must not start beyond what may be lost."""
    node = Node()
    node.create("t", flush_messages="1")
    node.append("t", b"x")
    assert offset(node, LATEST) == (-1, 0, 0)
    node.flusher.finish()
    assert offset(node, LATEST) == (-1, 1, 0)


def test_latest_for_committed_readers_is_the_last_stable_offset(node: Node) -> None:
    """An open transaction ends what they see."""
    node.begin_transaction("t", 7, b"x")
    node.append("t", b"y")
    assert offset(node, LATEST, committed=True) == (-1, 4, 0)
    assert offset(node, LATEST) == (-1, 6, 0)
    node.end_transaction("t", 7, committed=False)
    assert offset(node, LATEST, committed=True) == (-1, 7, 0)


@pytest.mark.parametrize("timestamp", [EARLIEST, EARLIEST_LOCAL])
def test_earliest_is_the_start_of_the_log(node: Node, timestamp: int) -> None:
    """With the epoch of the record there; without tiered storage, the local log is all there is."""
    assert offset(node, timestamp) == (-1, 0, 0)
    node.table.get("t", 0).delete_records_before(3)
    assert offset(node, timestamp) == (-1, 3, 0)


def test_greatest_timestamp_is_that_of_its_first_record(node: Node) -> None:
    """In an empty partition there is none."""
    node.clock.set_wall(NOW_MS + 1500)
    node.append("t", b"late")
    assert offset(node, MAX_TIMESTAMP) == (NOW_MS + 3000, 3, 0)
    assert offset(node, MAX_TIMESTAMP, partition=1) == NOWHERE


@pytest.mark.parametrize("timestamp", [LATEST_TIERED, EARLIEST_PENDING_UPLOAD])
def test_tiered_storage_holds_nothing(node: Node, timestamp: int) -> None:
    """There is none, so no offset is in it or on its way."""
    assert offset(node, timestamp) == NOWHERE


@pytest.mark.parametrize(
    ("after_ms", "expected"),
    [(-5000, (NOW_MS, 0, 0)), (0, (NOW_MS, 0, 0)), (1, (NOW_MS + 1000, 1, 0)), (3000, (NOW_MS + 3000, 3, 0))],
)
def test_timestamp_finds_the_first_record_that_is_not_earlier(
    node: Node, after_ms: int, expected: tuple[int, int, int]
) -> None:
    """The answer has that record's own timestamp."""
    assert offset(node, NOW_MS + after_ms) == expected


def test_timestamp_after_all_records_finds_nothing(node: Node) -> None:
    """No error: offset and timestamp are -1."""
    assert offset(node, NOW_MS + 3001) == NOWHERE
    assert offset(node, 0, partition=1) == NOWHERE


def test_timestamp_finds_nothing_beyond_what_the_reader_may_see(node: Node) -> None:
    """A record in an open transaction is no place for a reader of committed data to start at."""
    node.begin_transaction("t", 7, b"x")
    assert offset(node, NOW_MS + 4000) == (NOW_MS + 4000, 4, 0)
    assert offset(node, NOW_MS + 4000, committed=True) == NOWHERE
    assert offset(node, MAX_TIMESTAMP, committed=True) == NOWHERE


@pytest.mark.parametrize(
    ("timestamp", "first_version"),
    [
        (LATEST, 1),
        (EARLIEST, 1),
        (MAX_TIMESTAMP, 7),
        (EARLIEST_LOCAL, 8),
        (LATEST_TIERED, 9),
        (EARLIEST_PENDING_UPLOAD, 11),
        (-7, None),
        (-(1 << 63), None),
    ],
)
def test_special_timestamps_have_a_first_version(node: Node, timestamp: int, first_version: int | None) -> None:
    """Before it, and where there is none, UNSUPPORTED_VERSION; of a topic that does not exist, too."""
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    for version in range(1, NEWEST + 1):
        is_known = first_version is not None and version >= first_version
        [found] = list_offsets(node, asked, version=version)
        assert found.error_code == (0 if is_known else ErrorCode.UNSUPPORTED_VERSION)
        [found] = list_offsets(node, asked, version=version, topic="none")
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert found.error_code == (unknown if is_known else ErrorCode.UNSUPPORTED_VERSION)


def test_partition_named_twice_is_refused_once(node: Node) -> None:
    """One INVALID_REQUEST, in whichever topics of the request the mentions are; others are answered."""
    asked = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in (0, 1)]
    topics = [ListOffsetsTopic(name="t", partitions=asked), ListOffsetsTopic(name="t", partitions=asked[:1])]
    request = ListOffsetsRequest(replica_id=-1, topics=topics)
    [topic] = now(handlers_of(node).list_offsets(context(NEWEST), request)).topics
    found = [(each.partition_index, each.error_code) for each in topic.partitions]
    assert found == [(0, ErrorCode.INVALID_REQUEST), (1, 0)]


def test_topic_of_which_nothing_is_asked_is_not_answered(node: Node) -> None:
    """Neither by ListOffsets nor by DeleteRecords."""
    handlers = handlers_of(node)
    offsets = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[])])
    assert now(handlers.list_offsets(context(NEWEST), offsets)).topics == []
    deletion = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[])])
    assert now(DeleteRecordsHandler(node.loop, node.table)(context(2), deletion)).topics == []


@pytest.mark.parametrize(
    ("epoch", "code"), [(1, 0), (0, ErrorCode.FENCED_LEADER_EPOCH), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
def test_offsets_are_told_in_the_right_epoch_only(node: Node, epoch: int, code: int) -> None:
    """A client with an old or a newer epoch asks for the metadata first."""
    new_epoch(node)
    asked = ListOffsetsPartition(partition_index=0, timestamp=LATEST, current_leader_epoch=epoch)
    [found] = list_offsets(node, asked)
    assert found.error_code == code
    assert found.offset == (-1 if code else 4)


def test_partition_that_is_not_there_is_unknown(node: Node) -> None:
    """Each answer for itself."""
    asked = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in (0, 2)]
    assert [each.error_code for each in list_offsets(node, *asked)] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def old_offsets(node: Node, timestamp: int, count: int) -> list[int]:
    """Return the offsets of an answer of version 0 without error."""
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp, max_num_offsets=count)
    [found] = list_offsets(node, asked, version=0)
    assert found.error_code == 0
    return found.old_style_offsets


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_first_version_tells_where_segments_begin(node: Node, count: int) -> None:
    """As many as were asked for, the end of the log first; from a time on, from what was written until then."""
    node.table.get("t", 0).log.roll(NOW_MS)
    node.append("t", b"e")
    node.clock.advance(1)
    assert old_offsets(node, LATEST, count) == [5, 4, 0][:count]
    assert old_offsets(node, node.clock.now_ms(), count) == [5, 4, 0][:count]
    assert old_offsets(node, EARLIEST, count) == [0][:count]
    assert old_offsets(node, 1, count) == []
    assert old_offsets(node, -9, count) == []


def test_first_version_does_not_tell_what_may_be_lost() -> None:
    """The end is that of what is committed, as in every version."""
    node = Node()
    node.create("t", flush_messages="1")
    node.append("t", b"x")
    assert old_offsets(node, LATEST, 9) == [0]


def test_first_version_refuses_as_all_do(node: Node) -> None:
    """And a count below zero."""
    asked = [ListOffsetsPartition(partition_index=2, timestamp=LATEST)]
    asked.append(ListOffsetsPartition(partition_index=0, timestamp=LATEST, max_num_offsets=-1))
    errors = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_REQUEST]
    assert [found.error_code for found in list_offsets(node, *asked, version=0)] == errors


# OffsetForLeaderEpoch


def end_of(node: Node, epoch: int, partition: int = 0, current: int = -1, topic: str = "t") -> EpochEndOffset:
    wanted = OffsetForLeaderPartition(partition=partition, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=[wanted])])
    response = handlers_of(node).offset_for_leader_epoch(context(4), request)
    [found] = response.topics[0].partitions
    assert found.partition == partition
    return found


def test_epoch_ends_where_the_next_one_begins(node: Node) -> None:
    """The last one ends with the log; an unknown later one has no end."""
    assert (end_of(node, 0).leader_epoch, end_of(node, 0).end_offset) == (0, 4)
    new_epoch(node)
    assert (end_of(node, 1).leader_epoch, end_of(node, 1).end_offset) == (1, 4)
    node.append("t", b"e")
    assert (end_of(node, 0).leader_epoch, end_of(node, 0).end_offset) == (0, 4)
    assert (end_of(node, 1).leader_epoch, end_of(node, 1).end_offset) == (1, 5)
    assert (end_of(node, 2).leader_epoch, end_of(node, 2).end_offset) == (-1, -1)


def test_epoch_without_records_has_an_end_too(node: Node) -> None:
    """A leader's epoch begins when it leads, not when it writes."""
    assert (end_of(node, 0, partition=1).leader_epoch, end_of(node, 0, partition=1).end_offset) == (0, 0)


@pytest.mark.parametrize(
    ("partition", "current", "topic", "code"),
    [
        (0, 5, "t", ErrorCode.UNKNOWN_LEADER_EPOCH),
        (2, -1, "t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (0, -1, "none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_epoch_end_is_refused_as_everywhere(
    node: Node, partition: int, current: int, topic: str, code: ErrorCode
) -> None:
    """With neither epoch nor offset."""
    found = end_of(node, 0, partition, current, topic)
    assert (found.error_code, found.leader_epoch, found.end_offset) == (code, -1, -1)


# DeleteRecords


def delete(node: Node, *places: tuple[int, int], topic: str = "t") -> Sequence[DeleteRecordsPartitionResult]:
    partitions = [DeleteRecordsPartition(partition_index=index, offset=before) for index, before in places]
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=partitions)])
    return now(DeleteRecordsHandler(node.loop, node.table)(context(2), request)).topics[0].partitions


def test_records_before_an_offset_are_deleted(node: Node) -> None:
    """The answer has the new start of the log."""
    [found] = delete(node, (0, 2))
    assert (found.error_code, found.low_watermark) == (0, 2)
    assert read_all(node.table.get("t", 0).log) == [(2, b"c"), (3, b"d")]


def test_of_two_offsets_for_a_partition_the_last_one_counts(node: Node) -> None:
    """And there is one answer, at the place of the first."""
    found = delete(node, (0, 99), (1, 0), (0, 1))
    assert [(each.partition_index, each.error_code, each.low_watermark) for each in found] == [(0, 0, 1), (1, 0, 0)]
    assert node.table.get("t", 0).log.log_start_offset == 1


def test_start_of_the_log_does_not_go_back(node: Node) -> None:
    """An earlier offset changes nothing, and is no error."""
    delete(node, (0, 3))
    [found] = delete(node, (0, 1))
    assert (found.error_code, found.low_watermark) == (0, 3)


def test_minus_one_deletes_all_that_is_committed() -> None:
    """Up to the high watermark, which is not the end of the log where it waits for the disk."""
    node = Node()
    node.create("t", flush_messages="1")
    node.append("t", b"a")
    node.flusher.finish()
    node.append("t", b"b")
    [found] = delete(node, (0, -1))
    assert (found.error_code, found.low_watermark) == (0, 1)


@pytest.mark.parametrize("before", [5, -2, 1 << 62])
def test_offset_beyond_the_high_watermark_is_out_of_range(node: Node, before: int) -> None:
    """And so is a negative one; nothing is deleted."""
    [found] = delete(node, (0, before))
    assert (found.error_code, found.low_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert node.table.get("t", 0).log.log_start_offset == 0


def test_compacted_topic_keeps_its_records(node: Node) -> None:
    """POLICY_VIOLATION without delete in cleanup.policy, whatever the offset."""
    node.create("kept", cleanup_policy="compact")
    assert delete(node, (0, 99), topic="kept")[0].error_code == ErrorCode.POLICY_VIOLATION
    node.configure("kept", cleanup_policy="compact,delete")
    assert delete(node, (0, 0), topic="kept")[0].error_code == 0


def test_internal_topic_keeps_its_records(node: Node) -> None:
    """Kafka's own topics are not for clients."""
    node.create("__consumer_offsets")
    assert delete(node, (0, 0), topic="__consumer_offsets")[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_deletions_are_answered_one_by_one(node: Node) -> None:
    """An unknown partition takes nothing from the others."""
    found = delete(node, (0, 1), (9, 0), (1, 0))
    assert [each.error_code for each in found] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]
    assert [each.low_watermark for each in found] == [1, -1, 0]


def test_disk_that_fails_a_deletion_is_a_storage_error(node: Node) -> None:
    """What could not be done is not said to be done."""
    node.table.get("t", 0).log.roll(node.clock.now_ms())
    node.append("t", b"e")
    node.files.fail("rename", path_part="/t-0/", times=10)
    [found] = delete(node, (0, 5))
    assert found.error_code == ErrorCode.KAFKA_STORAGE_ERROR
