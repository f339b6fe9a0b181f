"""What a broker's handlers are built from: the parts of it that answer requests.

Part of the composition root, which fills it in; `broker_handlers` takes from it what each handler needs.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Collection
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.controller.controller import Controller
from odradek.broker.group_services import GroupServices
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.moving.replica_moves import ReplicaMoves
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.transaction_services import TransactionServices
from odradek.config.settings import BrokerSettings
from odradek.protocol.registry import Api
from odradek.storage.directories.manager import LogManager

if TYPE_CHECKING:
    from odradek.broker.authorization.reading import Readers
    from odradek.broker.controller.topic_creation import TopicCreation
    from odradek.broker.handlers.counting import TrafficCounter
    from odradek.broker.handlers.known_brokers import KnownBrokers
    from odradek.broker.handlers.nearest_fetch import NearestReplica
    from odradek.broker.handlers.replica_fetch import LeaderQuota
    from odradek.broker.quotas.enforcement import ClientQuotaEnforcement
    from odradek.broker.raft.describe_quorum import QuorumDescriber


class BrokerServices(NamedTuple):
    """What handlers are built from."""

    loop: AbstractEventLoop
    read_threads: Executor
    clock: Clock
    memory: RequestMemory
    settings: BrokerSettings
    metadata: MetadataImages
    partitions: PartitionTable
    logs: LogManager
    moves: ReplicaMoves
    brokers: KnownBrokers
    configs: BrokerConfigs
    controller: Controller | None
    """None where the controllers are elsewhere."""
    topic_creation: TopicCreation
    served: Collection[Api]
    """What ApiVersions tells."""
    versions: Callable[[Api], tuple[int, int] | None]
    """The versions of an API that are answered at present."""
    quorum: Callable[[], QuorumDescriber] | None
    """Makes what tells of the quorum; None where the controllers are elsewhere."""
    groups: GroupServices
    transactions: TransactionServices
    client_quotas: Callable[[], ClientQuotaEnforcement] | None = None
    """Makes what says how much clients may take; None for as much as they like."""
    quota: LeaderQuota | None = None
    """How much followers may be sent; None where there are none."""
    readers: Readers | None = None
    """Who may fetch what; None where everybody may."""
    nearest: NearestReplica | None = None
    """Where consumers are sent that have a nearer replica than the leader."""
    traffic: TrafficCounter | None = None
    """Counts what is produced and fetched; None where nobody looks at that."""
