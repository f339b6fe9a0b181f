"""Which handler answers which API: the one table that ApiVersions, the dispatcher and docs/protocol.md are made from.

Another API is its message (`protocol.messages`, by its name), its handler, and a line here. Handlers are imported and
made at the first request for one of theirs, so that a broker answers before it knows how to describe a log directory;
and all of them soon after the start (`load_all`), so that no request has to open the files of modules when there is no
descriptor left.
"""

from __future__ import annotations

import os
from asyncio import AbstractEventLoop
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.controller.controller import Controller
from odradek.broker.dispatch.dispatcher import DirectHandler, MessageHandler
from odradek.broker.group_services import GroupServices
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.producer_ids import NextBlock
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.config.settings import BrokerSettings
from odradek.protocol.codec import Message
from odradek.protocol.registry import API, Api, ApiKey
from odradek.storage.directories.manager import LogManager

if TYPE_CHECKING:
    from odradek.broker.controller.topic_creation import TopicCreation
    from odradek.broker.controller_handlers import ControllerHandlers
    from odradek.broker.handlers.api_versions import ApiVersionsHandler
    from odradek.broker.handlers.cluster import ClusterHandler
    from odradek.broker.handlers.configs import ConfigHandlers
    from odradek.broker.handlers.consumer_groups import ConsumerGroupHandlers
    from odradek.broker.handlers.converting import Converter
    from odradek.broker.handlers.coordinator import CoordinatorHandler
    from odradek.broker.handlers.delete_records import DeleteRecordsHandler
    from odradek.broker.handlers.describe_configs import ConfigDescriber
    from odradek.broker.handlers.describe_producers import DescribeProducersHandler
    from odradek.broker.handlers.fetch import FetchHandler
    from odradek.broker.handlers.group_admin import GroupAdminHandlers
    from odradek.broker.handlers.group_offsets import OffsetCommitHandlers
    from odradek.broker.handlers.groups import GroupHandlers
    from odradek.broker.handlers.known_brokers import KnownBrokers
    from odradek.broker.handlers.log_dirs import LogDirHandlers
    from odradek.broker.handlers.metadata import MetadataHandler
    from odradek.broker.handlers.nearest_fetch import NearestReplica
    from odradek.broker.handlers.offset_fetch import OffsetFetchHandler
    from odradek.broker.handlers.offsets import OffsetHandlers
    from odradek.broker.handlers.produce import ProduceHandler
    from odradek.broker.handlers.producer_ids import ProducerIdHandler
    from odradek.broker.handlers.replica_fetch import LeaderQuota
    from odradek.broker.handlers.replication import ReplicationHandlers
    from odradek.broker.handlers.topics import TopicHandlers


class Services(NamedTuple):
    """What handlers are built from."""

    loop: AbstractEventLoop
    read_threads: Executor
    clock: Clock
    memory: RequestMemory
    settings: BrokerSettings
    metadata: MetadataImages
    partitions: PartitionTable
    logs: LogManager
    brokers: KnownBrokers
    configs: BrokerConfigs
    controller: Controller | None
    """None where the controllers are elsewhere."""
    topic_creation: TopicCreation
    next_producer_ids: NextBlock
    versions: Callable[[Api], tuple[int, int] | None]
    """The versions of an API that are answered at present."""
    groups: GroupServices
    quota: LeaderQuota | None = None
    """How much followers may be sent; None where there are none."""
    nearest: NearestReplica | None = None
    """Where consumers are sent that have a nearer replica than the leader."""


