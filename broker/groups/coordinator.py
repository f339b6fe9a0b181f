"""The group coordinator of this broker.

Owns: what is the broker's own about groups: settings, the regular look for offsets that have expired, and what follows
from the metadata. Where a group lives, and whether that is loaded, is the runtime's. Must not know: requests of any
version, what a group's members say.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Generator
from concurrent.futures import Executor
from functools import partial

from odradek.broker.coordinator.background import Background
from odradek.broker.coordinator.operations import OperationServices
from odradek.broker.coordinator.runtime import CoordinatorRuntime, RuntimeSettings
from odradek.broker.coordinator.topic import CoordinatorTopic
from odradek.broker.coordinator.writer import PartitionWriter
from odradek.broker.groups.administration import expire
from odradek.broker.groups.classic.values import ClassicGroupLimits
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.broker.groups.settings import classic_limits, consumer_settings, with_configs
from odradek.broker.groups.shard import GroupShard, ShardServices
from odradek.broker.metadata.image import ImageDelta, MetadataImage, ResourceType
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.deferred import Deferred
from odradek.config.settings import BrokerSettings
from odradek.protocol.errors import ErrorCode, KafkaError


class GroupCoordinator:
    """The group coordinator: gives work to the shard of a group, and has expired offsets looked for."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        threads: Executor,
        clock: Clock,
        settings: BrokerSettings,
        topic: CoordinatorTopic,
        image: Callable[[], MetadataImage],
    ) -> None:
        self._settings = settings
        self._image = image
        self.consumer_settings = consumer_settings(settings)
        """What holds for groups of the consumer protocol that have no configs of their own."""
        self._retention_ms = settings.offsets_retention_minutes * 60_000
        self.background = Background(loop)
        """Work for groups that takes longer than a request may."""
        services = ShardServices(
            operations=OperationServices(loop, clock, self.background),
            limits=classic_limits(settings),
            consumer_settings=self._settings_of,
            image=image,
        )
        self.limits: ClassicGroupLimits = services.limits
        """The broker's settings for classic groups."""

        def make_shard(writer: PartitionWriter) -> GroupShard:
            return GroupShard(writer, services)

        runtime_settings = RuntimeSettings(
            kind="group",
            codec=settings.offsets_topic_compression_codec,
            write_timeout_ms=settings.offsets_commit_timeout_ms,
            load_chunk_bytes=settings.offsets_load_buffer_size,
        )
        self._runtime = CoordinatorRuntime(loop, threads, topic, runtime_settings, make_shard)

    def start(self) -> None:
        """Begin to load what is there."""
        self._runtime.start()

    def stop(self) -> None:
        """Answer everybody who waits, and serve no more."""
        self.background.stop()
        self._runtime.stop()

    def prepare(self) -> KafkaError | Deferred[KafkaError | None] | None:
        """Make the topic if there is none; return the error COORDINATOR_NOT_AVAILABLE where that cannot be done."""
        return self._runtime.prepare()

    def leader_for(self, group_id: str) -> int:
        """Return the broker that leads the partition which a group lives in, -1 for nobody."""
        return self._runtime.leader_for(group_id, self._image())

    def partition_of(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` that a group lives in; to be asked once `prepare` is done."""
        return self._runtime.partition_of(group_id)

    def shard(self, group_id: str) -> GroupShard:
        """Return the shard that a group lives in.

        Raises:
            KafkaError: COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE or NOT_COORDINATOR.
        """
        return self._runtime.shard(group_id)

    def end_transaction(self, index: int, marker: TransactionMarker) -> ErrorCode | Deferred[ErrorCode]:
        """Write the marker of a producer's transaction into a partition of the topic; return how that went once it is
        safe."""
        try:
            return self._runtime.shard_at(index).write_marker(marker)
        except KafkaError as refused:
            return refused.code

    def shards(self) -> tuple[list[GroupShard], bool]:
        """Return the shards that serve, and whether these are all that this broker has."""
        return self._runtime.shards()

    def follow_settings(self, settings: BrokerSettings) -> None:
        """Follow settings that were changed while the broker runs."""
        self._settings = settings
        self.consumer_settings = consumer_settings(settings)

    def on_metadata(self, old: MetadataImage, new: MetadataImage, delta: ImageDelta) -> None:
        """Follow the metadata: leaders of partitions; and the offsets of deleted topics go."""
        self._runtime.on_metadata(old, new, delta)
        if delta.deleted_topics:
            self._runtime.when_active(partial(self._remove_topics, frozenset(one.name for one in delta.deleted_topics)))

    def _remove_topics(self, names: frozenset[str], shard: GroupShard) -> None:
        self.background.result_of(len(shard.offsets), shard.remove_topics(names))

    def expire_offsets(self) -> None:
        """Look for offsets that have expired, in slices."""

        def everywhere() -> Generator[None, None, None]:
            for shard in self.shards()[0]:
                yield from expire(shard, self._retention_ms)

        self.background.add(everywhere(), lambda _: None)

    def _settings_of(self, group_id: str) -> ConsumerGroupSettings:
        """Return what holds for a group of the consumer protocol."""
        configs = self._image().config(ResourceType.GROUP, group_id)
        return with_configs(self.consumer_settings, configs, self._settings)
