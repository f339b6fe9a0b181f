"""A broker with everything of transactions, as it is composed, on metadata and logs in memory."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from odradek.broker.coordinator_services import CoordinatorServiceParts
from odradek.broker.group_services import GroupServices
from odradek.broker.handlers.transaction_admin import TransactionAdminHandlers
from odradek.broker.handlers.transactions import TransactionHandlers
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.producer_ids import RecordedBlocks
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.transaction_services import TransactionParts, TransactionServices
from odradek.broker.transactions.coordinator import TransactionCoordinator
from odradek.broker.transactions.state import Producer
from odradek.config.loading import load_settings
from odradek.protocol.errors import ErrorCode
from tests.support.deferred import now
from tests.unit.broker.groups.coordinator_world import Cluster, topic_config
from tests.unit.broker.groups.shard_world import ManualFlusher
from tests.unit.broker.metadata.support import NODE

TIMEOUT_MS = 60_000


class RunningTransactions:
    """As much of a broker as transactions need; to be made inside a running loop."""

    def __init__(self, cluster: Cluster, *overrides: str, is_prepared: bool = True) -> None:
        """`is_prepared`: somebody has asked for the coordinator before, so that its topic is there."""
        self.cluster = cluster
        source = cluster.source
        self.partitions = PartitionTable(NODE, cluster.logs, ManualFlusher(), topic_config, lambda _: None, lambda: 0.0)
        self.partitions.apply(MetadataImage(), source.image)
        self.partitions.open_all()
        source.watch(lambda old, new, _: self.partitions.apply(old, new))
        self.threads = ThreadPoolExecutor(1)
        few = ("transaction.state.log.num.partitions=3", "offsets.topic.num.partitions=3")
        settings = load_settings(None, [f"node.id={NODE}", *few, *overrides])
        loop = asyncio.get_running_loop()
        controller = cluster.controller()
        parts = CoordinatorServiceParts(
            loop=loop,
            threads=self.threads,
            clock=cluster.clock,
            settings=lambda: settings,
            controller=controller,
            most_replicas=1,
            partitions=self.partitions,
            image=lambda: source.image,
        )
        groups = GroupServices(parts)
        own = TransactionParts(groups, RecordedBlocks(source, NODE).next_block, connector=None)
        self.services = TransactionServices(parts, own)
        source.watch(self.services.on_metadata)
        self._groups = groups
        self._source = source
        if is_prepared:
            assert now(self.coordinator.prepare()) is None

    @property
    def coordinator(self) -> TransactionCoordinator:
        """The coordinator."""
        return self.services.coordinator

    def handlers(self) -> TransactionHandlers:
        """What answers producers."""
        return TransactionHandlers(self.coordinator, self._groups.coordinator, self._source)

    def admin(self) -> TransactionAdminHandlers:
        """What answers administrators."""
        return TransactionAdminHandlers(self.coordinator)

    def begin(self, transactional_id: str = "tx") -> Producer:
        """Begin under an id."""
        told = now(self.coordinator.init_producer_id(transactional_id, TIMEOUT_MS, None))
        assert told.error is ErrorCode.NONE
        return Producer(told.producer_id, told.producer_epoch)

    def stop(self) -> None:
        """Stop it."""
        self.services.stop()
        self._groups.stop()
        self.threads.shutdown()
