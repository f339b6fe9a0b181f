"""All topic-partitions that this broker leads, kept in step with the cluster's metadata.

Owns the look-ups of the hot path and the translation of metadata
changes into logs: made, given new configs, retired. Must not know requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol
from uuid import UUID

from broker.metadata.image import MetadataImage, PartitionImage, TopicImage
from broker.partitions.partition import Flusher, Partition
from broker.runtime.logging import get_logger
from config.topic import TopicConfig
from protocol.errors import ErrorCode, KafkaError
from storage.errors import StorageError
from storage.log import Log
from storage.names import TopicPartition

log = get_logger("partitions")


class Logs(Protocol):
    """The part of the log manager that the table needs."""

    def get_or_create(self, tp: TopicPartition, topic_id: UUID, config: TopicConfig) -> Log: ...

    def delete(self, tp: TopicPartition) -> None: ...


class TopicPartitions:
    """One topic: what every request on it needs, and its partitions by index."""

    __slots__ = ("_partitions", "compression_type", "count", "is_internal", "name", "topic_id")

    def __init__(self, topic: TopicImage, config: TopicConfig) -> None:
        self.name = topic.name
        self.topic_id = topic.topic_id
        self.is_internal = topic.is_internal
        self.compression_type = config.compression_type
        self.count = len(topic.partitions)
        self._partitions: dict[int, Partition] = {}

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def get(self, index: int) -> Partition | None:
        """The partition, None where this broker does not lead it; `missing` tells why."""
        return self._partitions.get(index)

    def missing(self, index: int) -> KafkaError:
        """The error for a partition that `get` does not know."""
        if 0 <= index < self.count:
            return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.name}-{index} is led by another broker")
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def add(self, partition: Partition) -> None:
        """Take a partition into service."""
        self._partitions[partition.index] = partition


class OfflinePartitions(TopicPartitions):
    """A topic some of whose logs cannot be opened: its other partitions are served as usual."""

    __slots__ = ("offline",)

    def __init__(self, topic: TopicImage, config: TopicConfig) -> None:
        super().__init__(topic, config)
        self.offline: dict[int, str] = {}

    def missing(self, index: int) -> KafkaError:
        """KAFKA_STORAGE_ERROR for those, with the reason."""
        reason = self.offline.get(index)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason) if reason else super().missing(index)


class PartitionTable:
    """See the module."""

    def __init__(
        self,
        node_id: int,
        logs: Logs,
        flusher: Flusher,
        topic_config: Callable[[Mapping[str, str]], TopicConfig],
        high_watermarks: Mapping[TopicPartition, int],
    ) -> None:
        """`topic_config` completes a topic's own configs with the broker's; `high_watermarks` are those of the last
        checkpoint."""
        self._node_id = node_id
        self._logs = logs
        self._flusher = flusher
        self._topic_config = topic_config
        self._checkpointed = high_watermarks
        self._by_name: dict[str, TopicPartitions] = {}
        self._by_id: dict[UUID, TopicPartitions] = {}

    def __iter__(self) -> Iterator[Partition]:
        for topic in self._by_name.values():
            yield from topic

    def find(self, ref: str | UUID) -> TopicPartitions | None:
        """The topic that a request names, by its name or by its id."""
        return self._by_name.get(ref) if isinstance(ref, str) else self._by_id.get(ref)

    def is_internal(self, name: str) -> bool:
        """Whether the topic is one of Kafka's own."""
        topic = self._by_name.get(name)
        return topic is not None and topic.is_internal

    def get(self, topic: str, index: int) -> Partition:
        """A partition by name.

        Raises:
            KafkaError: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER or KAFKA_STORAGE_ERROR.
        """
        found = self._by_name.get(topic)
        if found is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partition = found.get(index)
        if partition is None:
            raise found.missing(index)
        return partition

    def high_watermarks(self) -> dict[TopicPartition, int]:
        """What the next high watermark checkpoint holds."""
        return {TopicPartition(p.topic, p.index): p.high_watermark for p in self}

    def answer_waiting_fetches(self) -> None:
        """Answer all long polls with what there is: the broker stops."""
        for fetch in {fetch for partition in self for fetch in partition.waiting_fetches}:
            fetch.expire()

    # following the metadata

    def apply(self, old: MetadataImage, new: MetadataImage) -> None:
        """Bring the partitions in line with a newer image."""
        if old.topics_by_id is not new.topics_by_id:
            for topic_id, topic in old.topics_by_id.items():
                if topic_id not in new.topics_by_id:
                    self._retire(topic)
            for topic_id, topic in new.topics_by_id.items():
                if old.topics_by_id.get(topic_id) is not topic:
                    self._serve(topic, new.topic_config(topic.name))
        if old.configs is not new.configs:
            for topic in new.topics_by_id.values():
                if old.topic_config(topic.name) != new.topic_config(topic.name):
                    self._reconfigure(topic, new.topic_config(topic.name))

    def reconfigure_all(self, image: MetadataImage) -> None:
        """The broker's own configs changed, which topics fall back to."""
        for topic in image.topics_by_id.values():
            self._reconfigure(topic, image.topic_config(topic.name))

    def _serve(self, topic: TopicImage, overrides: Mapping[str, str]) -> None:
        config = self._topic_config(overrides)
        served = OfflinePartitions(topic, config)
        known = self._by_id.get(topic.topic_id)
        for index, image in enumerate(topic.partitions):
            if image.leader != self._node_id:
                continue
            partition = known.get(index) if known is not None else None
            if partition is None:
                partition = self._open(topic, index, image, config, served)
            if partition is not None:
                partition.leader_epoch = image.leader_epoch
                served.add(partition)
        self._by_name[served.name] = served
        self._by_id[topic.topic_id] = served

    def _open(
        self, topic: TopicImage, index: int, image: PartitionImage, config: TopicConfig, served: OfflinePartitions
    ) -> Partition | None:
        tp = TopicPartition(topic.name, index)
        try:
            opened = self._logs.get_or_create(tp, topic.topic_id, config)
        except (StorageError, OSError) as failed:
            log.error("partition is offline", topic=tp.topic, partition=index, reason=str(failed))
            served.offline[index] = str(failed)
            return None
        high_watermark = self._checkpointed.get(tp, 0) if opened.config.flush_messages == 1 else opened.log_end_offset
        return Partition(opened, image.leader, image.leader_epoch, high_watermark, self._flusher)

    def _reconfigure(self, topic: TopicImage, overrides: Mapping[str, str]) -> None:
        served = self._by_id.get(topic.topic_id)
        if served is None:
            return
        config = self._topic_config(overrides)
        served.compression_type = config.compression_type
        for partition in served:
            partition.log.update_config(config)
            partition.reconfigured()

    def _retire(self, topic: TopicImage) -> None:
        served = self._by_id.pop(topic.topic_id, None)
        if served is None:
            return
        if self._by_name.get(served.name) is served:
            del self._by_name[served.name]
        for partition in served:
            partition.retired()
            try:
                self._logs.delete(TopicPartition(partition.topic, partition.index))
            except (StorageError, OSError) as failed:
                log.error(
                    "the files of a deleted partition could not be set aside; remove its directory by hand",
                    topic=partition.topic,
                    partition=partition.index,
                    reason=str(failed),
                )
