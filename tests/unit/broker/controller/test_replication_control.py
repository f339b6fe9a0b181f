"""What is asked about partitions, features and brokers: answers, records, and nothing half done."""

from uuid import UUID

import pytest

from odradek.broker.controller.controller import Controller
from odradek.broker.controller.controller_view import registered_brokers
from odradek.broker.controller.replication_control import ReplicationControl
from odradek.broker.controller.topics import PlacementRules
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.image import LOST_DIRECTORY, UNASSIGNED_DIRECTORY, MetadataImage
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from odradek.protocol.messages.alter_partition import AlterPartitionRequest
from odradek.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.protocol.messages.assign_replicas_to_dirs import (
    AssignedDirectory,
    AssignedPartition,
    AssignedTopic,
    AssignReplicasToDirsRequest,
)
from odradek.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from odradek.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment,
)
from odradek.protocol.messages.metadata_records import (
    ConfigRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    UnregisterBrokerRecord,
)
from odradek.protocol.messages.unregister_broker import UnregisterBrokerRequest
from odradek.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from tests.support.deferred import now
from tests.unit.broker.controller.cluster import (
    ELR,
    NO_LEADER,
    TOPIC,
    TOPIC_ID,
    broker,
    change,
    cluster,
    directory_of,
    fenced,
    messages_of,
    partition,
    state_of,
)
from tests.unit.broker.metadata.support import MemorySource

PREFERRED, UNCLEAN = 0, 1
OTHER_DIRECTORY = UUID(int=0xD00D)


class Replication:
    """A controller of partitions."""

    def __init__(self, image: MetadataImage, **static: str) -> None:
        self.source = MemorySource(image)
        configs = BrokerConfigs(self.source, 9, {key.replace("_", "."): value for key, value in static.items()})
        controller = Controller(self.source, PlacementRules(), configs, registered_brokers)
        self.control = ReplicationControl(controller, 9)

    @property
    def written(self) -> list[list[object]]:
        """What was written, change by change."""
        return [messages_of(batch) for batch in self.source.batches]

    def elect(self, kind: int, *numbers: int) -> list[int]:
        """Elect leaders for partitions of `t`; return the codes."""
        request = ElectLeadersRequest(
            election_type=kind, topic_partitions=[TopicPartitions(topic=TOPIC, partitions=list(numbers))]
        )
        response = now(self.control.elect_leaders(request))
        return [one.error_code for one in response.replica_election_results[0].partition_result]

    def reassign(self, replicas: list[int] | None, number: int = 0, *, may_change_factor: bool = True) -> int:
        """Reassign a partition of `t`; return the code."""
        wish = ReassignablePartition(partition_index=number, replicas=replicas)
        request = AlterPartitionReassignmentsRequest(
            allow_replication_factor_change=may_change_factor, topics=[ReassignableTopic(name=TOPIC, partitions=[wish])]
        )
        return now(self.control.alter_reassignments(request)).responses[0].partitions[0].error_code

    def update(
        self, *updates: tuple[str, int, int], version: int = 2, validate: bool = False
    ) -> UpdateFeaturesResponse:
        """Finalize levels: name, level, kind of change."""
        keys = [
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind) for name, level, kind in updates
        ]
        return now(
            self.control.update_features(UpdateFeaturesRequest(feature_updates=keys, validate_only=validate), version)
        )


def test_preferred_election_moves_the_leader_back() -> None:
    """Where it leads already that is told, where it is not in sync too, and the rest is done."""
    replication = Replication(
        cluster(
            partition([1, 2], leader=2),
            partition([1, 2], number=1),
            partition([1, 2], number=2, isr=[2], leader=2),
        )
    )
    assert replication.elect(PREFERRED, 0, 1, 2, 3) == [
        ErrorCode.NONE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert replication.written == [[change(leader=1)]]


def test_unclean_election_is_for_partitions_without_a_leader() -> None:
    """The first replica that lives leads, whatever it lacks; where none lives, nobody."""
    replication = Replication(
        cluster(
            partition([2, 1], isr=[2], leader=NO_LEADER),
            partition([1, 2], number=1),
            partition([2], number=2, leader=NO_LEADER),
            fenced(2),
        )
    )
    assert replication.elect(UNCLEAN, 0, 1, 2) == [
        ErrorCode.NONE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    ]
    assert state_of(replication.source.image).isr == (1,)


def test_election_of_all_tells_only_what_was_tried() -> None:
    """Partitions that need none are left out."""
    replication = Replication(cluster(partition([1, 2], leader=2), partition([1, 2], number=1)))
    response = now(replication.control.elect_leaders(ElectLeadersRequest(topic_partitions=None)))
    assert [one.partition_id for one in response.replica_election_results[0].partition_result] == [0]


def test_election_that_cannot_be_stored_is_an_error_of_every_partition() -> None:
    """The client must not believe it."""
    replication = Replication(cluster(partition([1, 2], leader=2)))
    replication.source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "full")
    assert replication.elect(PREFERRED, 0) == [ErrorCode.KAFKA_STORAGE_ERROR]


