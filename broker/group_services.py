"""Everything that serves groups, made when it is first needed: a broker without consumers starts without it.

Owns: the coordinator, its handlers, and whom they follow. Part of the composition root: imports are late on purpose.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from odradek.broker.handlers.node import ThisNode
from odradek.broker.metadata.controller import Controller
from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.config.settings import BrokerSettings
from odradek.protocol.codec import Message
from odradek.protocol.registry import ApiKey

if TYPE_CHECKING:
    from odradek.broker.groups.coordinator import GroupCoordinator

OFFSETS_TOPIC = "__consumer_offsets"

Handler = Callable[[RequestContext, Any], "Message | Deferred[Any]"]

SERVED = (
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_DELETE,
    ApiKey.OFFSET_FETCH,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS,
    ApiKey.DELETE_GROUPS,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
)
"""The APIs of groups."""


@dataclass(frozen=True, slots=True)
class GroupParts:
    """What the services are built from."""

    loop: AbstractEventLoop
    threads: Executor
    clock: Clock
    settings: Callable[[], BrokerSettings]
    controller: Controller
    partitions: PartitionTable
    node: ThisNode
    image: Callable[[], MetadataImage]


class GroupServices:
    """See the module."""

    def __init__(self, parts: GroupParts) -> None:
        self._parts = parts
        self._coordinator: GroupCoordinator | None = None
        self._handlers: dict[ApiKey, Handler] = {}

    def routes(self) -> dict[ApiKey, Handler]:
        """Return a handler for each API of groups; the first call of any of them builds them all."""
        return {key: self._late(key) for key in SERVED}

    def start(self) -> None:
        """Begin to load what is stored of groups, if there is anything."""
        if self._parts.partitions.find(OFFSETS_TOPIC) is not None:
            self.coordinator.start()

    def stop(self) -> None:
        """Answer everybody who waits."""
        if self._coordinator is not None:
            self._coordinator.stop()

    def expire_offsets(self) -> None:
        """Look for offsets that have expired."""
        if self._coordinator is not None:
            self._coordinator.expire_offsets()

    def on_metadata(self, old: MetadataImage, new: MetadataImage, delta: ImageDelta) -> None:
        """Follow the metadata."""
        if self._coordinator is not None:
            self._coordinator.on_metadata(old, new, delta)

    def follow_settings(self, settings: BrokerSettings) -> None:
        """Follow settings that were changed while the broker runs."""
        if self._coordinator is not None:
            self._coordinator.follow_settings(settings)

    @property
    def coordinator(self) -> GroupCoordinator:
        """The coordinator, made now if need be."""
        if self._coordinator is None:
            from odradek.broker.coordinator.topic import CoordinatorTopic
            from odradek.broker.groups.coordinator import GroupCoordinator

            parts = self._parts
            settings = parts.settings()
            replicas = settings.offsets_topic_replication_factor
            topic = CoordinatorTopic(OFFSETS_TOPIC, replicas, parts.controller, parts.partitions, settings)
            self._coordinator = GroupCoordinator(parts.loop, parts.threads, parts.clock, settings, topic, parts.image)
        return self._coordinator

    def _late(self, key: ApiKey) -> Handler:
        handlers = self._handlers

        def call(context: RequestContext, request: Any) -> Message | Deferred[Any]:
            handler = handlers.get(key)
            if handler is None:
                self._build()
                handler = handlers[key]
            return handler(context, request)

        return call

    def _build(self) -> None:
        from odradek.broker.handlers.consumer_groups import ConsumerGroupHandlers
        from odradek.broker.handlers.coordinator import CoordinatorHandler
        from odradek.broker.handlers.group_admin import GroupAdminHandlers
        from odradek.broker.handlers.group_offsets import OffsetCommitHandlers
        from odradek.broker.handlers.groups import GroupHandlers
        from odradek.broker.handlers.offset_fetch import OffsetFetchHandler

        parts, coordinator = self._parts, self.coordinator
        members = GroupHandlers(coordinator, parts.clock)
        admin = GroupAdminHandlers(coordinator)
        max_metadata = parts.settings().offset_metadata_max_bytes
        commits = OffsetCommitHandlers(coordinator, parts.partitions, parts.clock, max_metadata)
        consumers = ConsumerGroupHandlers(coordinator, parts.clock)
        self._handlers.update(
            {
                ApiKey.FIND_COORDINATOR: CoordinatorHandler(parts.node, coordinator).find_coordinator,
                ApiKey.JOIN_GROUP: members.join_group,
                ApiKey.SYNC_GROUP: members.sync_group,
                ApiKey.HEARTBEAT: members.heartbeat,
                ApiKey.LEAVE_GROUP: members.leave_group,
                ApiKey.OFFSET_COMMIT: commits.offset_commit,
                ApiKey.OFFSET_DELETE: commits.offset_delete,
                ApiKey.OFFSET_FETCH: OffsetFetchHandler(coordinator, parts.partitions).offset_fetch,
                ApiKey.DESCRIBE_GROUPS: admin.describe_groups,
                ApiKey.LIST_GROUPS: admin.list_groups,
                ApiKey.DELETE_GROUPS: admin.delete_groups,
                ApiKey.CONSUMER_GROUP_HEARTBEAT: consumers.heartbeat,
                ApiKey.CONSUMER_GROUP_DESCRIBE: consumers.describe,
            }
        )
