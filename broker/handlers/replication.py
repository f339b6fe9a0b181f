"""ElectLeaders (0-2), AlterPartitionReassignments (0-1), ListPartitionReassignments (0), UpdateFeatures (0-2) and
UnregisterBroker (0).

Everything is done before the answer, which waits for the disk and nothing else, so `timeout_ms` never matters. Version
notes: ElectLeaders v0 elects preferred replicas only and has no error for the whole request; UpdateFeatures v2 has none
for each feature.
"""

from odradek.broker.controller.replication_control import ReplicationControl
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from odradek.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from odradek.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from odradek.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from odradek.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse


class ReplicationHandlers:
    """Answers what users ask about leaders, replicas, features and brokers."""

    def __init__(self, replication: ReplicationControl) -> None:
        self._replication = replication

    def elect_leaders(
        self, _context: RequestContext, request: ElectLeadersRequest
    ) -> ElectLeadersResponse | Deferred[ElectLeadersResponse]:
        """Answer ElectLeaders."""
        return self._replication.elect_leaders(request)

    def alter_reassignments(
        self, _context: RequestContext, request: AlterPartitionReassignmentsRequest
    ) -> AlterPartitionReassignmentsResponse | Deferred[AlterPartitionReassignmentsResponse]:
        """Answer AlterPartitionReassignments."""
        return self._replication.alter_reassignments(request)

    def list_reassignments(
        self, _context: RequestContext, request: ListPartitionReassignmentsRequest
    ) -> ListPartitionReassignmentsResponse:
        """Answer ListPartitionReassignments."""
        return self._replication.list_reassignments(request)

    def update_features(
        self, context: RequestContext, request: UpdateFeaturesRequest
    ) -> UpdateFeaturesResponse | Deferred[UpdateFeaturesResponse]:
        """Answer UpdateFeatures."""
        return self._replication.update_features(request, context.api_version)

    def unregister_broker(
        self, _context: RequestContext, request: UnregisterBrokerRequest
    ) -> UnregisterBrokerResponse | Deferred[UnregisterBrokerResponse]:
        """Answer UnregisterBroker."""
        return self._replication.unregister_broker(request)