def test_reassignment_begins_with_all_replicas_and_can_be_called_off() -> None:
    """The wanted ones first; called off, the partition is as it was."""
    replication = Replication(cluster(partition([1, 2]), brokers=range(1, 5)))
    assert replication.reassign([4, 3]) == ErrorCode.NONE
    assert state_of(replication.source.image).replicas == (4, 3, 1, 2)
    wanted = ListPartitionReassignmentsTopics(name=TOPIC, partition_indexes=[0, 7])
    for topics in (None, [wanted]):
        (found,) = replication.control.list_reassignments(ListPartitionReassignmentsRequest(topics=topics)).topics
        assert found.partitions == [
            OngoingPartitionReassignment(
                partition_index=0, replicas=[4, 3, 1, 2], adding_replicas=[3, 4], removing_replicas=[1, 2]
            )
        ]
    assert replication.reassign(None) == ErrorCode.NONE
    after = state_of(replication.source.image)
    assert (after.replicas, after.isr, after.adding_replicas, after.removing_replicas) == ((1, 2), (1, 2), (), ())
    assert after.directories == (directory_of(1), directory_of(2))
    assert replication.reassign(None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


@pytest.mark.parametrize(("replicas", "leader"), [([2, 1], 1), ([2], 2), ([1], 1)])
def test_reassignment_that_needs_no_new_replica_ends_at_once(replicas: list[int], leader: int) -> None:
    """A new order leaves the leader where it is; a replica that goes is gone with the answer."""
    replication = Replication(cluster(partition([1, 2])))
    assert replication.reassign(replicas) == ErrorCode.NONE
    after = state_of(replication.source.image)
    assert (list(after.replicas), after.leader, after.removing_replicas) == (replicas, leader, ())


def test_called_off_only_with_a_leader_that_has_everything() -> None:
    """Where only new replicas are in sync, going back loses records: only if the topic allows that."""
    moving = partition([3, 1], isr=[3], leader=3, removing_replicas=[1], adding_replicas=[3, 2])
    assert Replication(cluster(moving)).reassign(None) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    unclean = ConfigRecord(resource_type=2, resource_name=TOPIC, name="unclean.leader.election.enable", value="true")
    replication = Replication(cluster(moving, unclean))
    assert replication.reassign(None) == ErrorCode.NONE
    assert state_of(replication.source.image).isr == (1,)


@pytest.mark.parametrize(
    ("replicas", "code"),
    [
        ([], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 9], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1], ErrorCode.INVALID_REPLICATION_FACTOR),
        ([1, 3], ErrorCode.NONE),
    ],
)
def test_reassignment_is_checked_and_may_keep_the_factor(replicas: list[int], code: ErrorCode) -> None:
    """Registered brokers, each once, and as many as before where the client says so (KIP-860)."""
    assert Replication(cluster(partition([1, 2]))).reassign(replicas, may_change_factor=False) == code


def test_directories_of_replicas_are_recorded() -> None:
    """One that has failed takes the replica out of the ISR in the same change."""
    unknown = partition([1, 2], directories=[UNASSIGNED_DIRECTORY, directory_of(2)])
    replication = Replication(cluster(broker(1, log_dirs=[OTHER_DIRECTORY]), unknown))

    def assign(directory: UUID, topic: UUID = TOPIC_ID, number: int = 0) -> int:
        topics = [AssignedTopic(topic_id=topic, partitions=[AssignedPartition(partition_index=number)])]
        request = AssignReplicasToDirsRequest(
            broker_id=1, broker_epoch=100, directories=[AssignedDirectory(id=directory, topics=topics)]
        )
        return now(replication.control.assign_directories(request)).directories[0].topics[0].partitions[0].error_code

    assert assign(OTHER_DIRECTORY) == ErrorCode.NONE
    assert replication.written == [[change(directories=[OTHER_DIRECTORY, directory_of(2)])]]
    assert assign(OTHER_DIRECTORY, UUID(int=9)) == ErrorCode.UNKNOWN_TOPIC_ID
    assert assign(OTHER_DIRECTORY, number=5) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert assign(LOST_DIRECTORY) == ErrorCode.NONE
    after = state_of(replication.source.image)
    assert (after.leader, after.isr, after.directories[0]) == (2, (2,), LOST_DIRECTORY)


