"""What makes a broker a member of a cluster, wherever the controllers are.

Owns: the channels to the active controller, registration and leaving, each in its place in the life of the broker. Must
not know: what a broker serves, and where the metadata comes from (`ControllerQuorum`).
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from odradek.broker.controller.configs import plan_alteration
from odradek.broker.dispatch.route import Forward
from odradek.broker.forwarding.envelopes import Forwarding
from odradek.broker.forwarding.logger_changes import LoggerChanges
from odradek.broker.forwarding.remote_controller import RemoteBlocks, RemoteTopicCreation
from odradek.broker.handlers.broker_loggers import change_loggers
from odradek.broker.handlers.known_brokers import RegisteredBrokers
from odradek.broker.lifecycle.driver import LifecycleDriver
from odradek.broker.lifecycle.registration import AdvertisedListener, registration_of
from odradek.broker.lifecycle.state import LifecycleTimes
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.errors import UnsupportedMetadataError
from odradek.broker.metadata.image import ConfigResource
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.nodes.controller_channel import ControllerChannel
from odradek.broker.nodes.requests import Connector, NodeAddress
from odradek.broker.routes import HANDED_ON
from odradek.broker.servers.decisions import Decisions
from odradek.broker.servers.shared import SharedServer
from odradek.config.alter import ConfigChange, alter
from odradek.config.errors import UnknownOperationError
from odradek.config.listeners import is_wildcard
from odradek.config.settings import BrokerSettings
from odradek.protocol.registry import ApiKey
from odradek.protocol.uuids import random_uuid
from odradek.storage.directories.clean_shutdown import UNKNOWN_BROKER_EPOCH

if TYPE_CHECKING:
    from odradek.broker.dispatch.gate import Gate

MAX_ANSWER_BYTES: Final = 100 * 1024 * 1024
"""Of another node: more than any controller has to say at once."""
REQUEST_TIMEOUT_S: Final = 30.0
"""Of one attempt to have a request answered by a controller."""


class ControllerQuorum(Protocol):
    """The controllers of a cluster, and the metadata that they have decided."""

    @property
    def metadata(self) -> MetadataImages:
        """The metadata; there is some after `join`."""

    @property
    def leader(self) -> NodeAddress | None:
        """Where the active controller is, if that is known."""

    @property
    def upkeep(self) -> Callable[[], Callable[[], None]] | None:
        """What is to be done for the metadata from time to time (`MetadataLog.upkeep`); None where somebody else does
        it."""

    async def join(self) -> None:
        """Get the metadata of the cluster, once it is known which that is.

        Raises:
            MetadataError, StorageError, OSError: it cannot be had; the message says what to do.
        """

    async def stop(self) -> None:
        """End all that is under way; nobody asks the controller any more."""

    def close_metadata(self) -> list[str]:
        """Give the files of the metadata back; return what went wrong, in sentences."""


class ClusterMember:
    """A broker's membership. `lifecycle` is there after `register`, all else after `join`."""

    lifecycle: LifecycleDriver

    def __init__(self, shared: SharedServer, quorum: ControllerQuorum) -> None:
        self._shared = shared
        self._settings: BrokerSettings = shared.settings
        self.quorum = quorum
        self._random = shared.host.random
        self._loop = shared.loop
        self._connector: Connector = shared.host.connector(MAX_ANSWER_BYTES, shared.nodes.to_controllers())
        self._channels: list[ControllerChannel] = []
        self._previous_epoch = UNKNOWN_BROKER_EPOCH

    @property
    def metadata(self) -> MetadataImages:
        """The metadata that the controllers have decided."""
        return self.quorum.metadata

    async def join(self) -> None:
        """Get the metadata of the cluster; raises what `ControllerQuorum.join` does."""
        shared = self._shared
        epochs = {one.broker_epoch(shared.fs) for one in shared.partition_directories}
        self._previous_epoch = epochs.pop() if len(epochs) == 1 else UNKNOWN_BROKER_EPOCH
        await self.quorum.join()
        self._make_services()
        self._forwarding.learn_versions()

    def _make_services(self) -> None:
        settings, quorum = self._settings, self.quorum
        forwarding = self.channel("forwarding")
        self._forwarding = Forwarding(forwarding, lambda: quorum.leader, HANDED_ON)
        self._brokers = RegisteredBrokers(self._shared.cluster_id, lambda: quorum.metadata.image, self._random)
        self._topic_creation = RemoteTopicCreation(
            forwarding, settings.num_partitions, settings.default_replication_factor
        )
        self._producer_id_blocks = RemoteBlocks(forwarding, settings.node_id, lambda: self.lifecycle.broker_epoch)

    def decisions(self, configs: BrokerConfigs, gate: Gate | None = None) -> Decisions:
        """Return how the controllers are asked; they are there after `join`. `configs` are those of this broker, `gate`
        says who may change loggers."""
        self._configs = configs
        set_levels = partial(change_loggers, node_id=self._settings.node_id)
        may = None if gate is None else gate.may_change_loggers
        loggers = LoggerChanges(self._forwarding.forward, set_levels, self._check_broker_configs, may)
        forwards: dict[ApiKey, Forward] = dict.fromkeys(HANDED_ON, self._forwarding.forward)
        forwards[ApiKey.INCREMENTAL_ALTER_CONFIGS] = loggers.handle
        about_tokens = (
            ApiKey.CREATE_DELEGATION_TOKEN,
            ApiKey.RENEW_DELEGATION_TOKEN,
            ApiKey.EXPIRE_DELEGATION_TOKEN,
        )
        forwards.update(dict.fromkeys(about_tokens, self._forwarding.forward_about_tokens))
        return Decisions(
            controller=None,
            brokers=self._brokers,
            topic_creation=self._topic_creation,
            next_producer_ids=self._producer_id_blocks.next_block,
            versions=self._forwarding.versions,
            forwarded=forwards,
            quorum=None,
            most_replicas=None,
            connector=self._shared.host.connector(MAX_ANSWER_BYTES, self._shared.nodes.to_brokers()),
        )

    def _check_broker_configs(self, resource: ConfigResource, changes: Sequence[ConfigChange]) -> None:
        """Raise KafkaError for another broker than this, and for values that none can have; what is no operation at all
        is for the controller."""
        image, layers = self.metadata.image, self._configs.layers
        usable, node_id = self._configs.usable_for(resource.name), self._settings.node_id
        with suppress(UnknownOperationError):
            plan_alteration(image, resource, lambda target, now: alter(target, now, changes), node_id, layers, usable)

    def channel(self, name: str, request_timeout_s: float = REQUEST_TIMEOUT_S) -> ControllerChannel:
        """Return a channel to the active controller; what is asked over others never holds it up."""
        quorum = self.quorum
        client_id = f"broker-{self._settings.node_id}-{name}"
        channel = ControllerChannel(self._loop, self._connector, lambda: quorum.leader, client_id, request_timeout_s)
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
        self.lifecycle = LifecycleDriver(self._loop, heartbeats, self.metadata, registration, times)
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
        await self.quorum.stop()


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