class Handlers:
    """The handlers of the broker, each made when it is first asked for."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @cached_property
    def produce(self) -> ProduceHandler:
        """Of Produce."""
        from odradek.broker.handlers.produce import ProduceHandler

        services = self._services
        return ProduceHandler(services.loop, services.partitions, services.clock, self.converter, services.memory)

    @cached_property
    def fetch(self) -> FetchHandler:
        """Of Fetch."""
        from odradek.broker.handlers.fetch import FetchHandler
        from odradek.broker.handlers.fetch_sessions import FetchSessions

        services, settings = self._services, self._services.settings
        sessions = FetchSessions(settings.max_incremental_fetch_session_cache_slots, _random_session_id)
        return FetchHandler(
            services.loop,
            services.partitions,
            sessions,
            services.clock,
            settings.fetch_max_bytes,
            self.converter,
            services.memory,
            services.read_threads,
            services.quota,
            services.nearest,
        )

    @cached_property
    def converter(self) -> Converter:
        """The thread for records, and for large requests."""
        from odradek.broker.handlers.converting import Converter

        return Converter(self._services.loop, self._services.memory)

    @cached_property
    def api_versions(self) -> ApiVersionsHandler:
        """Of ApiVersions."""
        from odradek.broker.handlers.api_versions import ApiVersionsHandler

        metadata = self._services.metadata
        keys = SERVED if self._services.controller is not None else sorted({*SERVED, *HANDED_ON})
        return ApiVersionsHandler([API[key] for key in keys], lambda: metadata.image, self._services.versions)

    @cached_property
    def metadata(self) -> MetadataHandler:
        """Of Metadata."""
        from odradek.broker.handlers.metadata import MetadataHandler

        services = self._services
        return MetadataHandler(
            services.brokers,
            services.metadata,
            services.topic_creation,
            services.settings.auto_create_topics_enable,
        )

    @cached_property
    def cluster(self) -> ClusterHandler:
        """Of what admin clients ask instead of Metadata."""
        from odradek.broker.handlers.cluster import ClusterHandler

        services = self._services
        return ClusterHandler(services.brokers, services.metadata, services.settings.max_request_partition_size_limit)

    @cached_property
    def topics(self) -> TopicHandlers:
        """Of topics and their partitions."""
        from odradek.broker.handlers.topics import TopicHandlers

        services = self._services
        assert services.controller is not None, "what changes topics is handed on"
        return TopicHandlers(
            services.controller,
            services.settings.delete_topic_enable,
            self._describer.describe_created,
            services.partitions.deleted.settled,
        )

    @cached_property
    def replication(self) -> ReplicationHandlers:
        """Of leaders, replicas and features."""
        from odradek.broker.controller.replication_control import ReplicationControl
        from odradek.broker.handlers.replication import ReplicationHandlers

        services = self._services
        assert services.controller is not None, "what changes replicas is handed on"
        return ReplicationHandlers(ReplicationControl(services.controller, services.settings.node_id))

    @cached_property
    def configs(self) -> ConfigHandlers:
        """Of configs."""
        from odradek.broker.handlers.configs import ConfigHandlers

        services = self._services
        return ConfigHandlers(
            services.metadata,
            services.controller,
            self._describer,
            services.settings.node_id,
            services.brokers.registered,
        )

    @cached_property
    def _describer(self) -> ConfigDescriber:
        from odradek.broker.handlers.describe_configs import ConfigDescriber

        return ConfigDescriber(self._services.configs)

    @cached_property
    def offsets(self) -> OffsetHandlers:
        """Of where partitions begin and end."""
        from odradek.broker.handlers.offsets import OffsetHandlers
        from odradek.broker.handlers.offsets_by_time import OffsetsByTime

        services = self._services
        by_time = OffsetsByTime(services.loop, services.read_threads, self.converter)
        return OffsetHandlers(services.partitions, services.clock, by_time)

    @cached_property
    def delete_records(self) -> DeleteRecordsHandler:
        """Of moving where partitions begin."""
        from odradek.broker.handlers.delete_records import DeleteRecordsHandler

        return DeleteRecordsHandler(self._services.loop, self._services.partitions)

    @cached_property
    def log_dirs(self) -> LogDirHandlers:
        """Of log directories."""
        from odradek.broker.handlers.log_dirs import LogDirHandlers

        return LogDirHandlers(self._services.partitions, self._services.logs)

    @cached_property
    def producer_ids(self) -> ProducerIdHandler:
        """Of the ids of idempotent producers."""
        from odradek.broker.handlers.producer_ids import ProducerIdHandler
        from odradek.broker.metadata.producer_ids import ProducerIds

        return ProducerIdHandler(ProducerIds(self._services.next_producer_ids))

    @cached_property
    def producers(self) -> DescribeProducersHandler:
        """Of who has written to partitions."""
        from odradek.broker.handlers.describe_producers import DescribeProducersHandler

        return DescribeProducersHandler(self._services.partitions)

    @cached_property
    def coordinator(self) -> CoordinatorHandler:
        """Of who coordinates what."""
        from odradek.broker.handlers.coordinator import CoordinatorHandler

        return CoordinatorHandler(self._services.brokers, self._services.groups.coordinator)

    @cached_property
    def groups(self) -> GroupHandlers:
        """Of members of classic groups."""
        from odradek.broker.handlers.groups import GroupHandlers

        return GroupHandlers(self._services.groups.coordinator, self._services.clock)

    @cached_property
    def group_admin(self) -> GroupAdminHandlers:
        """Of who looks at groups and deletes them."""
        from odradek.broker.handlers.group_admin import GroupAdminHandlers

        return GroupAdminHandlers(self._services.groups.coordinator)

    @cached_property
    def consumer_groups(self) -> ConsumerGroupHandlers:
        """Of the groups of KIP-848."""
        from odradek.broker.handlers.consumer_groups import ConsumerGroupHandlers

        return ConsumerGroupHandlers(self._services.groups.coordinator, self._services.clock)

    @cached_property
    def offset_commits(self) -> OffsetCommitHandlers:
        """Of what changes committed offsets."""
        from odradek.broker.handlers.group_offsets import OffsetCommitHandlers

        services = self._services
        return OffsetCommitHandlers(
            services.groups.coordinator,
            services.partitions,
            services.clock,
            services.settings.offset_metadata_max_bytes,
        )

    @cached_property
    def offset_fetch(self) -> OffsetFetchHandler:
        """Of what reads them."""
        from odradek.broker.handlers.offset_fetch import OffsetFetchHandler

        return OffsetFetchHandler(self._services.groups.coordinator, self._services.partitions)


DIRECT_ROUTES: Mapping[ApiKey, Callable[[Handlers], DirectHandler]] = {
    ApiKey.PRODUCE: lambda of: of.produce,
    ApiKey.FETCH: lambda of: of.fetch,
}
"""The APIs whose handlers write their own responses."""

MESSAGE_ROUTES: Mapping[ApiKey, Callable[[Handlers], MessageHandler]] = {
    ApiKey.API_VERSIONS: lambda of: of.api_versions.api_versions,
    ApiKey.METADATA: lambda of: of.metadata.metadata,
    ApiKey.DESCRIBE_CLUSTER: lambda of: of.cluster.describe_cluster,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: lambda of: of.cluster.describe_topic_partitions,
    ApiKey.CREATE_TOPICS: lambda of: of.topics.create_topics,
    ApiKey.DELETE_TOPICS: lambda of: of.topics.delete_topics,
    ApiKey.CREATE_PARTITIONS: lambda of: of.topics.create_partitions,
    ApiKey.ELECT_LEADERS: lambda of: of.replication.elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: lambda of: of.replication.alter_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda of: of.replication.list_reassignments,
    ApiKey.UPDATE_FEATURES: lambda of: of.replication.update_features,
    ApiKey.UNREGISTER_BROKER: lambda of: of.replication.unregister_broker,
    ApiKey.DESCRIBE_CONFIGS: lambda of: of.configs.describe_configs,
    ApiKey.ALTER_CONFIGS: lambda of: of.configs.alter_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda of: of.configs.incremental_alter_configs,
    ApiKey.LIST_CONFIG_RESOURCES: lambda of: of.configs.list_config_resources,
    ApiKey.LIST_OFFSETS: lambda of: of.offsets.list_offsets,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: lambda of: of.offsets.offset_for_leader_epoch,
    ApiKey.DELETE_RECORDS: lambda of: of.delete_records,
    ApiKey.DESCRIBE_LOG_DIRS: lambda of: of.log_dirs.describe_log_dirs,
    ApiKey.INIT_PRODUCER_ID: lambda of: of.producer_ids.init_producer_id,
    ApiKey.DESCRIBE_PRODUCERS: lambda of: of.producers.describe_producers,
    ApiKey.FIND_COORDINATOR: lambda of: of.coordinator.find_coordinator,
    ApiKey.JOIN_GROUP: lambda of: of.groups.join_group,
    ApiKey.SYNC_GROUP: lambda of: of.groups.sync_group,
    ApiKey.HEARTBEAT: lambda of: of.groups.heartbeat,
    ApiKey.LEAVE_GROUP: lambda of: of.groups.leave_group,
    ApiKey.OFFSET_COMMIT: lambda of: of.offset_commits.offset_commit,
    ApiKey.OFFSET_DELETE: lambda of: of.offset_commits.offset_delete,
    ApiKey.OFFSET_FETCH: lambda of: of.offset_fetch.offset_fetch,
    ApiKey.DESCRIBE_GROUPS: lambda of: of.group_admin.describe_groups,
    ApiKey.LIST_GROUPS: lambda of: of.group_admin.list_groups,
    ApiKey.DELETE_GROUPS: lambda of: of.group_admin.delete_groups,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: lambda of: of.consumer_groups.heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: lambda of: of.consumer_groups.describe,
}
"""The APIs whose handlers return a response message."""

SERVED: Sequence[ApiKey] = sorted({*DIRECT_ROUTES, *MESSAGE_ROUTES})
"""What ApiVersions tells."""

CONTROLLER_ROUTES: Mapping[ApiKey, Callable[[ControllerHandlers], MessageHandler]] = {
    ApiKey.FETCH: lambda of: of.fetch.fetch,
    ApiKey.API_VERSIONS: lambda of: of.api_versions.api_versions,
    ApiKey.CREATE_TOPICS: lambda of: of.topics.create_topics,
    ApiKey.DELETE_TOPICS: lambda of: of.topics.delete_topics,
    ApiKey.DESCRIBE_CONFIGS: lambda of: of.configs.describe_configs,
    ApiKey.ALTER_CONFIGS: lambda of: of.configs.alter_configs,
    ApiKey.CREATE_PARTITIONS: lambda of: of.topics.create_partitions,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda of: of.configs.incremental_alter_configs,
    ApiKey.VOTE: lambda of: of.elections.vote,
    ApiKey.BEGIN_QUORUM_EPOCH: lambda of: of.elections.begin_quorum_epoch,
    ApiKey.END_QUORUM_EPOCH: lambda of: of.elections.end_quorum_epoch,
    ApiKey.DESCRIBE_QUORUM: lambda of: of.quorum.describe_quorum,
    ApiKey.ENVELOPE: lambda of: of.envelopes.envelope,
    ApiKey.FETCH_SNAPSHOT: lambda of: of.snapshots.fetch_snapshot,
    ApiKey.DESCRIBE_CLUSTER: lambda of: of.cluster.describe_cluster,
    ApiKey.ELECT_LEADERS: lambda of: of.replication.elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: lambda of: of.replication.alter_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda of: of.replication.list_reassignments,
    ApiKey.UPDATE_FEATURES: lambda of: of.replication.update_features,
    ApiKey.UNREGISTER_BROKER: lambda of: of.replication.unregister_broker,
    ApiKey.BROKER_REGISTRATION: lambda of: of.broker_requests.register,
    ApiKey.BROKER_HEARTBEAT: lambda of: of.broker_requests.heartbeat,
    ApiKey.ALTER_PARTITION: lambda of: of.broker_requests.alter_partition,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: lambda of: of.broker_requests.assign_directories,
    ApiKey.ALLOCATE_PRODUCER_IDS: lambda of: of.broker_requests.allocate_producer_ids,
    ApiKey.CONTROLLER_REGISTRATION: lambda of: of.cluster.controller_registration,
}
"""The APIs of a controller's listener; their handlers return a response message."""

FORWARDED: frozenset[ApiKey] = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.ELECT_LEADERS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    }
)
"""What a broker that is not the controller hands on to it in an envelope (KIP-590)."""

HANDED_ON: frozenset[ApiKey] = FORWARDED & API.keys()
"""Those of them whose versions are known here: what a broker does whose controllers are elsewhere."""


def load_all(handlers: Handlers, without: Collection[ApiKey] = ()) -> Iterator[type[Message]]:
    """Import and make every handler, with the messages of its API; yields after each, for others to get their turn."""
    for key in SERVED:
        if key in without:
            continue
        find = DIRECT_ROUTES.get(key) or MESSAGE_ROUTES[key]
        find(handlers)
        yield API[key].request


def load_all_of_controller(handlers: ControllerHandlers) -> Iterator[type[Message]]:
    """Do the same for a controller's listener."""
    for key, find in CONTROLLER_ROUTES.items():
        find(handlers)
        yield API[key].request


def _random_session_id() -> int:
    return int.from_bytes(os.urandom(4), "big") >> 1
