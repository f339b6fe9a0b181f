"""ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments, UpdateFeatures, UnregisterBroker: one node."""

from odradek.broker.controller.controller import Controller
from odradek.broker.controller.replication_control import ReplicationControl
from odradek.broker.handlers.replication import ReplicationHandlers
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from odradek.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from odradek.protocol.messages.unregister_broker import UnregisterBrokerRequest
from odradek.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.support.deferred import now
from tests.unit.broker.handlers.metadata_support import at
from tests.unit.broker.metadata.support import NODE, ONE_BROKER, RULES, MemorySource, create


def new_handlers() -> ReplicationHandlers:
    """Return the handlers of a node with a topic `t` of two partitions."""
    source = MemorySource()
    controller = Controller(source, RULES, BrokerConfigs(source, NODE, {}), ONE_BROKER)
    create(controller, "t", 2)
    return ReplicationHandlers(ReplicationControl(controller, NODE))


def test_the_only_broker_leads_already() -> None:
    """There is nothing to elect, and clients are told so."""
    request = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=[1])])
    response = now(new_handlers().elect_leaders(at(2), request))
    assert response.replica_election_results[0].partition_result[0].error_code == ErrorCode.ELECTION_NOT_NEEDED


def test_replicas_cannot_go_to_a_broker_that_there_is_not() -> None:
    """The reassignment to where they are is done, and none is ever under way."""
    handlers = new_handlers()
    wishes = [ReassignablePartition(partition_index=0, replicas=[one]) for one in (NODE, 2)]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="t", partitions=wishes)])
    response = now(handlers.alter_reassignments(at(0), request))
    codes = [one.error_code for one in response.responses[0].partitions]
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_REPLICA_ASSIGNMENT]
    assert handlers.list_reassignments(at(0), ListPartitionReassignmentsRequest()).topics == []


def test_result_of_each_feature_ends_with_version_1() -> None:
    """Version 2 has one for all of them."""
    request = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature="group.version", max_version_level=1)])
    for version, results in ((0, 1), (1, 1), (2, 0)):
        response = now(new_handlers().update_features(at(version), request))
        assert (response.error_code, len(response.results)) == (ErrorCode.NONE, results)


def test_this_broker_is_not_registered() -> None:
    """A single node does not register itself: there is nobody to forget."""
    response = now(new_handlers().unregister_broker(at(0), UnregisterBrokerRequest(broker_id=NODE)))
    assert response.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
