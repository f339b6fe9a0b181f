"""All topic-partitions of which this broker has a replica, kept in step with the cluster's metadata.

Each of them leads, follows, or is offline because its log cannot be opened. Owns the look-ups of the hot path and the
translation of metadata changes into logs: made, given new configs and roles, retired. Must not know requests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from odradek.broker.metadata.image import NO_LEADER, MetadataImage, PartitionImage, TopicImage
from odradek.broker.partitions.deletions import DeletableLogs, DeletedPartitions
from odradek.broker.partitions.partition import NO_LEADER_EPOCH, Flusher, Partition
from odradek.broker.partitions.roles import Role, role_of
from odradek.broker.partitions.topic_partitions import TopicPartitions
from odradek.broker.runtime.scheduler import TURN_S
from odradek.config.topic import TopicConfig
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.log.log import Log
from odradek.storage.names import TopicPartition

OPENED_PER_TURN = 4
"""Logs opened before others get their turn, at most; each makes a directory and a handful of files where it is new."""


class PartitionLogs(DeletableLogs, Protocol):
    """The part of the log manager that the table needs."""

    def get_or_create(self, tp: TopicPartition, topic_id: UUID, config: TopicConfig) -> Log: ...


class Replication(Protocol):
    """What makes replicas of a partition follow their leader (`broker.replication.manager`)."""

    def committed(self, tp: TopicPartition) -> int:
        """The high watermark of a partition as it was written down last."""

    def assign(self, partition: Partition, image: PartitionImage) -> None:
        """Let a partition with several replicas lead or follow, as the metadata says."""

    def release(self, partition: Partition) -> None:
        """The partition has one replica only, or is retired: nobody follows any more."""


class PartitionTable:
    """The partitions of this broker by topic and id, with their logs: opened, changed and retired by the metadata."""

    def __init__(
        self,
        node_id: int,
        logs: PartitionLogs,
        flusher: Flusher,
        topic_config: Callable[[Mapping[str, str]], TopicConfig],
        schedule: Callable[[Callable[[], None]], object],
        seconds: Callable[[], float],
        replication: Replication | None = None,
        opened: Callable[[UUID, int], None] | None = None,
    ) -> None:
        """`topic_config` completes a topic's own configs with the broker's; `schedule` calls back when there is time.

        `seconds` is a clock that only goes forward. Without `replication` this broker is the only one. `opened` is told
        the topic and index of each partition whose log has been opened.
        """
        self._opened = opened
        self._seconds = seconds
        self._replication = replication
        self._node_id = node_id
        self._logs = logs
        self._flusher = flusher
        self._topic_config = topic_config
        self._schedule = schedule
        self._by_name: dict[str, TopicPartitions] = {}
        self._by_id: dict[UUID, TopicPartitions] = {}
        self._to_open: deque[tuple[TopicPartitions, int]] = deque()
        self._is_opening = False
        self.deleted = DeletedPartitions(logs, schedule, self._go_on_opening)

    def __iter__(self) -> Iterator[Partition]:
        """The partitions whose logs are open."""
        for topic in self._by_name.values():
            yield from topic

    def in_steps(self) -> Iterator[Partition]:
        """The partitions whose logs are open, while they come and go between two of them."""
        for topic in list(self._by_name.values()):
            yield from list(topic)

    @property
    def offline_count(self) -> int:
        """How many partitions have a log that cannot be used."""
        return sum(topic.offline_count for topic in self._by_name.values())

    @property
    def replica_count(self) -> int:
        """How many partitions this broker has a replica of, whether its log is open or not."""
        return sum(topic.replica_count for topic in self._by_name.values())

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

    def get_replica(self, topic: str, index: int) -> Partition:
        """A partition by name that this broker leads or follows; raises what `get` raises."""
        found = self._by_name.get(topic)
        partition = found.get_replica(index) if found is not None else None
        return self.get(topic, index) if partition is None else partition

    def high_watermarks(self) -> dict[TopicPartition, int]:
        """What the next high watermark checkpoint holds."""
        return {TopicPartition(p.topic, p.index): p.high_watermark for p in self}

    def retry_offline(self) -> None:
        """Try again to open what could not be opened."""
        self.deleted.retry()
        for topic in self._by_name.values():
            topic.retry_offline()

    def lose(self, lost: Iterable[TopicPartition], image: MetadataImage, reason: str) -> None:
        """The logs of these partitions cannot be used any more: whoever waits or asks is told so."""
        for tp in lost:
            topic, placed = self._by_name.get(tp.topic), image.partition(tp.topic, tp.partition)
            partition = topic.lose(tp.partition, placed, reason) if topic is not None and placed is not None else None
            if partition is not None:
                self._retire_one(partition, ErrorCode.KAFKA_STORAGE_ERROR)

    def answer_delayed_fetches(self) -> None:
        """Answer all long polls with what there is: the broker stops."""
        for fetch in dict.fromkeys(fetch for partition in self for fetch in partition.delayed_fetches):
            fetch.expire()

    # following the metadata

    def apply(self, old: MetadataImage, new: MetadataImage) -> None:
        """Bring the partitions in line with a newer image."""
        if old.topics_by_id is not new.topics_by_id:
            for topic_id, topic in old.topics_by_id.items():
                if topic_id not in new.topics_by_id:
                    self._retire(topic)
            for topic_id, topic in new.topics_by_id.items():
                known = old.topics_by_id.get(topic_id)
                if known is not topic:
                    self._serve(topic, new.topic_config(topic.name), known.partitions if known is not None else ())
        if old.configs is not new.configs:
            for topic in new.topics_by_id.values():
                if old.topic_config(topic.name) != new.topic_config(topic.name):
                    self._reconfigure(topic, new.topic_config(topic.name))

    def reconfigure_all(self, image: MetadataImage) -> None:
        """The broker's own configs changed, which topics fall back to."""
        for topic in image.topics_by_id.values():
            self._reconfigure(topic, image.topic_config(topic.name))

    def open_all(self) -> None:
        """Open everything now: at start, what is served must be there."""
        for _ in self.opening():
            pass

    def opening(self) -> Iterator[None]:
        """Open everything, as `open_all`; yields after each log, for others to get their turn."""
        while self._to_open:
            topic, index = self._to_open.popleft()
            topic.open(index)
            yield

    def _serve(
        self, topic: TopicImage, overrides: Mapping[str, str], known_partitions: Sequence[PartitionImage]
    ) -> None:
        config = self._topic_config(overrides)
        served = TopicPartitions(topic, config, self._open_partition)
        known = self._by_id.get(topic.topic_id)
        for index, image in enumerate(topic.partitions):
            role = role_of(image, self._node_id)
            partition = known.hand_over(index) if known is not None else None
            if role is None:
                if partition is not None:
                    self._retire_one(partition)
                if index < len(known_partitions) and role_of(known_partitions[index], self._node_id) is not None:
                    self.deleted.add([TopicPartition(topic.name, index)])
            elif partition is None:
                served.expect(index, image)
                self._to_open.append((served, index))
            else:
                if index >= len(known_partitions) or known_partitions[index] is not image:
                    self._take_role(partition, image)
                served.adopt(partition)
        self._by_name[served.name] = served
        self._by_id[topic.topic_id] = served
        self._go_on_opening()

    def _go_on_opening(self) -> None:
        if self._to_open and not self._is_opening and not self.deleted.is_forgetting:
            self._is_opening = True
            self._schedule(self._open_some)

    def _open_partition(self, topic: TopicPartitions, index: int, image: PartitionImage) -> Partition | None:
        tp = TopicPartition(topic.name, index)
        if not self.deleted.make_way(tp):
            return None
        opened = self._logs.get_or_create(tp, topic.topic_id, topic.config)
        if self._opened is not None:
            self._opened(topic.topic_id, index)
        role = role_of(image, self._node_id) or Role.FOLLOWER
        if self._replication is None or len(image.replicas) == 1:
            return Partition(opened, image.leader, image.leader_epoch, self._flusher, role)
        committed = self._replication.committed(tp)
        partition = Partition(opened, NO_LEADER, NO_LEADER_EPOCH, self._flusher, Role.FOLLOWER, committed)
        self._replication.assign(partition, image)
        return partition

    def _take_role(self, partition: Partition, image: PartitionImage) -> None:
        if self._replication is not None:
            if len(image.replicas) > 1:
                self._replication.assign(partition, image)
                return
            self._replication.release(partition)
        if role_of(image, self._node_id) is Role.LEADER:
            partition.lead(image.leader, image.leader_epoch)
        elif partition.role is Role.LEADER or partition.leader_epoch != image.leader_epoch:
            partition.follow(image.leader, image.leader_epoch)

    def _open_some(self) -> None:
        """Open a few logs: making a thousand partitions takes a second of the disk, which others must not wait for.

        Where the disk is slow, a few are too many for one turn of the loop.
        """
        end = self._seconds() + TURN_S
        for opened in range(min(OPENED_PER_TURN, len(self._to_open))):
            if opened and self._seconds() >= end:
                break
            topic, index = self._to_open.popleft()
            partition = topic.open(index)
            if partition is not None and partition.log.local.is_topic_id_unsynced:
                self._flusher.request_in_background(partition)  # so that the first append seldom waits for the disk
            if topic.is_unopened(index):
                self._to_open.append((topic, index))
        self._is_opening = False
        self._go_on_opening()

    def _reconfigure(self, topic: TopicImage, overrides: Mapping[str, str]) -> None:
        served = self._by_id.get(topic.topic_id)
        if served is None:
            return
        config = self._topic_config(overrides)
        served.config = config
        for partition in served:
            partition.log.update_config(config)
            partition.reconfigured()

    def _retire(self, topic: TopicImage) -> None:
        served = self._by_id.pop(topic.topic_id, None)
        if served is None:
            return
        if self._by_name.get(served.name) is served:
            del self._by_name[served.name]
        given = served.give_up()
        for partition in filter(None, given.values()):
            self._retire_one(partition)
        self.deleted.add(TopicPartition(served.name, index) for index in given)

    def _retire_one(self, partition: Partition, code: ErrorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER) -> None:
        """The partition is deleted, or its replica here, or its log is lost."""
        if self._replication is not None:
            self._replication.release(partition)
        partition.retired(code)
