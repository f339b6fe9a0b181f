"""What the tests of the metadata and admin handlers share: handlers on a source of metadata without files."""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Collection
from dataclasses import dataclass

from odradek.broker.controller.controller import Controller
from odradek.broker.handlers.client_quotas import ClientQuotaHandlers
from odradek.broker.handlers.cluster import ClusterHandler
from odradek.broker.handlers.configs import ConfigHandlers
from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.describe_configs import ConfigDescriber
from odradek.broker.handlers.failed_replicas import InOwnDirectories
from odradek.broker.handlers.known_brokers import OnlyThisBroker
from odradek.broker.handlers.metadata import MetadataHandler
from odradek.broker.handlers.topics import TopicHandlers
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.quotas.enforcement import ClientQuotaEnforcement
from odradek.broker.runtime.context import RequestContext, ThisNode
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.storage.names import TopicPartition
from tests.support.manual_loop import ManualLoop
from tests.unit.broker.metadata.support import NODE, ONE_BROKER, RULES, MemorySource

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


@dataclass
class Admin:
    """All handlers on one source."""

    source: MemorySource
    controller: Controller
    metadata: MetadataHandler
    cluster: ClusterHandler
    topics: TopicHandlers
    configs: ConfigHandlers
    quotas: ClientQuotaHandlers


def new_admin(
    source: MemorySource | None = None,
    *,
    auto_create: bool = True,
    deletion: bool = True,
    page_limit: int = 2000,
    deletions_settled: Callable[[], Deferred[None] | None] = lambda: None,
    lost: Collection[TopicPartition] = (),
    loop: AbstractEventLoop | None = None,
    quotas: ClientQuotaEnforcement | None = None,
) -> Admin:
    """Return handlers on a source of metadata, an empty one by default; logs of `lost` are in failed directories."""
    source = source or MemorySource()
    loop = loop or ManualLoop()
    configs = BrokerConfigs(source, NODE, {"num.partitions": "1"})
    controller = Controller(source, RULES, configs, ONE_BROKER)
    node = ThisNode(NODE, "cluster", "rack", lambda context: (context.local_host, context.local_port))
    brokers = OnlyThisBroker(node)
    describer = ConfigDescriber(configs)
    failed = InOwnDirectories(lambda: lost)
    return Admin(
        source=source,
        controller=controller,
        metadata=MetadataHandler(brokers, source, controller, auto_create, failed, quotas),
        cluster=ClusterHandler(brokers, source, page_limit, failed),
        topics=TopicHandlers(controller, deletion, describer.describe_created, deletions_settled, quotas),
        configs=ConfigHandlers(source, controller, describer, NODE, brokers.registered),
        quotas=ClientQuotaHandlers(loop, source, controller, Converter(loop, RequestMemory(1 << 30, loop.call_soon))),
    )


def at(version: int) -> RequestContext:
    """Return the context of a request of that version."""
    return RequestContext(
        peer="192.0.2.9:4711",
        client_host="192.0.2.9",
        listener="PLAINTEXT",
        local_host="192.0.2.1",
        local_port=9092,
        api_version=version,
    )
