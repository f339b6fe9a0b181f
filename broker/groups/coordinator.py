"""The group coordinator of this broker: all shards, and which of them has a group.

Owns: the life of the shards - made with the topic, loaded in the background, closed with the broker - and the regular
look for offsets that have expired. Must not know: requests of any version, what a group's members say.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator
from concurrent.futures import Executor

from odradek.broker.groups.administration import expire
from odradek.broker.groups.classic.values import Limits
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.broker.groups.loads import ShardLoads
from odradek.broker.groups.offsets_topic import OffsetsTopic
from odradek.broker.groups.partitioning import partition_for
from odradek.broker.groups.settings import classic_limits, consumer_settings, with_configs
from odradek.broker.groups.shard import Shard, ShardServices, ShardState
from odradek.broker.metadata.image import ImageDelta, MetadataImage, ResourceType
from odradek.broker.metadata.internal_topics import OFFSETS_TOPIC
from odradek.broker.runtime.clock import Clock
from odradek.config.settings import BrokerSettings
from odradek.protocol.errors import ErrorCode, KafkaError

LOAD_CHUNK_BYTES = 1024 * 1024
"""Most that is read at a time, whatever offsets.load.buffer.size allows: somebody else wants the loop, too."""


class GroupCoordinator:
    """See the module."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        threads: Executor,
        clock: Clock,
        settings: BrokerSettings,
        topic: OffsetsTopic,
        image: Callable[[], MetadataImage],
    ) -> None:
        self._loop = loop
        self._topic = topic
        self._services = ShardServices(
            scheduler=loop,
            clock=clock,
            limits=classic_limits(settings),
            consumer_settings=self._settings_of,
            image=image,
            codec=settings.offsets_topic_compression_codec,
            commit_timeout_ms=settings.offsets_commit_timeout_ms,
            load_chunk_bytes=min(settings.offsets_load_buffer_size, LOAD_CHUNK_BYTES),
        )
        self._settings = settings
        self._image = image
        self.consumer_settings = consumer_settings(settings)
        """What holds for groups of the consumer protocol that have no configs of their own."""
        self._retention_ms = settings.offsets_retention_minutes * 60_000
        self._count = 0
        """Partitions of the topic when it was first seen: where a group lives must not change."""
        self._shards: dict[int, Shard] = {}
        self._loads = ShardLoads(loop, threads)
        self._is_stopped = False

    @property
    def limits(self) -> Limits:
        """The broker's settings for classic groups."""
        return self._services.limits

    # life

    def start(self) -> None:
        """Begin to load what is there."""
        topic = self._topic.find()
        if topic is not None:
            self._count = topic.count
            for index in range(topic.count):
                self._shard_at(index)

    def stop(self) -> None:
        """Answer everybody who waits, and serve no more."""
        self._is_stopped = True
        self._loads.stop()
        for shard in self._shards.values():
            shard.close()

    def follow_settings(self, settings: BrokerSettings) -> None:
        """Follow settings that were changed while the broker runs."""
        self._settings = settings
        self.consumer_settings = consumer_settings(settings)

    def on_metadata(self, _old: MetadataImage, _new: MetadataImage, delta: ImageDelta) -> None:
        """Follow the metadata: the offsets of deleted topics go."""
        for topic in delta.deleted_topics:
            if topic.name == OFFSETS_TOPIC:
                for shard in self._shards.values():
                    shard.close()
                self._shards.clear()
                self._loads.forget()
                self._count = 0
            else:
                for shard in self._shards.values():
                    shard.remove_topic(topic.name)

    # look-ups

    def prepare(self) -> None:
        """Make the topic if there is none.

        Raises:
            KafkaError: COORDINATOR_NOT_AVAILABLE.
        """
        if self._is_stopped:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the broker stops")
        if not self._count:
            self._count = self._topic.find_or_create().count

    def shard(self, group_id: str) -> Shard:
        """Return the shard that a group lives in.

        Raises:
            KafkaError: COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE or NOT_COORDINATOR.
        """
        self.prepare()
        shard = self._shard_at(partition_for(group_id, self._count))
        if shard is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        if shard.state is ShardState.LOADING:
            self._loads.first(shard)
        state = shard.state
        if state is ShardState.LOADING:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if state is not ShardState.ACTIVE:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return shard

    def shards(self) -> tuple[list[Shard], bool]:
        """Return the shards that serve, and whether these are all."""
        active = [shard for shard in self._shards.values() if shard.state is ShardState.ACTIVE]
        return active, not any(shard.state is ShardState.LOADING for shard in self._shards.values())

    def _settings_of(self, group_id: str) -> ConsumerGroupSettings:
        """Return what holds for a group of the consumer protocol."""
        configs = self._image().config(ResourceType.GROUP, group_id)
        return with_configs(self.consumer_settings, configs, self._settings)

    def _shard_at(self, index: int) -> Shard | None:
        """Return the shard of a partition, made now if need be; None where this broker does not serve the partition."""
        shard = self._shards.get(index)
        if shard is None:
            topic = self._topic.find()
            partition = topic.get(index) if topic is not None else None
            if partition is None:
                return None
            shard = self._shards[index] = Shard(partition, self._services)
            if shard.state is ShardState.LOADING:
                self._loads.add(shard)
        return shard

    # time

    def expire_offsets(self) -> None:
        """Look for offsets that have expired, in slices."""

        def walk() -> Iterator[None]:
            for shard in self.shards()[0]:
                yield from expire(shard, self._retention_ms)

        self._continue(walk())

    def _continue(self, work: Iterator[None]) -> None:
        if self._is_stopped:
            return
        try:
            next(work)
        except StopIteration:
            return
        self._loop.call_soon(self._continue, work)
