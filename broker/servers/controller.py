"""The controller's composition root: builds every part of it, starts them in order and stops them in reverse.

Start, with the metadata log opened in an epoch of its own: bind the listeners, make this controller known in the
metadata, serve. Stop: accept nothing new, answer those who follow the log, finish what was proposed, close.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from functools import partial

from odradek.broker.connection_limits import ConnectionLimitsFollower, connection_limits
from odradek.broker.controller.broker_control import CHECKS_PER_SESSION, BrokerControl
from odradek.broker.controller.controller import Controller
from odradek.broker.controller.controller_view import registered_brokers
from odradek.broker.controller.replication_control import ReplicationControl
from odradek.broker.controller.token_sweep import token_sweep
from odradek.broker.controller.topics import PlacementRules
from odradek.broker.controller_handlers import ControllerHandlers, ControllerServices
from odradek.broker.dispatch.dispatcher import Dispatcher, RequestGate
from odradek.broker.dispatch.large_requests import LargeRequests
from odradek.broker.live_settings import LiveSettings
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.features import OLDEST, SUPPORTED
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.broker.metadata.source import stored_now
from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.raft.fetch import MetadataFetchHandler
from odradek.broker.raft.idle_records import IdleRecords
from odradek.broker.raft.leader import QuorumLeader
from odradek.broker.routes import CONTROLLER_ROUTES, FORWARDED, load_all_of_controller
from odradek.broker.runtime.context import ThisNode
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.scheduler import Scheduler
from odradek.broker.servers.client_limits import ClientLimits
from odradek.broker.servers.host import NetworkParts, ServerNetwork
from odradek.broker.servers.listeners import ServerListeners, network_limits, request_memory_bytes
from odradek.broker.servers.security import ServerSecurity
from odradek.broker.servers.shared import SharedServer
from odradek.build_kind import build_kind
from odradek.config.listeners import PROTOCOLS, is_wildcard
from odradek.protocol.messages.metadata_records import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)
from odradek.protocol.registry import API
from odradek.protocol.uuids import random_uuid
from odradek.storage.directories.clean_shutdown import remove_clean_shutdown, write_clean_shutdown

log = get_logger("controller")

QUORUM_THREADS = 2
"""For what observers read of log and snapshots that is not in memory."""
READ_THREADS = 1
"""For the names of hosts in the settings, which are looked up."""
METADATA_UPKEEP_S = 60.0
"""How often the metadata log is looked at for a snapshot that is due, and for what is too old, as in Kafka."""
LOAD_HANDLERS_AFTER_S = 1.0
"""When what no request has needed so far is imported."""
LOOPBACK = {
    "": "127.0.0.1",
    "0.0.0.0": "127.0.0.1",  # noqa: S104 - looked up, not bound
    "::": "::1",
    "0:0:0:0:0:0:0:0": "::1",
}
"""Where a listener on every interface is reached from the same machine."""
DRAIN_S = 5.0
"""How long requests in work may take to finish when the controller stops."""


class ControllerServer:
    """A controller, on the parts that it shares with a broker where that is in the same process."""

    def __init__(self, shared: SharedServer) -> None:
        self._shared = shared
        self._loop = shared.loop
        self._static = shared.settings
        self._quorum_threads = shared.host.threads("odradek-quorum", QUORUM_THREADS)
        self._read_threads = shared.host.executor("odradek-read", READ_THREADS)
        self._is_alone = not shared.settings.quorum.is_broker
        """Whether the directories are its own: else the broker opens and closes them."""
        self._listeners = ServerListeners(shared.settings.controller_listeners, lambda: self._settings.current)

    async def start(self) -> None:
        """Be ready to serve when this returns; the shared parts have been started.

        Raises:
            KafkaError, OSError: it cannot start; the message says why and what to do.
        """
        settings, metadata = self._static, self._shared.metadata
        if self._is_alone:
            for directory in self._shared.directories:
                remove_clean_shutdown(self._shared.fs, directory.path)
            self._shared.failures.begin(
                lambda path, why: self._loop.call_soon_threadsafe(
                    self._shared.end, f"log directory {path} of the metadata has failed: {why}"
                )
            )
        self._settings = LiveSettings(settings, metadata.image)
        metadata.watch(self._settings.on_metadata)
        self._network = self._build()
        try:
            self._listeners.bind(self._network)
        except OSError:
            if self._is_alone:
                self._close_directories()
            else:
                self._shared.give_up_start(self._shared.close_metadata)
            raise
        stored_now(metadata.propose([self._registration()], metadata.image))
        self._scheduler = Scheduler(self._loop, self._shared.upkeep_threads)
        snapshot_s = settings.metadata_log_max_snapshot_interval_ms / 1000 or METADATA_UPKEEP_S
        self._scheduler.every(min(METADATA_UPKEEP_S, snapshot_s), "metadata upkeep", metadata.upkeep)
        self._brokers.begin(self._now_ms(), None if self._is_alone else settings.node_id)
        self._scheduler.every(
            settings.broker_session_timeout_ms / 1000 / CHECKS_PER_SESSION,
            "fencing of silent brokers",
            lambda: self._brokers.tick(self._now_ms()),
        )
        if settings.auto_leader_rebalance_enable:
            self._scheduler.every(
                settings.leader_imbalance_check_interval_seconds,
                "balance of leaders",
                self._replication.balance_leaders,
            )
        self._scheduler.every(
            settings.unclean_leader_election_interval_ms / 1000,
            "elections of leaders out of sync",
            self._replication.elect_unclean_leaders,
        )
        self._scheduler.every(
            settings.delegation_token_expiry_check_interval_ms / 1000,
            "removal of delegation tokens",
            token_sweep(self._controller, self._shared.clock.now_ms),
        )
        if settings.metadata_max_idle_interval_ms:
            idle = IdleRecords(metadata, self._controller.in_turn)
            self._scheduler.every(settings.metadata_max_idle_interval_ms / 1000, "idle records", idle.look)
        self._scheduler.once_in_steps(
            LOAD_HANDLERS_AFTER_S, "loading of handlers", lambda: load_all_of_controller(self._handlers)
        )
        self._security.schedule(self._scheduler)
        metadata.use_threads(self._shared.metadata_threads)
        self._network.start()
        if self._shared.monitor is not None and self._is_alone:
            self._shared.monitor.serving(True)
        self._log_ready()

    async def stop(self) -> None:
        """Stop in order; returns when everything is on the disk."""
        started = self._shared.clock.monotonic()
        self._network.stop_accepting()
        self._network.stop_reading()
        self._fetch.answer_waiting()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._network.all_closed.wait(), DRAIN_S)
        self._network.close_connections()
        await self._scheduler.stop()
        await self._shared.metadata.settle()
        self._close_directories()
        self._read_threads.shutdown()
        self._quorum_threads.stop()
        log.info("stopped", took_ms=round((self._shared.clock.monotonic() - started) * 1000))

    @property
    def ports(self) -> list[int]:
        """The ports that nodes are served on, in the order of the listeners."""
        return [self._listeners.port_of(one) for one in self._static.controller_listeners]

    @property
    def local_address(self) -> NodeAddress:
        """Where the controller is reached from this machine, once it has started."""
        listener = self._static.controller_listeners[0]
        host = LOOPBACK.get(listener.host, listener.host)
        if listener.uses_tls and host != listener.host:
            host = self._certified_host(listener.name) or host
        return NodeAddress(host, self._listeners.port_of(listener))

    def _certified_host(self, listener: str) -> str | None:
        """Return the name under which others connect, which is the one that the certificate is for."""
        told = [one.host for one in self._static.advertised_listeners if one.name == listener and one.host]
        told += [one.host for one in self._static.quorum.voters if one.node_id == self._static.node_id]
        return next(iter(told), None)

    def _close_directories(self) -> None:
        if not self._is_alone:
            return
        problems = self._shared.close_metadata()
        for problem in problems:
            log.error("not closed in order; the next start will recover", reason=problem)
        if not problems:
            for directory in self._shared.directories:
                write_clean_shutdown(self._shared.fs, directory.path)

    # building

    def _build(self) -> ServerNetwork:
        settings, metadata, clock = self._static, self._shared.metadata, self._shared.clock
        monitor = self._shared.monitor
        configs = BrokerConfigs(metadata, settings.node_id, settings.values)
        rules = PlacementRules(settings.num_partitions, settings.default_replication_factor, self._shared.host.random)
        controller = self._controller = Controller(metadata, rules, configs, registered_brokers, configures_all=True)
        self._brokers = BrokerControl(controller, self._shared.cluster_id, settings.broker_session_timeout_ms)
        self._replication = ReplicationControl(controller, settings.node_id)
        meta = self._shared.metadata_directory.meta
        assert meta is not None
        assert meta.directory_id is not None
        advertised = self._listeners.advertised_for
        leader = QuorumLeader(settings.node_id, meta.directory_id, self._shared.cluster_id, metadata.epoch, advertised)
        self._fetch = MetadataFetchHandler(self._loop, metadata, leader, self._quorum_threads, clock)
        memory = RequestMemory(request_memory_bytes(settings), self._loop.call_soon)
        limits_of_clients = ClientLimits(self._loop, settings, clock)
        services = ControllerServices(
            loop=self._loop,
            threads=self._quorum_threads,
            clock=clock,
            memory=memory,
            settings=settings,
            metadata=metadata,
            leader=leader,
            node=ThisNode(settings.node_id, self._shared.cluster_id, None, advertised),
            configs=configs,
            controller=controller,
            brokers=self._brokers,
            replication=self._replication,
            fetch=self._fetch,
            served=[API[key] for key in CONTROLLER_ROUTES],
            forwardable=FORWARDED & CONTROLLER_ROUTES.keys(),
            client_quotas=lambda: limits_of_clients.enforcement,
        )
        handlers = self._handlers = ControllerHandlers(services)
        large = LargeRequests(self._loop, lambda: handlers.converter, memory)
        controller.use_threads(large)
        routes = {key: partial(find, handlers) for key, find in CONTROLLER_ROUTES.items()}
        dispatcher = Dispatcher(
            {}, routes, self._gate(), large, look=monitor.errors.answered if monitor is not None else None
        )
        handlers.handle = dispatcher.handle
        self._security = ServerSecurity(settings.controller_listeners, self._shared, lambda: metadata.image)
        configs.judge_by(partial(self._security.check, settings))
        network = self._shared.host.network(
            NetworkParts(
                network_limits(settings),
                connection_limits(self._settings.current),
                dispatcher.handle if monitor is None else monitor.requests.measured(dispatcher.handle),
                self._read_threads,
                memory,
                self._security.of_listeners(self._settings.current),
            )
        )
        follower = ConnectionLimitsFollower(
            self._loop, self._read_threads, self._settings.current, network.change_limits
        )
        self._settings.watch(follower.follow)
        self._settings.watch(self._security.follow)
        limits_of_clients.begin(metadata, dispatcher, network)
        if monitor is not None:
            from odradek.broker.servers.monitoring import collect_controller

            collect_controller(monitor, metadata, network, memory if self._is_alone else None)
        return network

    def _gate(self) -> RequestGate | None:
        """Make what asks who may; None where everybody may, and nothing is to be told of it."""
        wanted = self._static.authorization
        if not wanted.is_on and wanted.audit_log is None:
            return None
        from odradek.broker.servers.authorization import authorization_of_controller

        return authorization_of_controller(self._static, self._shared.metadata).gate

    def _now_ms(self) -> int:
        """Return what sessions are measured by: it never goes back."""
        return int(self._shared.clock.monotonic() * 1000)

    def _registration(self) -> MetadataRecord:
        """Return the record that makes this controller known, as it starts."""
        explicit = {one.name: one for one in self._static.advertised_listeners}
        end_points = []
        for listener in self._static.controller_listeners:
            advertised = explicit.get(listener.name)
            host = (advertised.host if advertised else "") or listener.host
            port = (advertised.port if advertised else 0) or self._listeners.port_of(listener)
            end_points.append(
                ControllerEndpoint(
                    name=listener.name,
                    host=socket.getfqdn() if is_wildcard(host) else host,
                    port=port,
                    security_protocol=PROTOCOLS.index(listener.protocol),
                )
            )
        return make_record(
            RegisterControllerRecord(
                controller_id=self._static.node_id,
                incarnation_id=random_uuid(),
                end_points=end_points,
                features=[
                    ControllerFeature(
                        name=name, min_supported_version=OLDEST.get(name, 0), max_supported_version=newest
                    )
                    for name, newest in SUPPORTED.items()
                ],
            )
        )

    def _log_ready(self) -> None:
        log.info(
            "ready" if self._is_alone else "the controller of the cluster is ready",
            listeners=self._listeners.bound_text(),
            advertised=self._listeners.advertised_text(),
            data=os.path.abspath(self._shared.metadata_directory.path),
            node_id=self._static.node_id,
            cluster_id=self._shared.cluster_id,
            epoch=self._shared.metadata.epoch,
            build=build_kind(),
            took_ms=round((self._shared.clock.monotonic() - self._shared.started_at) * 1000),
        )
