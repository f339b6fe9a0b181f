"""What becomes of partitions, as the active controller decides it: ISRs, leaders, replicas, directories; and features.

Owns: proposing what the planning modules make of a request, and its answer. Must not know: connections, wire versions,
clocks. Answers are Kafka's, error codes where each API has them, and come once what they promise is durable.

    alter_partition, assign_directories, allocate_producer_ids   what brokers ask
    elect_leaders, alter_reassignments, list_reassignments, update_features, unregister_broker   what users ask
    balance_leaders()            every leader.imbalance.check.interval.seconds, where auto.leader.rebalance.enable
    elect_unclean_leaders()      every unclean.leader.election.interval.ms
"""

from collections.abc import Callable

from odradek.broker.controller.broker_changes import plan_unregistering
from odradek.broker.controller.controller import Controller, Plan
from odradek.broker.controller.controller_view import ControllerView
from odradek.broker.controller.directory_assignments import plan_assignments
from odradek.broker.controller.elections import (
    MAX_ELECTIONS,
    plan_balance,
    plan_elections,
    plan_unclean_elections,
    refused_elections,
)
from odradek.broker.controller.feature_updates import plan_features, updated_features
from odradek.broker.controller.isr_changes import plan_isr_changes
from odradek.broker.controller.reassignments import list_reassignments, plan_reassignments
from odradek.broker.metadata.producer_ids import BLOCK_SIZE
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.broker.runtime.deferred import Deferred, then
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from odradek.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from odradek.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from odradek.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from odradek.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from odradek.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from odradek.protocol.messages.metadata_records import ProducerIdsRecord
from odradek.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from odradek.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

log = get_logger("controller")


class ReplicationControl:
    """Answers what is asked of the active controller about partitions, and looks after them by itself."""

    def __init__(self, controller: Controller, node_id: int) -> None:
        """`node_id` is that of the controller; answers about features name it."""
        self._controller = controller
        self._node_id = node_id
        self._is_balancing = False

    def alter_partition(
        self, request: AlterPartitionRequest, version: int
    ) -> AlterPartitionResponse | Deferred[AlterPartitionResponse]:
        """Answer AlterPartition of this version: which ISRs have changed, and the state of each partition."""
        return self._controller.change(
            lambda view: plan_isr_changes(view, request, version),
            lambda error: AlterPartitionResponse(error_code=error.code),
        )

    def assign_directories(
        self, request: AssignReplicasToDirsRequest
    ) -> AssignReplicasToDirsResponse | Deferred[AssignReplicasToDirsResponse]:
        """Answer AssignReplicasToDirs."""
        return self._controller.change(
            lambda view: plan_assignments(view, request),
            lambda error: AssignReplicasToDirsResponse(error_code=error.code),
        )

    def allocate_producer_ids(
        self, request: AllocateProducerIdsRequest
    ) -> AllocateProducerIdsResponse | Deferred[AllocateProducerIdsResponse]:
        """Answer AllocateProducerIds: a block of ids that nobody has had."""

        def plan(view: ControllerView) -> tuple[list[MetadataRecord], AllocateProducerIdsResponse]:
            broker = view.check_broker_epoch(request.broker_id, request.broker_epoch)
            first = view.image.next_producer_id
            record = ProducerIdsRecord(
                broker_id=broker.broker_id, broker_epoch=broker.epoch, next_producer_id=first + BLOCK_SIZE
            )
            return [make_record(record)], AllocateProducerIdsResponse(
                producer_id_start=first, producer_id_len=BLOCK_SIZE
            )

        return self._controller.change(plan, lambda error: AllocateProducerIdsResponse(error_code=error.code))

    def elect_leaders(self, request: ElectLeadersRequest) -> ElectLeadersResponse | Deferred[ElectLeadersResponse]:
        """Answer ElectLeaders."""
        return self._controller.change(
            lambda view: plan_elections(view, request), lambda error: refused_elections(request, error)
        )

    def alter_reassignments(
        self, request: AlterPartitionReassignmentsRequest
    ) -> AlterPartitionReassignmentsResponse | Deferred[AlterPartitionReassignmentsResponse]:
        """Answer AlterPartitionReassignments."""
        return self._controller.change(
            lambda view: plan_reassignments(view, request),
            lambda error: AlterPartitionReassignmentsResponse(
                error_code=error.code, error_message=error.message or None
            ),
        )

    def list_reassignments(self, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
        """Answer ListPartitionReassignments, of what is durable."""
        return list_reassignments(self._controller.image, request)

    def update_features(
        self, request: UpdateFeaturesRequest, version: int
    ) -> UpdateFeaturesResponse | Deferred[UpdateFeaturesResponse]:
        """Answer UpdateFeatures of this version."""

        def plan(view: ControllerView) -> tuple[list[MetadataRecord], UpdateFeaturesResponse]:
            records = plan_features(view, request, self._node_id)
            return [] if request.validate_only else records, updated_features(request, version)

        return self._controller.change(
            plan,
            lambda error: UpdateFeaturesResponse(error_code=error.code, error_message=error.message or None),
        )

    def unregister_broker(
        self, request: UnregisterBrokerRequest
    ) -> UnregisterBrokerResponse | Deferred[UnregisterBrokerResponse]:
        """Answer UnregisterBroker: the broker is in no ISR any more, and forgotten."""

        def plan(view: ControllerView) -> tuple[list[MetadataRecord], UnregisterBrokerResponse]:
            broker = view.image.brokers.get(request.broker_id)
            if broker is None:
                message = f"Broker ID {request.broker_id} is not currently registered"
                raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, message)
            return plan_unregistering(view, broker), UnregisterBrokerResponse(error_message=None)

        return self._controller.change(
            plan,
            lambda error: UnregisterBrokerResponse(error_code=error.code, error_message=error.message or None),
        )

    def balance_leaders(self) -> None:
        """Bring leaders back to the preferred replicas; where there are many, in several changes."""
        if self._is_balancing:
            return
        self._is_balancing = True

        def balanced(elections: int) -> None:
            self._is_balancing = False
            if elections:
                log.info("leaders moved to the preferred replicas", partitions=elections)
            if elections == MAX_ELECTIONS:
                self.balance_leaders()

        then(self._controller.change(_counted(plan_balance), _log_refusal), balanced)

    def elect_unclean_leaders(self) -> None:
        """Have replicas out of sync lead where nobody else is left, and the topic allows it."""

        def elected(elections: int) -> None:
            if elections:
                log.warning("leaders out of sync elected: acknowledged records may be lost", partitions=elections)

        then(self._controller.change(_counted(plan_unclean_elections), _log_refusal), elected)


def _counted(plan: Callable[[ControllerView], list[MetadataRecord]]) -> Plan[int]:
    def plan_and_count(view: ControllerView) -> tuple[list[MetadataRecord], int]:
        records = plan(view)
        return records, len(records)

    return plan_and_count


def _log_refusal(error: KafkaError) -> int:
    log.warning("leaders could not be elected", reason=str(error))
    return 0
