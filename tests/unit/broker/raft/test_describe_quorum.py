"""DescribeQuorum: the voter and those who follow it."""

from uuid import UUID

from odradek.broker.raft.describe_quorum import QuorumDescriber
from odradek.broker.raft.observers import SESSION_MS, Observers, ReplicaKey, ReplicaProgress
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.describe_quorum import (
    DescribeQuorumPartition,
    DescribeQuorumRequest,
    DescribeQuorumTopic,
)
from odradek.storage.names import METADATA_TOPIC
from tests.support.clock import ManualClock
from tests.unit.broker.raft.support import NODE, context, leader_of, new_files, open_leading

BROKER = ReplicaKey(1, UUID(int=5))


def ask(topic: str = METADATA_TOPIC, partition: int = 0) -> DescribeQuorumRequest:
    """Return a request for one partition."""
    partitions = [DescribeQuorumPartition(partition_index=partition)]
    return DescribeQuorumRequest(topics=[DescribeQuorumTopic(topic_name=topic, partitions=partitions)])


def test_the_voter_is_at_the_end_and_observers_where_they_fetched() -> None:
    """With the times of their last fetch, and when they had everything."""
    log, clock = open_leading(new_files()), ManualClock()
    leader = leader_of(log)
    end, began = log.high_watermark, clock.now_ms()
    leader.observers.note_fetch(BROKER, 3, end, began)
    clock.advance(1)
    response = QuorumDescriber(log, leader, clock).describe_quorum(context(2), ask())
    encode(response, 2)
    (partition,) = response.topics[0].partitions
    assert (partition.leader_id, partition.leader_epoch, partition.high_watermark) == (NODE, 1, end)
    ((voter,), (observer,)) = partition.current_voters, partition.observers
    assert (voter.replica_id, voter.replica_directory_id, voter.log_end_offset) == (NODE, UUID(int=0), end)
    assert voter.last_fetch_timestamp == voter.last_caught_up_timestamp == began + 1000
    assert (observer.replica_id, observer.replica_directory_id, observer.log_end_offset) == (*BROKER, 3)
    assert (observer.last_fetch_timestamp, observer.last_caught_up_timestamp) == (began, -1)
    assert [(node.node_id, node.listeners[0].name, node.listeners[0].port) for node in response.nodes] == [
        (NODE, "CONTROLLER", 9093)
    ]


def test_a_quorum_that_nobody_can_join_has_no_listeners() -> None:
    """A single node without a listener of the controller."""
    log = open_leading(new_files())
    describer = QuorumDescriber(log, leader_of(log), ManualClock(), is_open=False)
    response = describer.describe_quorum(context(2), ask())
    assert [(node.node_id, node.listeners) for node in response.nodes] == [(NODE, [])]


def test_other_partitions_are_not_known() -> None:
    """UNKNOWN_TOPIC_OR_PARTITION for each."""
    log = open_leading(new_files())
    describer = QuorumDescriber(log, leader_of(log), ManualClock())
    for request in (ask("t"), ask(partition=1)):
        response = describer.describe_quorum(context(2), request)
        assert [one.error_code for one in response.topics[0].partitions] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_follower_was_caught_up_when_it_asks_for_what_was_the_end_at_its_last_fetch() -> None:
    """So one that follows a log that grows all the time is not called slow."""
    progress = ReplicaProgress()
    progress.note_fetch(5, 9, 100)
    assert progress.last_caught_up_ms == -1
    progress.note_fetch(9, 12, 200)
    assert progress.last_caught_up_ms == 100
    progress.note_fetch(12, 12, 300)
    assert (progress.end_offset, progress.last_fetch_ms, progress.last_caught_up_ms) == (12, 300, 300)


def test_observers_that_are_silent_are_forgotten() -> None:
    """After five minutes, as in Kafka."""
    observers = Observers()
    observers.note_fetch(BROKER, 1, 1, 0)
    assert len(list(observers.active(SESSION_MS - 1))) == 1
    assert not list(observers.active(SESSION_MS))
