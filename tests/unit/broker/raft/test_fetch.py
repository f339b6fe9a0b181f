"""Fetch of the metadata log: what observers of each age and at each place are told."""

from uuid import UUID

import pytest

from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.snapshot_writing import SnapshotSchedule
from odradek.broker.raft.fetch import MetadataFetchHandler
from odradek.broker.raft.leader import QuorumLeader
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import InPlace
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
    SnapshotId,
)
from odradek.protocol.records.batch import iter_batches
from odradek.protocol.uuids import METADATA_TOPIC_ID
from tests.support.clock import ManualClock
from tests.support.deferred import now
from tests.support.manual_loop import ManualLoop
from tests.unit.broker.raft.support import CLUSTER, NODE, add_topic, context, leader_of, new_files, open_leading


class Quorum:
    """A leader of one voter, and one observer that asks it."""

    def __init__(self, log: MetadataLog) -> None:
        self.log = log
        self.loop = ManualLoop()
        self.clock = ManualClock()
        self.leader: QuorumLeader = leader_of(log)
        self.handler = MetadataFetchHandler(self.loop, log, self.leader, InPlace(), self.clock)

    def ask(
        self, version: int = 18, request: FetchRequest | None = None, **partition: int
    ) -> FetchResponse | Deferred[FetchResponse]:
        """Ask as a broker does; `partition` replaces what it says of its log."""
        given = {"current_leader_epoch": self.log.epoch, "fetch_offset": 0, "last_fetched_epoch": 0} | partition
        asked = FetchPartition(partition=0, replica_directory_id=UUID(int=7), **given)
        request = request or FetchRequest(cluster_id=CLUSTER, max_wait_ms=500, max_bytes=1 << 20)
        request.replica_state = ReplicaState(replica_id=1)
        if not request.topics:
            request.topics = [FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[asked])]
        return self.handler.fetch(context(version), request)

    def ask_now(self, version: int = 18, **partition: int) -> PartitionData:
        """Ask, and be answered at once."""
        response = now(self.ask(version, None, **partition))
        assert response.error_code == 0
        encode(response, version)
        return response.responses[0].partitions[0]


def offsets(data: PartitionData) -> list[tuple[int, int]]:
    """Return base offset and epoch of each batch."""
    batches = iter_batches(memoryview(data.records or b""))
    return [(header.base_offset, header.partition_leader_epoch) for _, header in batches]


@pytest.fixture
def quorum() -> Quorum:
    """A new cluster."""
    return Quorum(open_leading(new_files()))


def test_an_observer_gets_the_log_from_its_beginning_up_to_the_high_watermark(quorum: Quorum) -> None:
    """Those of before the process began to serve come from the disk, later ones from memory; the same bytes."""
    first = quorum.log.high_watermark
    add_topic(quorum.log, 1)
    data = quorum.ask_now()
    end = quorum.log.high_watermark
    assert (data.error_code, data.high_watermark, data.log_start_offset) == (0, end, 0)
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (NODE, 1)
    assert offsets(data) == [(0, 1), (1, 1), (first, 1)]
    from_memory = quorum.ask_now(fetch_offset=first, last_fetched_epoch=1)
    assert bytes(data.records or b"").endswith(bytes(from_memory.records or b"x"))


def test_the_first_batch_is_whole_and_later_ones_fit(quorum: Quorum) -> None:
    """As the limit of the answer says; a place inside a batch is answered with all of it."""
    at = quorum.log.high_watermark
    for number in range(3):
        add_topic(quorum.log, number)
    request = FetchRequest(max_wait_ms=500, max_bytes=1)
    asked = FetchPartition(fetch_offset=at + 1, last_fetched_epoch=1, current_leader_epoch=1)
    request.topics = [FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[asked])]
    response = now(quorum.ask(request=request))
    assert [base for base, _ in offsets(response.responses[0].partitions[0])] == [at]


def test_a_reader_at_the_end_waits_until_there_is_more(quorum: Quorum) -> None:
    """It is answered in the turn after the change, once, with the new batch."""
    at = quorum.log.high_watermark
    waiting = quorum.ask(fetch_offset=at, last_fetched_epoch=1, high_watermark=at)
    assert isinstance(waiting, Deferred)
    answers: list[FetchResponse] = []
    waiting.on_done(answers.append)
    add_topic(quorum.log, 1)
    quorum.loop.settle()
    assert [offsets(answer.responses[0].partitions[0]) for answer in answers] == [[(at, 1)]]


def test_a_reader_at_the_end_is_answered_when_its_time_is_up(quorum: Quorum) -> None:
    """With no records; one that is gone before is forgotten."""
    at = quorum.log.high_watermark
    waiting = quorum.ask(fetch_offset=at, last_fetched_epoch=1, high_watermark=at)
    gone = quorum.ask(fetch_offset=at, last_fetched_epoch=1, high_watermark=at)
    assert isinstance(waiting, Deferred)
    assert isinstance(gone, Deferred)
    gone.cancel()
    answers: list[FetchResponse] = []
    waiting.on_done(answers.append)
    quorum.loop.advance(0.5)
    assert [answer.responses[0].partitions[0].records for answer in answers] == [b""]


