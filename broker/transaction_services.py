"""The coordinator of transactions, made when it is first needed: a broker without transactions starts without it.

Owns: when it is made, and whom it follows; the producer ids of this broker, and its connections to other brokers. Part
of the composition root: imports are late on purpose.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.group_services import GroupServices
from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.metadata.internal_topics import TRANSACTIONS_TOPIC
from odradek.broker.metadata.producer_ids import NextBlock, ProducerIds
from odradek.broker.nodes.requests import Connector, NodeAddress
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.clock import Clock
from odradek.config.settings import BrokerSettings

if TYPE_CHECKING:
    from odradek.broker.controller.topic_creation import TopicCreation
    from odradek.broker.nodes.broker_channels import BrokerChannels
    from odradek.broker.transactions.coordinator import TransactionCoordinator
    from odradek.broker.transactions.marker_writer import MarkerWriter
    from odradek.broker.transactions.verification import TransactionVerifier
    from odradek.storage.names import TopicPartition


class TransactionParts(NamedTuple):
    """What the services are built from."""

    loop: AbstractEventLoop
    threads: Executor
    clock: Clock
    settings: Callable[[], BrokerSettings]
    controller: TopicCreation
    most_replicas: int | None
    """Of the internal topic; None: as many as the configuration says."""
    partitions: PartitionTable
    image: Callable[[], MetadataImage]
    groups: GroupServices
    next_producer_ids: NextBlock
    connector: Connector | None
    """Connects to other brokers; None where there are none."""


class TransactionServices:
    """Everything of transactions, built when it is first asked for."""

    def __init__(self, parts: TransactionParts) -> None:
        self._parts = parts
        self._coordinator: TransactionCoordinator | None = None
        self._channels: BrokerChannels | None = None
        self.producer_ids = ProducerIds(parts.next_producer_ids)
        """Ids for producers, with transactions or without."""

    def start(self) -> None:
        """Begin to load what is stored of transactions, if there is anything."""
        if self._parts.partitions.find(TRANSACTIONS_TOPIC) is not None:
            self.coordinator.start()

    def stop(self) -> None:
        """Answer everybody who waits."""
        if self._coordinator is not None:
            self._coordinator.stop()
        if self._channels is not None:
            self._channels.close()

    def abort_overdue(self) -> Iterator[None]:
        """Abort transactions whose time is over, in steps."""
        if self._coordinator is not None:
            yield from self._coordinator.abort_overdue()

    def forget_idle(self) -> Iterator[None]:
        """Remove transactional ids that nobody uses, in steps."""
        if self._coordinator is not None:
            yield from self._coordinator.forget_idle()

    def on_metadata(self, old: MetadataImage, new: MetadataImage, delta: ImageDelta) -> None:
        """Follow the metadata."""
        if self._coordinator is not None:
            self._coordinator.on_metadata(old, new, delta)

    def follow_settings(self, settings: BrokerSettings) -> None:
        """Follow settings that were changed while the broker runs."""
        if self._coordinator is not None:
            self._coordinator.follow_settings(settings)

    @property
    def coordinator(self) -> TransactionCoordinator:
        """The coordinator, made now if need be."""
        if self._coordinator is None:
            self._coordinator = self._make_coordinator()
        return self._coordinator

    @property
    def channels(self) -> BrokerChannels:
        """Requests to other brokers about transactions."""
        if self._channels is None:
            from odradek.broker.nodes.broker_channels import BrokerChannels

            parts = self._parts
            client_id = f"broker-{parts.settings().node_id}-transactions"
            self._channels = BrokerChannels(parts.loop, parts.connector, self._address_of, client_id)
        return self._channels

    @cached_property
    def marker_writer(self) -> MarkerWriter:
        """What writes the ends of transactions into the partitions that this broker leads."""
        from odradek.broker.transactions.marker_writer import MarkerWriter

        parts = self._parts
        groups = parts.groups.coordinator
        timeout_ms = parts.settings().request_timeout_ms
        return MarkerWriter(
            parts.partitions, groups.end_transaction, parts.loop, parts.clock, timeout_ms, groups.background
        )

    @cached_property
    def verifier(self) -> TransactionVerifier:
        """What asks coordinators whether partitions are part of a transaction."""
        from odradek.broker.transactions.verification import TransactionVerifier

        settings = self._parts.settings()
        return TransactionVerifier(settings.node_id, self.coordinator, self.channels, settings.request_timeout_ms)

    @property
    def verifies(self) -> bool:
        """Whether batches are verified whose producer does not have their partition added by sending them
        (transaction.partition.verification.enable)."""
        return self._parts.settings().transaction_partition_verification_enable

    def _make_coordinator(self) -> TransactionCoordinator:
        from odradek.broker.coordinator.background import Background
        from odradek.broker.coordinator.topic import CoordinatorTopic
        from odradek.broker.transactions.coordinator import CoordinatorParts, TransactionCoordinator
        from odradek.broker.transactions.markers import MarkerParts, MarkerSender

        parts = self._parts
        settings = parts.settings()
        replicas = settings.transaction_state_log_replication_factor
        if parts.most_replicas is not None:
            replicas = min(replicas, parts.most_replicas)
        background = Background(parts.loop)
        markers = MarkerSender(
            MarkerParts(
                node_id=settings.node_id,
                loop=parts.loop,
                background=background,
                leader_of=self._leader_of,
                local=lambda: self.marker_writer,
                brokers=self.channels,
                timeout_s=settings.request_timeout_ms / 1000,
            )
        )
        return TransactionCoordinator(
            CoordinatorParts(
                loop=parts.loop,
                threads=parts.threads,
                clock=parts.clock,
                settings=settings,
                topic=CoordinatorTopic(TRANSACTIONS_TOPIC, replicas, parts.controller, parts.partitions, settings),
                image=parts.image,
                new_producer_id=self.producer_ids.allocate,
                background=background,
                markers=markers,
            )
        )

    def _leader_of(self, partition: TopicPartition) -> int | None:
        found = self._parts.image().partition(partition.topic, partition.partition)
        return None if found is None else found.leader

    def _address_of(self, broker_id: int) -> NodeAddress | None:
        from odradek.broker.replication.eligibility import address_of

        parts = self._parts
        return address_of(parts.image(), broker_id, parts.settings().inter_broker_listener_name)
