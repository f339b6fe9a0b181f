"""What every kind of coordinator is made from, and that it is made when it is first needed.

Owns: when a coordinator is made and begins to load, and that it is told of what changes from then on. Part of the
composition root. Must not know: any kind of coordinator (`group_services`, `transaction_services`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from asyncio import AbstractEventLoop
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.clock import Clock
from odradek.config.settings import BrokerSettings

if TYPE_CHECKING:
    from odradek.broker.controller.topic_creation import TopicCreation
    from odradek.broker.coordinator.topic import CoordinatorTopic


class CoordinatorServiceParts(NamedTuple):
    """What the services of a kind of coordinator are built from."""

    loop: AbstractEventLoop
    threads: Executor
    clock: Clock
    settings: Callable[[], BrokerSettings]
    controller: TopicCreation
    most_replicas: int | None
    """Of the internal topic; None: as many as the configuration says."""
    partitions: PartitionTable
    image: Callable[[], MetadataImage]


class LoadableCoordinator(Protocol):
    """A coordinator as far as its life is concerned."""

    def start(self) -> None:
        """Begin to load what is there."""

    def stop(self) -> None:
        """Answer everybody who waits, and serve no more."""

    def on_metadata(self, old: MetadataImage, new: MetadataImage, delta: ImageDelta) -> None:
        """Follow the metadata."""

    def follow_settings(self, settings: BrokerSettings) -> None:
        """Follow settings that were changed while the broker runs."""


C = TypeVar("C", bound=LoadableCoordinator)


class CoordinatorServices(ABC, Generic[C]):
    """A coordinator, and what it needs, built when it is first asked for."""

    def __init__(self, parts: CoordinatorServiceParts, topic_name: str) -> None:
        """`topic_name` is that of the internal topic that the coordinator keeps its state in."""
        self._parts = parts
        self._topic_name = topic_name
        self._made: C | None = None

    @abstractmethod
    def _make_coordinator(self, settings: BrokerSettings, topic: Callable[[int], CoordinatorTopic]) -> C:
        """Make the coordinator; `topic` gives its topic for a wanted replication factor."""

    @property
    def coordinator(self) -> C:
        """The coordinator, made now if need be."""
        if self._made is None:
            settings = self._parts.settings()
            self._made = self._make_coordinator(settings, partial(self._topic, settings))
        return self._made

    @property
    def made(self) -> C | None:
        """The coordinator, if anybody needed it so far."""
        return self._made

    def start(self) -> None:
        """Begin to load what is stored, if there is anything."""
        if self._parts.partitions.find(self._topic_name) is not None:
            self.coordinator.start()

    def stop(self) -> None:
        """Answer everybody who waits."""
        if self._made is not None:
            self._made.stop()

    def on_metadata(self, old: MetadataImage, new: MetadataImage, delta: ImageDelta) -> None:
        """Follow the metadata; make the coordinator where this broker comes to lead a partition that has a past.

        Nobody may ever ask for what is in it: a transaction whose producer is gone is still to be aborted in time.
        """
        if self._made is not None:
            self._made.on_metadata(old, new, delta)
        elif self._leads_a_changed(delta):
            self.coordinator.start()

    def _leads_a_changed(self, delta: ImageDelta) -> bool:
        changed = [each.partition for each in delta.changed_partitions if each.topic.name == self._topic_name]
        topic = self._parts.partitions.find(self._topic_name) if changed else None
        return topic is not None and any(topic.get(index) is not None for index in changed)

    def follow_settings(self, settings: BrokerSettings) -> None:
        """Follow settings that were changed while the broker runs."""
        if self._made is not None:
            self._made.follow_settings(settings)

    def _topic(self, settings: BrokerSettings, replication_factor: int) -> CoordinatorTopic:
        from odradek.broker.coordinator.topic import CoordinatorTopic

        parts = self._parts
        if parts.most_replicas is not None:
            replication_factor = min(replication_factor, parts.most_replicas)
        return CoordinatorTopic(self._topic_name, replication_factor, parts.controller, parts.partitions, settings)
