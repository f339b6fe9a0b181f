"""The handlers of a controller's listener, each made when it is first asked for.

Part of the composition root: imports are late on purpose, as in `broker_handlers`; `routes` says which API is whose.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.controller.broker_control import BrokerControl
from odradek.broker.controller.controller import Controller
from odradek.broker.controller.replication_control import ReplicationControl
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.log import MetadataLog
from odradek.broker.raft.fetch import MetadataFetchHandler
from odradek.broker.raft.leader import QuorumLeader
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import ThisNode
from odradek.broker.runtime.disk_threads import Threads
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.config.settings import BrokerSettings
from odradek.protocol.registry import Api

if TYPE_CHECKING:
    from odradek.broker.handlers.api_versions import ApiVersionsHandler
    from odradek.broker.handlers.broker_requests import BrokerRequestHandlers
    from odradek.broker.handlers.configs import ConfigHandlers
    from odradek.broker.handlers.controller_cluster import ControllerClusterHandler
    from odradek.broker.handlers.converting import Converter
    from odradek.broker.handlers.describe_configs import ConfigDescriber
    from odradek.broker.handlers.envelope import EnvelopeHandler, Handle
    from odradek.broker.handlers.replication import ReplicationHandlers
    from odradek.broker.handlers.topics import TopicHandlers
    from odradek.broker.quotas.enforcement import ClientQuotaEnforcement
    from odradek.broker.raft.describe_quorum import QuorumDescriber
    from odradek.broker.raft.elections import ElectionHandlers
    from odradek.broker.raft.fetch_snapshot import SnapshotFetchHandler
    from odradek.broker.security_handlers import SecurityHandlers


class ControllerServices(NamedTuple):
    """What handlers of a controller are built from."""

    loop: AbstractEventLoop
    threads: Threads
    """For what observers read from the disk."""
    clock: Clock
    memory: RequestMemory
    settings: BrokerSettings
    metadata: MetadataLog
    leader: QuorumLeader
    node: ThisNode
    configs: BrokerConfigs
    controller: Controller
    brokers: BrokerControl
    replication: ReplicationControl
    fetch: MetadataFetchHandler
    served: Collection[Api]
    """What ApiVersions tells."""
    forwardable: Collection[int]
    """Keys of the APIs that may come in an envelope."""
    client_quotas: Callable[[], ClientQuotaEnforcement]
    """Makes what says how much clients may change."""


class ControllerHandlers:
    """The handlers of a controller."""

    def __init__(self, services: ControllerServices) -> None:
        self._services = services
        self.handle: Handle
        """What answers the requests in envelopes: the dispatcher that these handlers are for."""

    @property
    def fetch(self) -> MetadataFetchHandler:
        """Of Fetch."""
        return self._services.fetch

    @cached_property
    def converter(self) -> Converter:
        """The thread for large requests."""
        from odradek.broker.handlers.converting import Converter

        return Converter(self._services.loop, self._services.memory)

    @cached_property
    def api_versions(self) -> ApiVersionsHandler:
        """Of ApiVersions."""
        from odradek.broker.handlers.api_versions import ApiVersionsHandler

        metadata = self._services.metadata
        return ApiVersionsHandler(sorted(self._services.served, key=lambda api: api.key), lambda: metadata.image)

    @cached_property
    def snapshots(self) -> SnapshotFetchHandler:
        """Of FetchSnapshot."""
        from odradek.broker.raft.fetch_snapshot import SnapshotFetchHandler

        services = self._services
        return SnapshotFetchHandler(services.metadata, services.leader, services.threads)

    @cached_property
    def elections(self) -> ElectionHandlers:
        """Of what voters ask each other."""
        from odradek.broker.raft.elections import ElectionHandlers

        return ElectionHandlers(self._services.leader)

    @cached_property
    def quorum(self) -> QuorumDescriber:
        """Of DescribeQuorum."""
        from odradek.broker.raft.describe_quorum import QuorumDescriber

        services = self._services
        return QuorumDescriber(services.metadata, services.leader, services.clock)

    @cached_property
    def envelopes(self) -> EnvelopeHandler:
        """Of what brokers hand on."""
        from odradek.broker.handlers.envelope import EnvelopeHandler

        return EnvelopeHandler(self.handle, self._services.forwardable)

    @cached_property
    def cluster(self) -> ControllerClusterHandler:
        """Of controllers."""
        from odradek.broker.handlers.controller_cluster import ControllerClusterHandler

        services = self._services
        return ControllerClusterHandler(services.node, services.metadata, services.controller.in_turn)

    @cached_property
    def broker_requests(self) -> BrokerRequestHandlers:
        """Of what brokers ask for themselves."""
        from odradek.broker.handlers.broker_requests import BrokerRequestHandlers

        services = self._services
        return BrokerRequestHandlers(services.brokers, services.replication, services.clock)

    @cached_property
    def replication(self) -> ReplicationHandlers:
        """Of leaders, replicas and features."""
        from odradek.broker.handlers.replication import ReplicationHandlers

        return ReplicationHandlers(self._services.replication)

    @cached_property
    def topics(self) -> TopicHandlers:
        """Of topics and their partitions."""
        from odradek.broker.handlers.topics import TopicHandlers

        services = self._services
        return TopicHandlers(
            services.controller,
            services.settings.delete_topic_enable,
            self._describer.describe_created,
            deletions_settled=lambda: None,  # no log is here
            quotas=services.client_quotas(),
        )

    @cached_property
    def security(self) -> SecurityHandlers:
        """Of who may log in, do what, and take how much."""
        from odradek.broker.security_handlers import SecurityHandlers

        return SecurityHandlers(self._services, lambda: self.converter)

    @cached_property
    def configs(self) -> ConfigHandlers:
        """Of configs."""
        from odradek.broker.handlers.configs import ConfigHandlers

        services = self._services
        node_id = services.settings.node_id
        return ConfigHandlers(services.metadata, services.controller, self._describer, node_id, lambda: (node_id,))

    @cached_property
    def _describer(self) -> ConfigDescriber:
        from odradek.broker.handlers.describe_configs import ConfigDescriber

        return ConfigDescriber(self._services.configs)
