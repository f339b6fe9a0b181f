"""From a broker's listeners to its handlers: what requests come in by, are let through by, and are answered with.

Built once logs, partitions and coordinators are there, which it only hands to the handlers. Made in the order in which
a request passes it, from behind: handlers, gate and dispatcher, limits of clients, security of the listeners, network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.broker_handlers import BrokerHandlers
from odradek.broker.broker_services import BrokerServices
from odradek.broker.connection_limits import ConnectionLimitsFollower, connection_limits
from odradek.broker.dispatch.dispatcher import Dispatcher, Look
from odradek.broker.dispatch.large_requests import LargeRequests
from odradek.broker.group_services import GroupServices
from odradek.broker.live_settings import LiveSettings
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.moving.replica_moves import ReplicaMoves
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.routes import DIRECT_ROUTES, MESSAGE_ROUTES, SERVED, load_all
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.servers.client_limits import ClientLimits
from odradek.broker.servers.decisions import Decisions
from odradek.broker.servers.host import NetworkParts, ServerNetwork
from odradek.broker.servers.listeners import ServerListeners, network_limits, request_memory_bytes
from odradek.broker.servers.security import ServerSecurity
from odradek.broker.servers.shared import SharedServer
from odradek.broker.transaction_services import TransactionServices
from odradek.protocol.codec import Message
from odradek.protocol.registry import API
from odradek.storage.directories.manager import LogManager

if TYPE_CHECKING:
    from odradek.broker.monitoring.monitor import Monitor
    from odradek.broker.monitoring.traffic import Traffic
    from odradek.broker.servers.authorization import Authorization
    from odradek.broker.servers.replication import BrokerReplication


class RequestPathParts(NamedTuple):
    """What it is built on."""

    shared: SharedServer
    settings: LiveSettings
    listeners: ServerListeners
    read_threads: Executor
    metadata: MetadataImages
    logs: LogManager
    partitions: PartitionTable
    moves: ReplicaMoves
    replication: BrokerReplication | None
    """None for a broker that is alone."""
    configs: BrokerConfigs
    decisions: Decisions
    authorization: Authorization | None
    """None where everybody may, and nothing is to be told of it."""
    groups: GroupServices
    transactions: TransactionServices


class RequestPath(NamedTuple):
    """What was built of it that others start, stop and follow."""

    network: ServerNetwork
    security: ServerSecurity
    load_handlers: Callable[[], Iterator[type[Message]]]
    """Imports and makes every handler, a step at a time."""


def build_request_path(of: RequestPathParts) -> RequestPath:
    """Return the way of a broker's requests, with nothing bound yet."""
    shared, decisions = of.shared, of.decisions
    static, loop, monitor = shared.settings, shared.loop, shared.monitor
    memory = RequestMemory(request_memory_bytes(static), loop.call_soon)
    limits_of_clients = ClientLimits(loop, static, shared.clock, decisions.forwarded)
    read_threads, traffic = of.read_threads, None
    if monitor is not None:
        from odradek.broker.monitoring.traffic import Traffic

        read_threads, traffic = monitor.cold_reads(read_threads), Traffic(of.partitions, monitor.errors)
    handlers = BrokerHandlers(_services(of, memory, read_threads, limits_of_clients, traffic))
    dispatcher = _dispatcher(of, handlers, memory, monitor.errors.answered if monitor is not None else None)
    security = ServerSecurity(static.listeners, shared, lambda: of.metadata.image)
    of.configs.judge_by(partial(security.check, static))
    current = of.settings.current
    network = shared.host.network(
        NetworkParts(
            network_limits(static),
            connection_limits(current),
            dispatcher.handle if monitor is None else monitor.requests.measured(dispatcher.handle),
            read_threads,
            memory,
            security.of_listeners(current),
        )
    )
    of.settings.watch(ConnectionLimitsFollower(loop, of.read_threads, current, network.change_limits).follow)
    of.settings.watch(security.follow)
    limits_of_clients.begin(of.metadata, dispatcher, network)
    if monitor is not None and traffic is not None:
        _collect(of, monitor, traffic, memory, network)
    return RequestPath(network, security, partial(load_all, handlers, decisions.forwarded.keys()))


def _services(
    of: RequestPathParts, memory: RequestMemory, read_threads: Executor, limits: ClientLimits, traffic: Traffic | None
) -> BrokerServices:
    decisions, replication, authorization = of.decisions, of.replication, of.authorization
    return BrokerServices(
        loop=of.shared.loop,
        read_threads=read_threads,
        clock=of.shared.clock,
        memory=memory,
        settings=of.shared.settings,
        metadata=of.metadata,
        partitions=of.partitions,
        logs=of.logs,
        moves=of.moves,
        brokers=decisions.brokers,
        configs=of.configs,
        controller=decisions.controller,
        topic_creation=decisions.topic_creation,
        served=[API[key] for key in {*SERVED, *decisions.forwarded}],
        versions=decisions.versions,
        quorum=decisions.quorum,
        groups=of.groups,
        transactions=of.transactions,
        client_quotas=lambda: limits.enforcement,
        quota=replication.quotas if replication is not None else None,
        nearest=replication.nearest if replication is not None else None,
        readers=authorization.readers if authorization is not None else None,
        traffic=traffic,
    )


def _dispatcher(of: RequestPathParts, handlers: BrokerHandlers, memory: RequestMemory, look: Look | None) -> Dispatcher:
    forwarded, controller = of.decisions.forwarded, of.decisions.controller
    large = LargeRequests(of.shared.loop, lambda: handlers.converter, memory)
    if controller is not None:
        controller.use_threads(large)
    return Dispatcher(
        {key: partial(find, handlers) for key, find in DIRECT_ROUTES.items()},
        {key: partial(find, handlers) for key, find in MESSAGE_ROUTES.items() if key not in forwarded},
        gate=of.authorization.gate if of.authorization is not None else None,
        large=large,
        forwarded=forwarded,
        look=look,
    )


def _collect(
    of: RequestPathParts, monitor: Monitor, traffic: Traffic, memory: RequestMemory, network: ServerNetwork
) -> None:
    """Have everything collected that there is by now."""
    from odradek.broker.servers.monitoring import BrokerSources, collect_broker

    sources = BrokerSources(
        partitions=of.partitions,
        metadata=of.metadata,
        groups=of.groups,
        transactions=of.transactions,
        traffic=traffic,
        memory=memory,
        network=network,
        replicas=of.replication.manager if of.replication is not None else None,
        address=lambda: of.listeners.bound_text().split(",")[0].partition("://")[2],
    )
    collect_broker(monitor, of.shared.settings.node_id, sources)
