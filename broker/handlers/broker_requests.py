"""BrokerRegistration (0-4), BrokerHeartbeat (0-2), AlterPartition (0-3), AssignReplicasToDirs (0) and
AllocateProducerIds (0): what brokers ask the active controller for themselves.

Each answer has its error where brokers look for it. Version notes: registrations tell log directories from v2 on and
the epoch before from v3; heartbeats failed directories from v1; AlterPartition has topic ids from v2 and broker epochs
from v3.
"""

from odradek.broker.controller.broker_control import BrokerControl
from odradek.broker.controller.replication_control import ReplicationControl
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from odradek.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from odradek.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from odradek.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse


class BrokerRequestHandlers:
    """Answers what brokers ask the controller."""

    def __init__(self, brokers: BrokerControl, replication: ReplicationControl, clock: Clock) -> None:
        self._brokers = brokers
        self._replication = replication
        self._clock = clock

    def register(
        self, _context: RequestContext, request: BrokerRegistrationRequest
    ) -> BrokerRegistrationResponse | Deferred[BrokerRegistrationResponse]:
        """Answer BrokerRegistration."""
        return self._brokers.register(request, self._now_ms())

    def heartbeat(
        self, _context: RequestContext, request: BrokerHeartbeatRequest
    ) -> BrokerHeartbeatResponse | Deferred[BrokerHeartbeatResponse]:
        """Answer BrokerHeartbeat."""
        return self._brokers.heartbeat(request, self._now_ms())

    def alter_partition(
        self, context: RequestContext, request: AlterPartitionRequest
    ) -> AlterPartitionResponse | Deferred[AlterPartitionResponse]:
        """Answer AlterPartition."""
        return self._replication.alter_partition(request, context.api_version)

    def assign_directories(
        self, _context: RequestContext, request: AssignReplicasToDirsRequest
    ) -> AssignReplicasToDirsResponse | Deferred[AssignReplicasToDirsResponse]:
        """Answer AssignReplicasToDirs."""
        return self._replication.assign_directories(request)

    def allocate_producer_ids(
        self, _context: RequestContext, request: AllocateProducerIdsRequest
    ) -> AllocateProducerIdsResponse | Deferred[AllocateProducerIdsResponse]:
        """Answer AllocateProducerIds."""
        return self._replication.allocate_producer_ids(request)

    def _now_ms(self) -> int:
        """Return what sessions are measured by: it never goes back."""
        return int(self._clock.monotonic() * 1000)