def test_a_reader_that_does_not_know_the_high_watermark_is_told_at_once(quorum: Quorum) -> None:
    """KIP-1166; before version 18 a reader cannot say what it knows, and waits."""
    at = quorum.log.high_watermark
    assert quorum.ask_now(fetch_offset=at, last_fetched_epoch=1, high_watermark=-1).high_watermark == at
    assert isinstance(quorum.ask(17, fetch_offset=at, last_fetched_epoch=1, high_watermark=-1), Deferred)


@pytest.mark.parametrize(
    ("partition", "code"),
    [
        ({"current_leader_epoch": 1}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"current_leader_epoch": 3}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"fetch_offset": -1}, ErrorCode.INVALID_REQUEST),
        ({"last_fetched_epoch": -1}, ErrorCode.INVALID_REQUEST),
        ({"current_leader_epoch": -1}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_request_of_another_epoch_is_told_who_leads(partition: dict[str, int], code: ErrorCode) -> None:
    """With the leader's endpoint from version 17 on, and no high watermark."""
    files = new_files()
    open_leading(files).close()
    quorum = Quorum(open_leading(files))
    response = now(quorum.ask(18, None, **partition))
    data = response.responses[0].partitions[0]
    assert (data.error_code, data.high_watermark) == (code, -1)
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (NODE, 2)
    assert [(one.node_id, one.host, one.port) for one in response.node_endpoints] == [(NODE, "c.example", 9093)]


def test_other_topics_and_versions_and_clusters_are_refused_as_a_whole(quorum: Quorum) -> None:
    """INVALID_REQUEST, or INCONSISTENT_CLUSTER_ID; a request that names no cluster is served."""
    for version, request in (
        (12, FetchRequest()),
        (18, FetchRequest(topics=[FetchTopic(topic_id=UUID(int=5), partitions=[FetchPartition()])])),
        (18, FetchRequest(topics=[FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[FetchPartition(partition=1)])])),
        (18, FetchRequest(topics=[FetchTopic(topic_id=METADATA_TOPIC_ID)])),
    ):
        response = now(quorum.ask(version, request))
        assert response.error_code == ErrorCode.INVALID_REQUEST
    other = now(quorum.ask(request=FetchRequest(cluster_id="other")))
    assert other.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    none = now(quorum.ask(request=FetchRequest(cluster_id=None, max_bytes=1 << 20)))
    assert none.error_code == 0


def test_a_log_that_went_another_way_is_told_where() -> None:
    """The last epoch that both have, and where it ends here."""
    files = new_files()
    first = open_leading(files)
    add_topic(first, 1)
    end = first.high_watermark
    first.close()
    quorum = Quorum(open_leading(files))
    assert quorum.ask_now(fetch_offset=end, last_fetched_epoch=1).diverging_epoch == EpochEndOffset()
    data = quorum.ask_now(fetch_offset=end + 5, last_fetched_epoch=1)
    assert data.diverging_epoch == EpochEndOffset(epoch=1, end_offset=end)
    assert not data.records


def test_a_reader_of_what_a_snapshot_stands_for_is_told_of_it() -> None:
    """Also one that begins, although the log is still there."""
    quorum = Quorum(open_leading(new_files(), SnapshotSchedule(max_bytes=1)))
    add_topic(quorum.log, 1)
    end = quorum.log.high_watermark
    assert quorum.ask_now().snapshot_id == SnapshotId(end_offset=end, epoch=1)
    assert quorum.ask_now(fetch_offset=1, last_fetched_epoch=1).snapshot_id == SnapshotId()


def test_who_follows_is_known_by_node_and_directory(quorum: Quorum) -> None:
    """With the end of its log, and the time when it had everything; who gives no id is served and not known."""
    at = quorum.log.high_watermark
    quorum.ask(fetch_offset=at, last_fetched_epoch=1, high_watermark=at)
    quorum.clock.advance(0.01)
    add_topic(quorum.log, 1)
    quorum.ask(fetch_offset=at, last_fetched_epoch=1, high_watermark=at)
    ((key, progress),) = quorum.leader.observers.active(quorum.clock.now_ms())
    assert key == (1, UUID(int=7))
    began = quorum.clock.now_ms() - 10
    assert (progress.end_offset, progress.last_fetch_ms, progress.last_caught_up_ms) == (at, began + 10, began)
    request = FetchRequest(max_wait_ms=0)
    request.topics = [FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[FetchPartition(current_leader_epoch=1)])]
    quorum.handler.fetch(context(18), request)
    assert len(list(quorum.leader.observers.active(quorum.clock.now_ms()))) == 1
    assert not list(quorum.leader.observers.active(quorum.clock.now_ms() + 300_000))


def test_those_who_wait_are_answered_when_the_process_stops(quorum: Quorum) -> None:
    """At once, with what there is."""
    at = quorum.log.high_watermark
    waiting = quorum.ask(fetch_offset=at, last_fetched_epoch=1, high_watermark=at)
    assert isinstance(waiting, Deferred)
    quorum.handler.answer_waiting()
    assert isinstance(waiting.now_or_later(), FetchResponse)
