"""The coordinator of groups, made when it is first needed: a broker without consumers starts without it.

Owns: when it is made, and whom it follows. Part of the composition root: imports are late on purpose.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.clock import Clock
from odradek.config.settings import BrokerSettings

if TYPE_CHECKING:
    from odradek.broker.controller.topic_creation import TopicCreation
    from odradek.broker.groups.coordinator import GroupCoordinator

OFFSETS_TOPIC = "__consumer_offsets"


class GroupParts(NamedTuple):
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


class GroupServices:
    """Everything of groups, built when it is first asked for."""

    def __init__(self, parts: GroupParts) -> None:
        self._parts = parts
        self._coordinator: GroupCoordinator | None = None

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
            if parts.most_replicas is not None:
                replicas = min(replicas, parts.most_replicas)
            topic = CoordinatorTopic(OFFSETS_TOPIC, replicas, parts.controller, parts.partitions, settings)
            self._coordinator = GroupCoordinator(parts.loop, parts.threads, parts.clock, settings, topic, parts.image)
        return self._coordinator
