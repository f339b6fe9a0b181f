"""Fetches of followers and what the leader makes of them; consumers at followers, and those that have a nearer one."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from odradek.broker.handlers.delete_records import DeleteRecordsHandler
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData, ReplicaState
from odradek.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.support.deferred import now
from tests.support.partitions import Reply, context
from tests.support.replicated_brokers import TOPIC, TOPIC_ID, VERSION, ReplicatedBrokers
from tests.unit.broker.handlers.fetch_support import response, values

CONSUMER = -1


def quiet(count: int = 3, configs: Mapping[str, str] = MappingProxyType({})) -> ReplicatedBrokers:
    """Return brokers of which only the first runs: what followers ask is the test's business."""
    cluster = ReplicatedBrokers(count, configs)
    for node in range(2, count + 1):
        cluster.kill(node)
    cluster.cut(1)
    return cluster


def asked(replica: int, offset: int, epoch: int = 0, last_epoch: int = -1, broker_epoch: int = -1) -> FetchRequest:
    """Return a fetch of a follower, or of a consumer."""
    partition = FetchPartition(
        partition=0,
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        log_start_offset=0,
        partition_max_bytes=1 << 20,
    )
    return FetchRequest(
        replica_id=replica,
        replica_state=ReplicaState(replica_id=replica, replica_epoch=broker_epoch),
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])],
    )


def fetch(cluster: ReplicatedBrokers, request: FetchRequest, node: int = 1, version: int = VERSION) -> PartitionData:
    """Return what a broker answers of the partition."""
    reply = Reply(cluster[node].fetch(context(version, "follower"), request, b"\0\0\0\7\0"))
    [topic] = response(reply, version).responses
    [partition] = topic.partitions
    return partition


@pytest.mark.parametrize("version", [12, 14, 18])
def test_followers_read_to_the_end_and_consumers_what_is_committed(version: int) -> None:
    """Who asks stands in another place before version 15."""
    cluster = quiet()
    cluster.append(1, b"a")
    assert values(fetch(cluster, asked(2, 0), version=version)) == [(0, b"a")]
    assert values(fetch(cluster, asked(CONSUMER, 0), version=version)) == []
    assert cluster[1].partition.high_watermark == 0


def test_offset_that_is_asked_for_says_what_the_follower_has() -> None:
    """The high watermark follows once all in sync have told."""
    cluster = quiet()
    cluster.append(1, b"a")
    fetch(cluster, asked(2, 1))
    assert cluster[1].partition.high_watermark == 0
    assert fetch(cluster, asked(3, 1)).high_watermark == 1


