"""The coordinator of transactions, made when it is first needed: a broker without transactions starts without it.

Owns: the producer ids of this broker, and its connections to other brokers. Part of the composition root: imports are
late on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator_services import CoordinatorServiceParts, CoordinatorServices
from odradek.broker.group_services import GroupServices
from odradek.broker.metadata.internal_topics import TRANSACTIONS_TOPIC
from odradek.broker.metadata.producer_ids import NextBlock, ProducerIds
from odradek.broker.nodes.requests import Connector, NodeAddress
from odradek.config.settings import BrokerSettings

if TYPE_CHECKING:
    from odradek.broker.coordinator.topic import CoordinatorTopic
    from odradek.broker.nodes.broker_channels import BrokerChannels
    from odradek.broker.transactions.coordinator import TransactionCoordinator
    from odradek.broker.transactions.marker_writer import MarkerWriter
    from odradek.broker.transactions.verification import TransactionVerifier
    from odradek.storage.names import TopicPartition


class TransactionParts(NamedTuple):
    """What transactions need beside what every coordinator does."""

    groups: GroupServices
    next_producer_ids: NextBlock
    connector: Connector | None
    """Connects to other brokers; None where there are none."""


class TransactionServices(CoordinatorServices["TransactionCoordinator"]):
    """Everything of transactions, built when it is first asked for."""

    def __init__(self, parts: CoordinatorServiceParts, own: TransactionParts) -> None:
        super().__init__(parts, TRANSACTIONS_TOPIC)
        self._own = own
        self._channels: BrokerChannels | None = None
        self.producer_ids = ProducerIds(own.next_producer_ids)
        """Ids for producers, with transactions or without."""

    def stop(self) -> None:
        """Answer everybody who waits, and ask other brokers nothing more."""
        super().stop()
        if self._channels is not None:
            self._channels.close()

    def abort_overdue(self) -> Iterator[None]:
        """Abort transactions whose time is over, in steps."""
        if self._made is not None:
            yield from self._made.abort_overdue()

    def forget_idle(self) -> Iterator[None]:
        """Remove transactional ids that nobody uses, in steps."""
        if self._made is not None:
            yield from self._made.forget_idle()

    @property
    def channels(self) -> BrokerChannels:
        """Requests to other brokers about transactions."""
        if self._channels is None:
            from odradek.broker.nodes.broker_channels import BrokerChannels

            parts = self._parts
            client_id = f"broker-{parts.settings().node_id}-transactions"
            self._channels = BrokerChannels(parts.loop, self._own.connector, self._address_of, client_id)
        return self._channels

    @cached_property
    def marker_writer(self) -> MarkerWriter:
        """What writes the ends of transactions into the partitions that this broker leads."""
        from odradek.broker.transactions.marker_writer import MarkerWriter

        parts = self._parts
        groups = self._own.groups.coordinator
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

    def _make_coordinator(
        self, settings: BrokerSettings, topic: Callable[[int], CoordinatorTopic]
    ) -> TransactionCoordinator:
        from odradek.broker.coordinator.background import Background
        from odradek.broker.transactions.coordinator import CoordinatorParts, TransactionCoordinator
        from odradek.broker.transactions.markers import MarkerParts, MarkerSender

        parts = self._parts
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
                topic=topic(settings.transaction_state_log_replication_factor),
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
