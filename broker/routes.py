"""Which handler answers which API: the one table that ApiVersions, the dispatcher and docs/protocol.md are made
from."""

from __future__ import annotations

import random
from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from odradek.broker.dispatch.dispatcher import DirectHandler, MessageHandler
from odradek.broker.group_services import GroupServices
from odradek.broker.handlers.api_versions import ApiVersionsHandler
from odradek.broker.handlers.cluster import ClusterHandler
from odradek.broker.handlers.configs import ConfigHandlers
from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.describe_configs import ConfigDescriber
from odradek.broker.handlers.fetch import FetchHandler
from odradek.broker.handlers.fetch_sessions import FetchSessions
from odradek.broker.handlers.log_dirs import LogDirHandlers
from odradek.broker.handlers.metadata import MetadataHandler
from odradek.broker.handlers.node import ThisNode
from odradek.broker.handlers.offsets import OffsetHandlers
from odradek.broker.handlers.produce import ProduceHandler
from odradek.broker.handlers.producer_ids import ProducerIdHandler
from odradek.broker.handlers.topics import TopicHandlers
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.controller import Controller
from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.producer_ids import ProducerIds
from odradek.broker.metadata.topics import PlacementRules
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.clock import Clock
from odradek.config.settings import BrokerSettings
from odradek.protocol.registry import Api, ApiKey
from odradek.storage.directories.manager import LogManager


@dataclass(frozen=True, slots=True)
class Handlers:
    """One of each."""

    produce: ProduceHandler
    fetch: FetchHandler
    api_versions: ApiVersionsHandler
    metadata: MetadataHandler
    cluster: ClusterHandler
    topics: TopicHandlers
    configs: ConfigHandlers
    offsets: OffsetHandlers
    log_dirs: LogDirHandlers
    producer_ids: ProducerIdHandler
    groups: GroupServices


def direct_routes(handlers: Handlers) -> Mapping[ApiKey, DirectHandler]:
    """The APIs whose handlers write their own responses."""
    return {ApiKey.PRODUCE: handlers.produce, ApiKey.FETCH: handlers.fetch}


def message_routes(handlers: Handlers) -> Mapping[ApiKey, MessageHandler]:
    """The APIs whose handlers return a response message."""
    return {
        ApiKey.API_VERSIONS: handlers.api_versions.api_versions,
        ApiKey.METADATA: handlers.metadata.metadata,
        ApiKey.DESCRIBE_CLUSTER: handlers.cluster.describe_cluster,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: handlers.cluster.describe_topic_partitions,
        ApiKey.CREATE_TOPICS: handlers.topics.create_topics,
        ApiKey.DELETE_TOPICS: handlers.topics.delete_topics,
        ApiKey.CREATE_PARTITIONS: handlers.topics.create_partitions,
        ApiKey.DESCRIBE_CONFIGS: handlers.configs.describe_configs,
        ApiKey.ALTER_CONFIGS: handlers.configs.alter_configs,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: handlers.configs.incremental_alter_configs,
        ApiKey.LIST_CONFIG_RESOURCES: handlers.configs.list_config_resources,
        ApiKey.LIST_OFFSETS: handlers.offsets.list_offsets,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: handlers.offsets.offset_for_leader_epoch,
        ApiKey.DELETE_RECORDS: handlers.offsets.delete_records,
        ApiKey.DESCRIBE_LOG_DIRS: handlers.log_dirs.describe_log_dirs,
        ApiKey.INIT_PRODUCER_ID: handlers.producer_ids.init_producer_id,
        **handlers.groups.routes(),
    }


@dataclass(frozen=True, slots=True)
class Services:
    """What handlers are built from."""

    loop: AbstractEventLoop
    clock: Clock
    settings: BrokerSettings
    metadata: MetadataLog
    partitions: PartitionTable
    logs: LogManager
    node: ThisNode
    configs: BrokerConfigs
    controller: Controller
    groups: GroupServices
    log_level: str
    served: Callable[[], Sequence[Api]]


def build_controller(
    settings: BrokerSettings, metadata: MetadataLog, directory_ids: Sequence[UUID]
) -> tuple[Controller, BrokerConfigs]:
    """Make what changes the metadata, and the view of the brokers' configs that it needs."""
    only_directory = directory_ids[0] if len(directory_ids) == 1 else None
    rules = PlacementRules(
        brokers=(settings.node_id,),
        directories={settings.node_id: only_directory} if only_directory is not None else {},
        num_partitions=settings.num_partitions,
        replication_factor=settings.default_replication_factor,
    )
    configs = BrokerConfigs(metadata, settings.node_id, settings.values)
    return Controller(metadata, rules, configs), configs


def build_handlers(services: Services) -> Handlers:
    """Make the handlers."""
    settings, metadata, partitions = services.settings, services.metadata, services.partitions
    controller, configs = services.controller, services.configs
    describer = ConfigDescriber(configs, services.log_level)
    sessions = FetchSessions(settings.max_incremental_fetch_session_cache_slots, lambda: random.getrandbits(31))
    converter = Converter(services.loop)
    return Handlers(
        produce=ProduceHandler(services.loop, partitions, services.clock, converter),
        fetch=FetchHandler(services.loop, partitions, sessions, services.clock, settings.fetch_max_bytes, converter),
        api_versions=ApiVersionsHandler(services.served, lambda: metadata.image),
        metadata=MetadataHandler(services.node, controller, settings.auto_create_topics_enable),
        cluster=ClusterHandler(services.node, metadata, settings.max_request_partition_size_limit),
        topics=TopicHandlers(controller, settings.delete_topic_enable, describer.describe_created),
        configs=ConfigHandlers(controller, describer, settings.node_id),
        offsets=OffsetHandlers(partitions, services.clock),
        log_dirs=LogDirHandlers(partitions, services.logs),
        producer_ids=ProducerIdHandler(ProducerIds(metadata, settings.node_id)),
        groups=services.groups,
    )
