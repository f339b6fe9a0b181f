"""The handlers of a broker's listeners, each made when it is first asked for.

Part of the composition root: imports are late on purpose, so that a broker answers before it knows how to describe a
log directory; `routes` says which API is whose.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from odradek.broker.broker_services import BrokerServices

if TYPE_CHECKING:
    from odradek.broker.handlers.alter_log_dirs import AlterLogDirsHandler
    from odradek.broker.handlers.api_versions import ApiVersionsHandler
    from odradek.broker.handlers.cluster import ClusterHandler
    from odradek.broker.handlers.configs import ConfigHandlers
    from odradek.broker.handlers.consumer_groups import ConsumerGroupHandlers
    from odradek.broker.handlers.converting import Converter
    from odradek.broker.handlers.coordinator import CoordinatorHandler
    from odradek.broker.handlers.delete_records import DeleteRecordsHandler
    from odradek.broker.handlers.describe_configs import ConfigDescriber
    from odradek.broker.handlers.describe_producers import DescribeProducersHandler
    from odradek.broker.handlers.failed_replicas import FailedReplicas
    from odradek.broker.handlers.fetch import FetchHandler
    from odradek.broker.handlers.group_admin import GroupAdminHandlers
    from odradek.broker.handlers.group_offsets import OffsetCommitHandlers
    from odradek.broker.handlers.groups import GroupHandlers
    from odradek.broker.handlers.leader_hints import LeaderHints
    from odradek.broker.handlers.log_dirs import LogDirHandlers
    from odradek.broker.handlers.metadata import MetadataHandler
    from odradek.broker.handlers.offset_fetch import OffsetFetchHandler
    from odradek.broker.handlers.offsets import OffsetHandlers
    from odradek.broker.handlers.produce import ProduceHandler
    from odradek.broker.handlers.producer_ids import ProducerIdHandler
    from odradek.broker.handlers.replication import ReplicationHandlers
    from odradek.broker.handlers.topics import TopicHandlers
    from odradek.broker.handlers.transaction_admin import TransactionAdminHandlers
    from odradek.broker.handlers.transactional_produce import Verifications
    from odradek.broker.handlers.transactions import TransactionHandlers
    from odradek.broker.handlers.txn_offset_commit import TxnOffsetCommitHandler
    from odradek.broker.handlers.write_txn_markers import WriteTxnMarkersHandler
    from odradek.broker.raft.describe_quorum import QuorumDescriber
    from odradek.broker.security_handlers import SecurityHandlers


class BrokerHandlers:
    """The handlers of the broker, each made when it is first asked for."""

    def __init__(self, services: BrokerServices) -> None:
        self._services = services

    @cached_property
    def produce(self) -> ProduceHandler:
        """Of Produce."""
        from odradek.broker.handlers.produce import ProduceHandler

        services = self._services
        return ProduceHandler(
            services.loop,
            services.partitions,
            services.clock,
            self.converter,
            services.memory,
            lambda: self._verifications,
            hints=self.leader_hints,
            traffic=services.traffic,
        )

    @cached_property
    def _verifications(self) -> Verifications:
        from odradek.broker.handlers.transactional_produce import RetrySettings, Verifications

        services, settings = self._services, self._services.settings
        transactions = services.transactions
        return Verifications(
            services.loop,
            services.partitions,
            services.clock,
            services.memory,
            transactions.verifier,
            lambda: transactions.verifies,
            RetrySettings(
                settings.add_partitions_to_txn_retry_backoff_max_ms, settings.add_partitions_to_txn_retry_backoff_ms
            ),
        )

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
            self.leader_hints,
            services.readers,
            services.client_quotas() if services.client_quotas is not None else None,
            services.traffic,
        )

    @cached_property
    def leader_hints(self) -> LeaderHints | None:
        """Who leads what this broker does not; None where there is no other."""
        from odradek.broker.handlers.leader_hints import LeaderHints

        services = self._services
        if services.controller is not None:
            return None
        return LeaderHints(services.partitions, lambda: services.metadata.image, services.brokers)

    @cached_property
    def converter(self) -> Converter:
        """The thread for records, and for large requests."""
        from odradek.broker.handlers.converting import Converter

        return Converter(self._services.loop, self._services.memory)

    @cached_property
    def api_versions(self) -> ApiVersionsHandler:
        """Of ApiVersions."""
        from odradek.broker.handlers.api_versions import ApiVersionsHandler

        services, metadata = self._services, self._services.metadata
        served = sorted(services.served, key=lambda api: api.key)
        return ApiVersionsHandler(served, lambda: metadata.image, services.versions)

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
            self._failed_replicas,
            services.client_quotas() if services.client_quotas is not None else None,
        )

    @cached_property
    def _failed_replicas(self) -> FailedReplicas:
        from odradek.broker.handlers.failed_replicas import InOwnDirectories, InRegisteredDirectories

        services = self._services
        if services.controller is None:
            return InRegisteredDirectories(lambda: services.metadata.image)
        return InOwnDirectories(lambda: services.logs.lost)

    @cached_property
    def cluster(self) -> ClusterHandler:
        """Of what admin clients ask instead of Metadata."""
        from odradek.broker.handlers.cluster import ClusterHandler

        services = self._services
        limit = services.settings.max_request_partition_size_limit
        return ClusterHandler(services.brokers, services.metadata, limit, self._failed_replicas)

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
            services.client_quotas() if services.client_quotas is not None else None,
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
    def quorum(self) -> QuorumDescriber:
        """Of the quorum, which is this node."""
        make = self._services.quorum
        assert make is not None, "what asks for the quorum is handed on"
        return make()

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
    def alter_log_dirs(self) -> AlterLogDirsHandler:
        """Of moves to other log directories."""
        from odradek.broker.handlers.alter_log_dirs import AlterLogDirsHandler

        return AlterLogDirsHandler(self._services.moves, self._services.loop.call_soon)

    @cached_property
    def producer_ids(self) -> ProducerIdHandler:
        """Of the ids of producers."""
        from odradek.broker.handlers.producer_ids import ProducerIdHandler

        transactions = self._services.transactions
        return ProducerIdHandler(transactions.producer_ids, lambda: transactions.coordinator)

    @cached_property
    def producers(self) -> DescribeProducersHandler:
        """Of who has written to partitions."""
        from odradek.broker.handlers.describe_producers import DescribeProducersHandler

        return DescribeProducersHandler(self._services.partitions)

    @cached_property
    def coordinator(self) -> CoordinatorHandler:
        """Of who coordinates what."""
        from odradek.broker.handlers.coordinator import CoordinatorHandler

        services = self._services
        transactions = services.transactions
        return CoordinatorHandler(services.brokers, services.groups.coordinator, lambda: transactions.coordinator)

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

    @cached_property
    def txn_offset_commits(self) -> TxnOffsetCommitHandler:
        """Of offsets that are part of transactions."""
        from odradek.broker.handlers.txn_offset_commit import TxnOffsetCommitHandler

        services = self._services
        transactions = services.transactions
        _ = self._verifications  # loaded with the rest of transactions: Produce asks for it when the first one comes
        return TxnOffsetCommitHandler(
            services.groups.coordinator,
            transactions.verifier,
            services.partitions,
            services.clock,
            services.settings.offset_metadata_max_bytes,
            lambda: transactions.verifies,
        )

    @cached_property
    def txn_markers(self) -> WriteTxnMarkersHandler:
        """Of how transactions ended."""
        from odradek.broker.handlers.write_txn_markers import WriteTxnMarkersHandler

        services = self._services
        background = services.groups.coordinator.background
        return WriteTxnMarkersHandler(services.transactions.marker_writer, background)

    @cached_property
    def transactions(self) -> TransactionHandlers:
        """Of producers with transactions."""
        from odradek.broker.handlers.transactions import TransactionHandlers

        services = self._services
        return TransactionHandlers(services.transactions.coordinator, services.groups.coordinator, services.metadata)

    @cached_property
    def transaction_admin(self) -> TransactionAdminHandlers:
        """Of who looks at transactions."""
        from odradek.broker.handlers.transaction_admin import TransactionAdminHandlers

        return TransactionAdminHandlers(self._services.transactions.coordinator)


def _random_session_id() -> int:
    return int.from_bytes(os.urandom(4), "big") >> 1