@pytest.mark.parametrize(
    ("replica", "epoch", "broker_epoch", "code"),
    [
        (9, 0, -1, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (9, -1, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (2, 1, -1, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (2, 0, 101, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (2, 0, 102, ErrorCode.NONE),
    ],
)
def test_who_is_no_follower_is_refused(replica: int, epoch: int, broker_epoch: int, code: ErrorCode) -> None:
    """Not assigned, of another leader epoch, or of a registration that is over (KIP-903)."""
    cluster = quiet()
    assert fetch(cluster, asked(replica, 0, epoch, broker_epoch=broker_epoch)).error_code == code


def test_older_leader_epoch_is_fenced() -> None:
    """The follower has to learn of the new epoch first."""
    cluster = quiet()
    cluster.elect(1)
    assert fetch(cluster, asked(2, 0, 0)).error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_log_that_went_another_way_is_told_where_and_counts_for_nothing() -> None:
    """The answer has the epoch and its end here, no records; the follower's progress is not noted."""
    cluster = quiet()
    cluster.append(1, b"a")
    cluster.elect(1)
    cluster.append(1, b"b")
    found = fetch(cluster, asked(2, 2, 1, last_epoch=0))
    assert (found.diverging_epoch.epoch, found.diverging_epoch.end_offset) == (0, 1)
    assert values(found) == []
    assert cluster[1].leadership.state.followers[2].log_end_offset == -1


def test_offsets_that_the_leader_has_not_are_out_of_range() -> None:
    """Before its start, beyond its end, and an epoch that it never heard of."""
    cluster = quiet(1 + 1)
    cluster.append(1, b"a", b"b")
    fetch(cluster, asked(2, 2))
    cluster[1].partition.delete_records_before(1)
    for request in (asked(2, 0), asked(2, 0, last_epoch=0), asked(2, 3), asked(2, 1, last_epoch=7)):
        assert fetch(cluster, request).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_fetch_that_waits_is_woken_by_an_append_and_counts_once() -> None:
    """It tells where the follower was when it asked, not when it was answered."""
    cluster = quiet()
    request = asked(2, 0)
    request.max_wait_ms = 500
    reply = Reply(cluster[1].fetch(context(VERSION), request, b""))
    assert reply.is_waiting
    progress = cluster[1].leadership.state.followers[2]
    cluster.clock.advance(0.3)
    before = progress.last_fetch_ms
    cluster.append(1, b"a")
    cluster.loop.settle()
    assert len(reply.answers) == 1
    assert progress.last_fetch_ms == before


def test_consumer_reads_from_a_follower_what_that_one_knows_to_be_committed() -> None:
    """From version 11 on; older clients are sent to the leader (KIP-392)."""
    cluster = ReplicatedBrokers()
    cluster.append(1, b"a")
    cluster.pass_time(1)
    cluster.cut(3)
    cluster.append(1, b"b")
    cluster.settle()
    assert cluster[2].partition.log.log_end_offset == 2
    assert values(fetch(cluster, asked(CONSUMER, 0), node=2)) == [(0, b"a")]
    assert fetch(cluster, asked(CONSUMER, 0), node=2, version=10).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert fetch(cluster, asked(3, 0), node=2).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_consumer_is_sent_to_the_replica_in_its_rack() -> None:
    """If that one is in sync and has the offset; the leader serves those of its own rack and of none."""
    cluster = ReplicatedBrokers(nearest=True)
    for node, rack in ((1, "a"), (2, "b"), (3, "b")):
        cluster.set_broker(node, rack=rack)
    cluster.append(1, b"x")
    cluster.settle()

    def preferred(rack: str, offset: int = 0) -> int:
        request = asked(CONSUMER, offset)
        request.rack_id = rack
        return fetch(cluster, request).preferred_read_replica

    assert [preferred("a"), preferred("b"), preferred("c"), preferred("")] == [-1, 3, -1, -1]
    cluster.set_broker(3, fenced=True)
    assert preferred("b") == 2
    assert preferred("b", 2) == -1


def test_end_is_not_told_to_consumers_before_it_is_known_again() -> None:
    """OFFSET_NOT_AVAILABLE while the high watermark is below the start of the epoch; followers are told (KIP-207)."""
    cluster = quiet()
    cluster.append(1, b"a")
    cluster.elect(1)

    def latest(replica: int, version: int = 10) -> tuple[int, int]:
        partitions = [ListOffsetsPartition(partition_index=0, timestamp=-1, current_leader_epoch=-1)]
        request = ListOffsetsRequest(replica_id=replica, topics=[ListOffsetsTopic(name=TOPIC, partitions=partitions)])
        [found] = now(cluster[1].offsets.list_offsets(context(version), request)).topics[0].partitions
        return found.error_code, found.offset

    assert latest(CONSUMER) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)
    assert latest(CONSUMER, 4) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert latest(2) == (0, 1)
    for replica in (2, 3):
        fetch(cluster, asked(replica, 1, 1))
    assert latest(CONSUMER) == (0, 1)


def deleted(cluster: ReplicatedBrokers, offset: int, timeout_ms: int) -> list[DeleteRecordsPartitionResult]:
    """Delete records, and return the list that gets the result when it is there."""
    partitions = [DeleteRecordsPartition(partition_index=0, offset=offset)]
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=TOPIC, partitions=partitions)], timeout_ms=timeout_ms
    )
    outcome = DeleteRecordsHandler(cluster.loop, cluster[1].table)(context(2), request)
    results: list[DeleteRecordsPartitionResult] = []

    def arrived(response: DeleteRecordsResponse) -> None:
        results.extend(response.topics[0].partitions)

    if isinstance(outcome, Deferred):
        outcome.on_done(arrived)
    else:
        arrived(outcome)
    return results


def test_deletion_is_answered_when_all_replicas_have_deleted() -> None:
    """They learn of it with a fetch, and tell with the next one."""
    cluster = ReplicatedBrokers()
    cluster.append(1, b"a", b"b", b"c")
    cluster.settle()
    results = deleted(cluster, 2, 10_000)
    assert results == []
    cluster.pass_time(2)
    assert (results[0].error_code, results[0].low_watermark) == (0, 2)
    assert [broker.partition.log.log_start_offset for broker in cluster.brokers.values()] == [2, 2, 2]


def test_deletion_waits_no_longer_than_it_may_and_not_for_the_dead() -> None:
    """REQUEST_TIMED_OUT names the low watermark; a fenced broker holds up nobody."""
    cluster = ReplicatedBrokers()
    cluster.append(1, b"a", b"b", b"c")
    cluster.settle()
    cluster.cut(3)
    results = deleted(cluster, 2, 3_000)
    cluster.pass_time(4)
    assert (results[0].error_code, results[0].low_watermark) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    cluster.set_broker(3, fenced=True)
    results = deleted(cluster, 3, 3_000)
    cluster.pass_time(2)
    assert (results[0].error_code, results[0].low_watermark) == (0, 3)


def test_throttled_follower_that_is_not_in_sync_waits_for_its_share() -> None:
    """Of the partitions that the topic names; once it is in sync it is held back no more."""
    cluster = quiet(configs={"leader.replication.throttled.replicas": "0:1"})
    cluster.change(isr=(1, 2))
    cluster.leader_rate = 100
    cluster.append(1, b"x" * 1000)
    assert values(fetch(cluster, asked(3, 0))) != []
    assert values(fetch(cluster, asked(3, 0))) == []
    assert values(fetch(cluster, asked(2, 0))) != []
    cluster.clock.advance(30)
    assert values(fetch(cluster, asked(3, 0))) != []
    cluster.leader_rate = (1 << 63) - 1
    assert values(fetch(cluster, asked(3, 0))) != []
