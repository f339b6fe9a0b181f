"""DescribeCluster (0-2) and ControllerRegistration (0) at the controller's listener (KIP-919).

DescribeCluster tells of controllers alone, and who asks for brokers has come to the wrong listener. A controller that
makes itself known is kept in the metadata; the only voter writes its own registration at its start.
"""

from collections.abc import Callable

from odradek.broker.controller.registration import check_amounts
from odradek.broker.handlers.cluster import CONTROLLERS, refused_endpoint_type
from odradek.broker.metadata.records import make_record
from odradek.broker.metadata.source import MetadataSource
from odradek.broker.runtime.context import RequestContext, ThisNode, cluster_operations
from odradek.broker.runtime.deferred import Deferred, then
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from odradek.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from odradek.protocol.messages.metadata_records import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)

_Registered = ControllerRegistrationResponse | Deferred[ControllerRegistrationResponse]


class ControllerClusterHandler:
    """Answers what nodes and admin clients ask a controller about controllers."""

    def __init__(
        self, node: ThisNode, source: MetadataSource, in_turn: Callable[[Callable[[], _Registered]], _Registered]
    ) -> None:
        """`in_turn` does what proposes a change when nothing else is being planned (`Controller.in_turn`)."""
        self._node = node
        self._source = source
        self._in_turn = in_turn

    def describe_cluster(self, context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
        """Answer DescribeCluster: this node leads."""
        refused = refused_endpoint_type(request.endpoint_type, CONTROLLERS)
        if refused is not None:
            return refused
        host, port = self._node.advertised_for(context)
        return DescribeClusterResponse(
            endpoint_type=CONTROLLERS,
            cluster_id=self._node.cluster_id,
            controller_id=self._node.node_id,
            brokers=[DescribeClusterBroker(broker_id=self._node.node_id, host=host, port=port)],
            cluster_authorized_operations=cluster_operations(request.include_cluster_authorized_operations),
        )

    def controller_registration(self, _context: RequestContext, request: ControllerRegistrationRequest) -> _Registered:
        """Answer ControllerRegistration, once it is kept."""
        check_amounts(request.listeners, request.features)
        record = RegisterControllerRecord(
            controller_id=request.controller_id,
            incarnation_id=request.incarnation_id,
            zk_migration_ready=request.zk_migration_ready,
            end_points=[
                ControllerEndpoint(name=one.name, host=one.host, port=one.port, security_protocol=one.security_protocol)
                for one in request.listeners
            ],
            features=[
                ControllerFeature(
                    name=one.name,
                    min_supported_version=one.min_supported_version,
                    max_supported_version=one.max_supported_version,
                )
                for one in request.features
            ],
        )

        def register() -> _Registered:
            stored = self._source.propose([make_record(record)], self._source.proposed)
            return then(stored, lambda outcome: _answer(outcome if isinstance(outcome, KafkaError) else None))

        return self._in_turn(register)


def _answer(failed: KafkaError | None) -> ControllerRegistrationResponse:
    if failed is None:
        return ControllerRegistrationResponse(error_message=None)
    return ControllerRegistrationResponse(error_code=failed.code, error_message=failed.message)
