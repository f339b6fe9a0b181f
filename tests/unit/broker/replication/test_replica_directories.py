"""Which directories of replicas a controller is told, and in which form."""

from uuid import UUID

import pytest

from odradek.broker.metadata.image import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    MetadataImage,
    PartitionImage,
)
from odradek.broker.replication.replica_directories import (
    ReplicaPlace,
    assignment_request,
    changed_places,
    misplaced,
    verdicts,
)
from odradek.protocol.codec import decode, encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.assign_replicas_to_dirs import (
    AssignedDirectoryResult,
    AssignedPartitionResult,
    AssignedTopicResult,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from odradek.storage.names import TopicPartition
from tests.unit.broker.replication.directories import (
    HERE,
    NODE,
    OTHER_NODE,
    THERE,
    TOPIC,
    TOPIC_ID,
    a_partition,
    an_image,
)

PLACE = ReplicaPlace(TOPIC_ID, 0)


def told(image: MetadataImage, place: ReplicaPlace = PLACE, actual: UUID | None = HERE) -> UUID | None:
    """Return what is told of a replica that lies in `actual`."""

    def locate(partition: TopicPartition, topic_id: UUID) -> UUID | None:
        assert (partition, topic_id) == (TopicPartition(TOPIC, place.partition), TOPIC_ID)
        return actual

    return misplaced(image, place, NODE, locate)


@pytest.mark.parametrize("recorded", [UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY, LOST_DIRECTORY, THERE])
def test_a_replica_is_told_that_lies_elsewhere_than_the_metadata_says(recorded: UUID) -> None:
    """Whether that names no directory, a lost one, or another."""
    assert told(an_image([a_partition(recorded)])) == HERE


def test_a_record_of_before_directories_counts_as_one_without() -> None:
    """As Kafka reads it; all its replicas are told once the metadata.version records directories."""
    partition = PartitionImage((NODE,), (NODE,), NODE, 0, 0)
    assert told(an_image([partition])) == HERE
    assert told(an_image([partition], level=16)) is None


def test_nothing_is_told_of_what_is_known_not_open_not_here_or_gone() -> None:
    """The controller would write records for nothing, or refuse."""
    assert told(an_image([a_partition(HERE)])) is None
    assert told(an_image([a_partition()]), actual=None) is None
    assert told(an_image([PartitionImage((OTHER_NODE,), (OTHER_NODE,), OTHER_NODE, 0, 0)])) is None
    assert told(an_image([a_partition()]), ReplicaPlace(TOPIC_ID, 1)) is None
    assert told(MetadataImage(), PLACE) is None


def test_partitions_are_looked_at_where_the_metadata_says_something_new() -> None:
    """And all of them once directories are recorded at all."""
    same, before, after = a_partition(), a_partition(), a_partition(THERE)
    old = an_image([same, before])
    assert list(changed_places(old, old)) == []
    assert list(changed_places(old, an_image([same, after, before]))) == [
        ReplicaPlace(TOPIC_ID, 1),
        ReplicaPlace(TOPIC_ID, 2),
    ]
    assert list(changed_places(an_image([same], level=16), an_image([same]))) == [PLACE]
    assert list(changed_places(old, MetadataImage())) == []


def test_a_request_names_each_directory_and_topic_once() -> None:
    """Replicas of one topic in two directories, and of two topics in one."""
    other = UUID(int=78)
    places = {
        PLACE: HERE,
        ReplicaPlace(other, 4): HERE,
        ReplicaPlace(TOPIC_ID, 1): THERE,
        ReplicaPlace(TOPIC_ID, 2): HERE,
    }
    request = decode(AssignReplicasToDirsRequest, encode(assignment_request(NODE, 9, places), 0), 0)[0]
    assert (request.broker_id, request.broker_epoch) == (NODE, 9)
    assert [
        (one.id, [(topic.topic_id, [p.partition_index for p in topic.partitions]) for topic in one.topics])
        for one in request.directories
    ] == [(HERE, [(TOPIC_ID, [0, 2]), (other, [4])]), (THERE, [(TOPIC_ID, [1])])]


def test_the_answer_has_a_verdict_for_each_replica() -> None:
    """A code of a later Kafka counts as an unknown error."""
    results = [
        AssignedPartitionResult(partition_index=index, error_code=code) for index, code in enumerate([0, 3, 9999])
    ]
    topic = AssignedTopicResult(topic_id=TOPIC_ID, partitions=results)
    response = AssignReplicasToDirsResponse(directories=[AssignedDirectoryResult(id=HERE, topics=[topic])])
    assert list(verdicts(response).values()) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ]
