"""The only voter of a quorum follows nobody, whatever it is told."""

from uuid import UUID

import pytest

from odradek.broker.raft.elections import ElectionHandlers
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.begin_quorum_epoch import (
    BeginningEpoch,
    BeginQuorumEpochRequest,
    BeginQuorumEpochTopic,
)
from odradek.protocol.messages.end_quorum_epoch import EndingEpoch, EndQuorumEpochRequest, EndQuorumEpochTopic
from odradek.protocol.messages.vote import CandidateState, VoteRequest, VoteRequestTopic
from odradek.storage.names import METADATA_TOPIC
from tests.unit.broker.raft.support import CLUSTER, DIRECTORY_ID, NODE, context, leader_of, new_files, open_leading


@pytest.fixture
def handlers() -> ElectionHandlers:
    """The handlers of a leader in epoch 1."""
    return ElectionHandlers(leader_of(open_leading(new_files())))


def candidate(**given: object) -> CandidateState:
    """Return a node that stands for election in epoch 2."""
    values: dict[str, object] = {"replica_epoch": 2, "replica_id": 9, "last_offset_epoch": 1, "last_offset": 5}
    return CandidateState(**(values | given))  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, ErrorCode.NONE),
        ({"replica_epoch": 99}, ErrorCode.NONE),
        ({"replica_epoch": 1, "pre_vote": True}, ErrorCode.NONE),
        ({"replica_epoch": 0, "last_offset_epoch": 0, "pre_vote": True}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"replica_epoch": 1}, ErrorCode.INVALID_REQUEST),
        ({"last_offset": -1}, ErrorCode.INVALID_REQUEST),
        ({"last_offset_epoch": 3}, ErrorCode.INVALID_REQUEST),
        ({"replica_id": -1}, ErrorCode.INVALID_REQUEST),
        ({"voter_directory_id": UUID(int=77)}, ErrorCode.INVALID_VOTER_KEY),
        ({"voter_directory_id": DIRECTORY_ID}, ErrorCode.NONE),
    ],
)
def test_a_vote_is_never_granted(handlers: ElectionHandlers, given: dict[str, object], code: ErrorCode) -> None:
    """The candidate is told who leads, and where."""
    topic = VoteRequestTopic(topic_name=METADATA_TOPIC, partitions=[candidate(**given)])
    response = handlers.vote(context(2), VoteRequest(cluster_id=CLUSTER, voter_id=NODE, topics=[topic]))
    result = response.topics[0].partitions[0]
    assert (response.error_code, result.error_code, result.vote_granted) == (0, code, False)
    assert (result.leader_id, result.leader_epoch) == (NODE, 1)
    assert [(one.node_id, one.host, one.port) for one in response.node_endpoints] == [(NODE, "c.example", 9093)]
    encode(response, 2)


@pytest.mark.parametrize(
    ("leader", "epoch", "code"),
    [
        (NODE, 1, ErrorCode.NONE),
        (9, 0, ErrorCode.FENCED_LEADER_EPOCH),
        (9, 1, ErrorCode.INVALID_REQUEST),
        (9, 2, ErrorCode.INVALID_REQUEST),
    ],
)
def test_another_leader_is_refused(handlers: ElectionHandlers, leader: int, epoch: int, code: ErrorCode) -> None:
    """When it begins and when it ends; of its own epoch there is nothing to say."""
    beginning = BeginQuorumEpochTopic(
        topic_name=METADATA_TOPIC, partitions=[BeginningEpoch(leader_id=leader, leader_epoch=epoch)]
    )
    begun = handlers.begin_quorum_epoch(context(1), BeginQuorumEpochRequest(topics=[beginning]))
    ending = EndQuorumEpochTopic(
        topic_name=METADATA_TOPIC, partitions=[EndingEpoch(leader_id=leader, leader_epoch=epoch)]
    )
    ended = handlers.end_quorum_epoch(context(1), EndQuorumEpochRequest(topics=[ending]))
    for response in (begun, ended):
        result = response.topics[0].partitions[0]
        assert (result.error_code, result.leader_id, result.leader_epoch) == (code, NODE, 1)
        assert [one.node_id for one in response.node_endpoints] == [NODE]
        encode(response, 1)


def test_a_request_to_another_voter_is_refused(handlers: ElectionHandlers) -> None:
    """It was sent to an address that another node had."""
    beginning = BeginQuorumEpochTopic(
        topic_name=METADATA_TOPIC, partitions=[BeginningEpoch(leader_id=9, leader_epoch=2)]
    )
    response = handlers.begin_quorum_epoch(context(1), BeginQuorumEpochRequest(voter_id=8, topics=[beginning]))
    assert response.topics[0].partitions[0].error_code == ErrorCode.INVALID_VOTER_KEY


def test_other_clusters_and_topics_are_refused_as_a_whole(handlers: ElectionHandlers) -> None:
    """INCONSISTENT_CLUSTER_ID, INVALID_REQUEST."""
    assert handlers.vote(context(2), VoteRequest(cluster_id="x")).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    for topics in (
        [],
        [VoteRequestTopic(topic_name="t", partitions=[candidate()])],
        [VoteRequestTopic(topic_name=METADATA_TOPIC, partitions=[])],
        [VoteRequestTopic(topic_name=METADATA_TOPIC, partitions=[candidate(partition_index=1)])],
    ):
        assert handlers.vote(context(2), VoteRequest(topics=topics)).error_code == ErrorCode.INVALID_REQUEST
    began = handlers.begin_quorum_epoch(context(1), BeginQuorumEpochRequest(cluster_id="x"))
    ended = handlers.end_quorum_epoch(context(1), EndQuorumEpochRequest())
    assert began.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert ended.error_code == ErrorCode.INVALID_REQUEST
