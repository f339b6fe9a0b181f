"""What makes a broker a member of a cluster whose controllers are elsewhere.

Owns: finding out which cluster that is, the copy of its metadata, the channels to the active controller, registration
and leaving, each in its place in the life of the broker. Must not know: what a broker serves.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from odradek.broker.dispatch.dispatcher import Forward
from odradek.broker.forwarding.envelopes import Forwarding
from odradek.broker.forwarding.logger_changes import LoggerChanges
from odradek.broker.forwarding.remote_controller import RemoteBlocks, RemoteTopicCreation
from odradek.broker.handlers.broker_loggers import change_loggers
from odradek.broker.handlers.known_brokers import RegisteredBrokers
from odradek.broker.lifecycle.driver import LifecycleDriver
from odradek.broker.lifecycle.registration import AdvertisedListener, registration_of
from odradek.broker.lifecycle.state import LifecycleTimes
from odradek.broker.metadata.errors import UnsupportedMetadataError
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.nodes.controller_channel import ControllerChannel
from odradek.broker.nodes.requests import Connector, Disconnected, NodeAddress
from odradek.broker.raft.metadata_copy import MetadataCopy, metadata_directory
from odradek.broker.raft.observer import MetadataObserver, ObserverSettings
from odradek.broker.routes import HANDED_ON
from odradek.broker.runtime.logging import get_logger
from odradek.broker.servers.shared import SharedServer
from odradek.config.listeners import is_wildcard
from odradek.config.settings import BrokerSettings
from odradek.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.protocol.registry import ApiKey
from odradek.protocol.uuids import ZERO_UUID, random_uuid
from odradek.storage.directories.clean_shutdown import UNKNOWN_BROKER_EPOCH, read_broker_epoch
from odradek.storage.directories.log_dirs import identify_log_directories, make_log_directories
from odradek.storage.errors import StorageError

MAX_ANSWER_BYTES: Final = 100 * 1024 * 1024
"""Of another node: more than any controller has to say at once."""
REQUEST_TIMEOUT_S: Final = 30.0
"""Of one attempt to have a request answered by a controller."""
ASK_AGAIN_S: Final = 0.2
CONTROLLERS: Final = 2
"""Type of the endpoint in DescribeCluster."""

T = TypeVar("T")

log = get_logger("cluster")


class ClusterMember:
    """A broker's membership. After `join`: all but `lifecycle`, which is there after `register`."""

    observer: MetadataObserver
    lifecycle: LifecycleDriver
    brokers: RegisteredBrokers
    forwarding: Forwarding
    topic_creation: RemoteTopicCreation
    producer_id_blocks: RemoteBlocks
    copy: MetadataCopy

    def __init__(self, shared: SharedServer) -> None:
        self._shared = shared
        self._settings: BrokerSettings = shared.settings
        self._random = shared.host.random
        self._loop = shared.loop
        self._connector: Connector = shared.host.connector(MAX_ANSWER_BYTES)
        self._channels: list[ControllerChannel] = []
        self._previous_epoch = UNKNOWN_BROKER_EPOCH
        self._last_reason = ""
        """Why no controller could be reached, as it was said last."""

    @property
    def metadata(self) -> MetadataImages:
        """The metadata that the controllers have decided."""
        return self.observer

    async def join(self) -> None:
        """Get the metadata of the cluster, once it is known which that is.

        Raises:
            MetadataError, StorageError: it is another cluster than the directories', nobody can be reached, or the
                metadata cannot be taken over; the message says what to do.
        """
        shared, settings = self._shared, self._settings
        if not shared.has_cluster_id:
            shared.join_cluster(await self._ask_cluster_id())
        epochs = {read_broker_epoch(shared.fs, one.path) for one in shared.directories if one.for_partitions}
        self._previous_epoch = epochs.pop() if len(epochs) == 1 else UNKNOWN_BROKER_EPOCH
        path, options = shared.metadata_options()
        make_log_directories(shared.fs, shared.directories)
        self.copy = MetadataCopy(shared.fs, metadata_directory(path), options, shared.clock)
        identify_log_directories(shared.fs, shared.directories)
        quorum = settings.quorum
        self.observer = MetadataObserver(
            self._loop,
            shared.metadata_threads,
            self._random,
            self._connector,
            self.copy,
            ObserverSettings(
                node_id=settings.node_id,
                directory_id=shared.directory_ids[0] if shared.directory_ids else ZERO_UUID,
                cluster_id=shared.cluster_id,
                voters={one.node_id: NodeAddress(one.host, one.port) for one in quorum.voters},
                servers=[NodeAddress(*server) for server in quorum.bootstrap_servers],
                max_bytes=settings.controller_quorum_fetch_max_bytes,
                snapshot_max_bytes=settings.controller_quorum_fetch_snapshot_max_bytes,
                fetch_timeout_s=settings.controller_quorum_fetch_timeout_ms / 1000,
                request_timeout_s=max(settings.controller_quorum_request_timeout_ms / 1000, 1.0),
                retry_backoff_s=settings.controller_quorum_retry_backoff_ms / 1000,
            ),
        )
        self.observer.start()
        self._make_services()
        refused = await self._in_time(self.observer.first_image)
        if refused is not None:
            raise refused
        self.forwarding.learn_versions()

    def _make_services(self) -> None:
        settings, observer = self._settings, self.observer
        forwarding = self.channel("forwarding")
        self.forwarding = Forwarding(forwarding, lambda: observer.leader, HANDED_ON)
        self.brokers = RegisteredBrokers(self._shared.cluster_id, lambda: observer.image, self._random)
        self.topic_creation = RemoteTopicCreation(
            forwarding, settings.num_partitions, settings.default_replication_factor
        )
        self.producer_id_blocks = RemoteBlocks(forwarding, settings.node_id, lambda: self.lifecycle.broker_epoch)

    def handed_on(self) -> Mapping[ApiKey, Forward]:
        """Return what brings requests of each API that is handed on to the controller."""
        loggers = LoggerChanges(self.forwarding.forward, partial(change_loggers, node_id=self._settings.node_id))
        forwards: dict[ApiKey, Forward] = dict.fromkeys(HANDED_ON, self.forwarding.forward)
        forwards[ApiKey.INCREMENTAL_ALTER_CONFIGS] = loggers.handle
        return forwards

    def channel(self, name: str, request_timeout_s: float = REQUEST_TIMEOUT_S) -> ControllerChannel:
        """Return a channel to the active controller; what is asked over others never holds it up."""
        observer = self.observer
        client_id = f"broker-{self._settings.node_id}-{name}"
        channel = ControllerChannel(self._loop, self._connector, lambda: observer.leader, client_id, request_timeout_s)
        self._channels.append(channel)
        return channel

    async def register(self, ports: Sequence[int]) -> None:
        """Register with the controllers; returns once the metadata has the registration.

        `ports` are those that the listeners were bound to. Raises UnsupportedMetadataError if they refuse.
        """
        settings, shared = self._settings, self._shared
        registration = registration_of(
            settings.node_id,
            shared.cluster_id,
            random_uuid(),
            advertised_listeners(settings, ports),
            settings.broker_rack,
            shared.directory_ids,
            self._previous_epoch,
        )
        times = LifecycleTimes(
            heartbeat_interval_s=settings.broker_heartbeat_interval_ms / 1000,
            session_timeout_s=settings.broker_session_timeout_ms / 1000,
            registration_timeout_s=settings.initial_broker_registration_timeout_ms / 1000,
        )
        heartbeats = self.channel("heartbeat", times.session_timeout_s / 2)
        self.lifecycle = LifecycleDriver(self._loop, heartbeats, self.observer, registration, times)
        self.lifecycle.start()
        _check(await self.lifecycle.caught_up())

    async def serve(self) -> None:
        """Say that all can be served; returns once this broker may.

        Raises UnsupportedMetadataError if it is refused.
        """
        _check(await self.lifecycle.ready())

    async def leave(self) -> None:
        """Have the leaderships moved to others; returns when this broker may stop."""
        if self._settings.controlled_shutdown_enable:
            await self.lifecycle.leave()
        self.lifecycle.stop()

    async def stop(self) -> None:
        """End all that is under way."""
        for channel in self._channels:
            channel.close()
        under_way = self.observer.stop()
        if under_way is not None:
            await under_way

    def close_metadata(self) -> list[str]:
        """Give the files of the metadata back; return what went wrong, in sentences."""
        try:
            self.copy.close()
        except StorageError as failed:
            return [str(failed)]
        return []

    async def _ask_cluster_id(self) -> str:
        """Ask the controllers which cluster they are of. Raises UnsupportedMetadataError if none says so in time."""

        async def ask() -> str:
            quorum = self._settings.quorum
            servers = [NodeAddress(one.host, one.port) for one in quorum.voters]
            servers += [NodeAddress(*server) for server in quorum.bootstrap_servers]
            while True:
                for server in servers:
                    connection = self._connector.connect(server, f"broker-{self._settings.node_id}-join")
                    answer = await connection.send(DescribeClusterRequest(endpoint_type=CONTROLLERS), 2.0)
                    connection.close()
                    if isinstance(answer, DescribeClusterResponse) and not answer.error_code and answer.cluster_id:
                        return answer.cluster_id
                    if isinstance(answer, Disconnected):
                        self._note(answer.reason)
                await asyncio.sleep(ASK_AGAIN_S)

        return await self._in_time(ask())

    def _note(self, reason: str) -> None:
        if self._last_reason != reason:
            self._last_reason = reason
            log.info("waits for the controllers", reason=reason)

    async def _in_time(self, coming: Awaitable[T]) -> T:
        """Return a result that the controllers have to give before long."""

        async def arrival() -> T:
            return await coming

        try:
            return await asyncio.wait_for(arrival(), self._settings.initial_broker_registration_timeout_ms / 1000)
        except TimeoutError:
            quorum = self._settings.quorum
            named = [f"{one.host}:{one.port}" for one in quorum.voters]
            named += [f"{host}:{port}" for host, port in quorum.bootstrap_servers]
            raise UnsupportedMetadataError(
                f"no active controller was found at {', '.join(named)} within initial.broker.registration.timeout.ms:"
                " see that the controllers run, and that controller.quorum.voters or"
                " controller.quorum.bootstrap.servers name them"
            ) from None


def advertised_listeners(settings: BrokerSettings, ports: Sequence[int]) -> list[AdvertisedListener]:
    """Return where other nodes and their clients reach the listeners, which were bound to these ports."""
    explicit = {one.name: one for one in settings.advertised_listeners}
    found = []
    for listener, bound_port in zip(settings.listeners, ports, strict=True):
        told = explicit.get(listener.name)
        host = (told.host if told else "") or listener.host
        if is_wildcard(host):
            host = socket.gethostname()
        port = (told.port if told else 0) or bound_port
        found.append(AdvertisedListener(listener.name, host, port, listener.protocol))
    return found


def _check(refusal: str | None) -> None:
    if refusal is not None:
        raise UnsupportedMetadataError(refusal)
