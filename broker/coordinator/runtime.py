"""All partitions of one coordinator's internal topic that this broker leads, and which of them has a name.

Owns: their life: loaded where this broker leads the partition, unloaded when the leadership goes, made with the topic
and closed with the broker. Must not know: what kind of coordinator it is, requests. Follows Kafka's CoordinatorRuntime.

A partition is loaded in the background from the moment this broker leads it, and when somebody asks for what is in it
and it is short. Who asks is told COORDINATOR_LOAD_IN_PROGRESS until then, and NOT_COORDINATOR where another broker
leads, or where the log cannot be read.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Generic, TypeVar

from odradek.broker.coordinator.loads import Loads
from odradek.broker.coordinator.partition import CoordinatorPartition, CoordinatorShard, CoordinatorState
from odradek.broker.coordinator.partitioning import partition_for
from odradek.broker.coordinator.topic import CoordinatorTopic
from odradek.broker.coordinator.writer import PartitionWriter
from odradek.broker.metadata.image import NO_LEADER, ImageDelta, MetadataImage
from odradek.broker.partitions.topic_partitions import TopicPartitions
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError

LOAD_CHUNK_BYTES = 1024 * 1024
"""Most that is read at a time, whatever the coordinator's buffer size allows: somebody else wants the loop, too."""

S = TypeVar("S", bound=CoordinatorShard)


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """What a kind of coordinator says of itself."""

    kind: str
    """For log lines: `group`, `transaction`."""
    codec: int
    """Compresses what is written; the number that batches have for it."""
    write_timeout_ms: int
    """How long a write may take to become safe."""
    load_chunk_bytes: int


class CoordinatorRuntime(Generic[S]):
    """The partitions of one internal topic that this broker leads, each with its shard once it is loaded."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        threads: Executor,
        topic: CoordinatorTopic,
        settings: RuntimeSettings,
        make_shard: Callable[[PartitionWriter], S],
    ) -> None:
        """`make_shard` makes what a partition's records are loaded into; it is called for each load."""
        self._loop = loop
        self._topic = topic
        self._settings = settings
        self._chunk_bytes = min(settings.load_chunk_bytes, LOAD_CHUNK_BYTES)
        self._make_shard = make_shard
        self._count = 0
        """Partitions of the topic when it was first seen: where a name lives must not change."""
        self._partitions: dict[int, CoordinatorPartition[S]] = {}
        self._loads = Loads(loop, threads, settings.kind)
        self._is_stopped = False

    # life

    def start(self) -> None:
        """Begin to load what is there."""
        topic = self._topic.find()
        if topic is not None:
            self._count = topic.count
            for index in range(topic.count):
                self._led(index)

    def stop(self) -> None:
        """Answer everybody who waits, and serve no more."""
        self._is_stopped = True
        self._loads.stop()
        for partition in self._partitions.values():
            partition.close()

    def on_metadata(self, _old: MetadataImage, _new: MetadataImage, delta: ImageDelta) -> None:
        """Follow the metadata: load what this broker leads now, unload what it does not lead any more."""
        for topic in delta.deleted_topics:
            if topic.name == self._topic.name:
                for index in list(self._partitions):
                    self._unload(index)
                self._count = 0
        for changed in delta.changed_partitions:
            if changed.topic.name == self._topic.name and not self._is_stopped:
                self._follow_leader(changed.partition)

    def _follow_leader(self, index: int) -> None:
        topic = self._topic.find()
        leading = topic.get(index) if topic is not None else None
        running = self._partitions.get(index)
        if running is not None and running.partition is not leading:
            self._unload(index)
        if topic is not None and leading is not None:
            self._count = self._count or topic.count
            self._led(index)

    def _unload(self, index: int) -> None:
        partition = self._partitions.pop(index)
        self._loads.forget(partition)
        partition.close()

    def _led(self, index: int) -> CoordinatorPartition[S] | None:
        """Return a partition, loaded from now on if it is not yet; None where this broker does not lead it."""
        known = self._partitions.get(index)
        if known is not None:
            return known
        topic = self._topic.find()
        leading = topic.get(index) if topic is not None else None
        if leading is None:
            return None
        settings = self._settings
        writer = PartitionWriter(leading, self._loop, settings.codec, settings.write_timeout_ms)
        partition = self._partitions[index] = CoordinatorPartition(writer, self._chunk_bytes, self._make_shard)
        if partition.state is CoordinatorState.LOADING:
            self._loads.add(partition)
        return partition

    # look-ups

    def prepare(self) -> KafkaError | Deferred[KafkaError | None] | None:
        """Make the topic if there is none; return the error COORDINATOR_NOT_AVAILABLE where that cannot be done."""
        if self._is_stopped:
            return KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the broker stops")
        if self._count:
            return None
        topic = self._topic.find_or_create()
        return topic.then(self._found) if isinstance(topic, Deferred) else self._found(topic)

    def _found(self, topic: TopicPartitions | KafkaError) -> KafkaError | None:
        if isinstance(topic, KafkaError):
            return topic
        self._count = topic.count
        return None

    def partition_of(self, name: str) -> int:
        """Return the partition that has what is of that name; to be asked once `prepare` has found the topic."""
        return partition_for(name, self._count)

    def leader_for(self, name: str, image: MetadataImage) -> int:
        """Return the broker that leads the partition which has what is of that name, -1 for nobody."""
        topic = image.topic(self._topic.name)
        if topic is None:
            return NO_LEADER
        count = self._count or len(topic.partitions)
        return topic.partitions[partition_for(name, count)].leader

    def shard(self, name: str) -> S:
        """Return the shard that has what is of that name.

        Raises:
            KafkaError: COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE where the broker stops, or
                NOT_COORDINATOR, also where the topic is not there: only who asks for the coordinator has it made.
        """
        if self._is_stopped:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the broker stops")
        if not self._count:
            topic = self._topic.find()
            if topic is None:
                raise KafkaError(ErrorCode.NOT_COORDINATOR, "the topic of this coordinator is not there")
            self._count = topic.count
        return self.shard_at(partition_for(name, self._count))

    def shard_at(self, index: int) -> S:
        """Return the shard of a partition of the topic.

        Raises:
            KafkaError: COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE where the broker stops, NOT_COORDINATOR.
        """
        if self._is_stopped:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the broker stops")
        partition = self._partitions.get(index) or self._led(index)
        if partition is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        if partition.state is CoordinatorState.LOADING:
            self._loads.first(partition)
        state = partition.state
        if state is CoordinatorState.ACTIVE:
            return partition.shard
        if state is CoordinatorState.LOADING:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        raise KafkaError(ErrorCode.NOT_COORDINATOR)

    def shards(self) -> tuple[list[S], bool]:
        """Return the shards that serve, and whether these are all that this broker has."""
        partitions = self._partitions.values()
        active = [partition.shard for partition in partitions if partition.state is CoordinatorState.ACTIVE]
        return active, not any(partition.state is CoordinatorState.LOADING for partition in partitions)

    def when_active(self, do: Callable[[S], None]) -> None:
        """Call `do` with every shard: now, or as soon as it serves."""
        for partition in list(self._partitions.values()):
            partition.when_active(do)