def test_directory_of_a_replica_that_is_elsewhere_is_refused() -> None:
    """NOT_LEADER_OR_FOLLOWER; the epoch of the broker is checked first."""
    replication = Replication(cluster(partition([2, 3])))
    topics = [AssignedTopic(topic_id=TOPIC_ID, partitions=[AssignedPartition(partition_index=0)])]
    request = AssignReplicasToDirsRequest(
        broker_id=1, broker_epoch=100, directories=[AssignedDirectory(id=directory_of(1), topics=topics)]
    )
    answer = now(replication.control.assign_directories(request))
    assert answer.directories[0].topics[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    request.broker_epoch = 5
    assert now(replication.control.assign_directories(request)).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_producer_ids_are_given_in_blocks_that_nobody_else_has() -> None:
    """A thousand each, to registered brokers only."""
    replication = Replication(cluster())
    request = AllocateProducerIdsRequest(broker_id=2, broker_epoch=200)
    blocks = [now(replication.control.allocate_producer_ids(request)) for _ in range(2)]
    assert [(block.producer_id_start, block.producer_id_len) for block in blocks] == [(0, 1000), (1000, 1000)]
    assert replication.written[0] == [ProducerIdsRecord(broker_id=2, broker_epoch=200, next_producer_id=1000)]
    request.broker_epoch = 1
    assert now(replication.control.allocate_producer_ids(request)).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_unregistered_broker_is_in_no_isr() -> None:
    """One of the last that were in sync stays eligible, in case it comes back in order, as for Kafka's controller."""
    replication = Replication(
        cluster(
            partition([1, 2]),
            partition([2, 3], number=1, isr=[3], leader=3, eligible_leader_replicas=[2]),
            elr=True,
        ),
        min_insync_replicas="2",
    )
    assert now(replication.control.unregister_broker(UnregisterBrokerRequest(broker_id=2))).error_code == ErrorCode.NONE
    assert replication.written == [
        [
            change(isr=[1], eligible_leader_replicas=[2]),
            UnregisterBrokerRecord(broker_id=2, broker_epoch=200),
        ]
    ]
    again = now(replication.control.unregister_broker(UnregisterBrokerRequest(broker_id=2)))
    assert again.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_stale_leader_is_told_at_the_top() -> None:
    """AlterPartition of a broker that has registered anew."""
    request = AlterPartitionRequest(broker_id=1, broker_epoch=1)
    assert now(Replication(cluster()).control.alter_partition(request, 3)).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_leaders_are_balanced_a_thousand_at_a_time() -> None:
    """Each pass is a change of its own, until none is left; those not in sync stay where they are."""
    many = [partition([1, 2], number=number, leader=2) for number in range(1_500)]
    away = partition([1, 2], number=1_500, isr=[2], leader=2)
    replication = Replication(cluster(*many, away))
    replication.control.balance_leaders()
    assert [len(batch) for batch in replication.written] == [1_000, 500]
    replication.control.balance_leaders()
    assert len(replication.written) == 2


def test_unclean_leaders_are_elected_where_the_topic_allows_it() -> None:
    """The default forbids it."""
    dead = partition([2, 1], isr=[2], leader=NO_LEADER)
    careful = Replication(cluster(dead, fenced(2)))
    careful.control.elect_unclean_leaders()
    assert careful.written == []
    hasty = Replication(cluster(dead, fenced(2)), unclean_leader_election_enable="true")
    hasty.control.elect_unclean_leaders()
    assert state_of(hasty.source.image).leader == 1


def test_levels_of_features_are_finalized_together() -> None:
    """All or none: one that cannot be refuses the others; a dry run changes nothing."""
    replication = Replication(cluster(brokers=[]))
    refused = replication.update(("share.version", 1, 1), ("group.version", 9, 1))
    assert refused.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert replication.update(("share.version", 1, 1), validate=True).error_code == ErrorCode.NONE
    assert replication.written == []
    done = replication.update(("share.version", 1, 1), ("group.version", 0, 2), version=1)
    assert [one.feature for one in done.results] == ["share.version", "group.version"]
    assert replication.source.image.feature("share.version") == 1
    assert replication.source.image.feature("group.version") == 0


def test_last_level_that_is_asked_of_a_feature_counts() -> None:
    """One record, as Kafka's controller writes; the answer tells of both."""
    replication = Replication(cluster(brokers=[]))
    done = replication.update(("group.version", 1, 1), ("group.version", 0, 2), version=1)
    assert [one.feature for one in done.results] == ["group.version", "group.version"]
    assert replication.written == [[FeatureLevelRecord(name="group.version", feature_level=0)]]


def test_level_must_suit_every_broker() -> None:
    """A broker that cannot run it would be shut out."""
    features = [("group.version", 0, 0)]
    image = cluster(brokers=[1])
    old = image.brokers[1]._replace(features=tuple(features))
    replication = Replication(image._replace(brokers={1: old}, features={**image.features, "group.version": 0}))
    assert "Broker 1 only supports versions 0-0" in (replication.update(("group.version", 1, 1)).error_message or "")


def test_eligible_leaders_begin_with_one_min_isr_for_all() -> None:
    """It decides from then on who may lead, so that it becomes the cluster's (KIP-966)."""
    replication = Replication(cluster(brokers=[]), min_insync_replicas="2")
    replication.update((ELR, 1, 1))
    assert replication.written == [
        [
            ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="2"),
            FeatureLevelRecord(name=ELR, feature_level=1),
        ]
    ]


def test_quorum_stays_static() -> None:
    """The level of kraft.version is no record; the one that is in force changes nothing."""
    replication = Replication(cluster(brokers=[]))
    assert replication.update(("kraft.version", 1, 1)).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert replication.update(("kraft.version", 0, 1)).error_code == ErrorCode.NONE
    assert replication.written == []
