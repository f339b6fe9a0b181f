"""All topic-partitions of which this broker has a replica, kept in step with the cluster's metadata.

Each of them leads, follows, or is offline because its log cannot be opened. Owns the look-ups of the hot path and the
translation of metadata changes into logs: made, given new configs and roles, retired. Must not know requests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from odradek.broker.metadata.image import NO_LEADER, MetadataImage, PartitionImage, TopicImage
from odradek.broker.partitions.deletions import DeletableLogs, DeletedPartitions
from odradek.broker.partitions.partition import NO_LEADER_EPOCH, Flusher, Partition
from odradek.broker.partitions.roles import Role, role_of
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.scheduler import TURN_S
from odradek.config.topic import TopicConfig
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.errors import StorageError
from odradek.storage.log.log import Log
from odradek.storage.names import TopicPartition

log = get_logger("partitions")

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


RARELY = 60
"""Every so many turns a partition is tried again that is offline for long."""


class _Offline(NamedTuple):
    """A partition whose log cannot be opened, and why."""

    reason: str
    image: PartitionImage
    turns: int
    """How often it could have been tried again since."""


def is_turn(turns: int) -> bool:
    """Whether to try again: less and less often, since checking a large damaged log keeps everybody waiting."""
    return turns & (turns - 1) == 0 or turns % RARELY == 0


class TopicPartitions:
    """One topic: what every request on it needs, and its partitions by index."""

    __slots__ = (
        "_following",
        "_leading",
        "_offline",
        "_open",
        "_unopened",
        "config",
        "count",
        "is_internal",
        "name",
        "topic_id",
    )

    def __init__(self, topic: TopicImage, config: TopicConfig, open_partition: Opener) -> None:
        self.name = topic.name
        self.is_internal = topic.is_internal
        self.topic_id = topic.topic_id
        self.config = config
        self.count = len(topic.partitions)
        self._open = open_partition
        self._leading: dict[int, Partition] = {}
        self._following: dict[int, Partition] = {}
        self._unopened: dict[int, PartitionImage] = {}
        self._offline: dict[int, _Offline] = {}

    def __iter__(self) -> Iterator[Partition]:
        """The partitions whose logs are open."""
        yield from self._leading.values()
        yield from self._following.values()

    def get(self, index: int) -> Partition | None:
        """The partition, None where this broker does not lead it or cannot serve it; `missing` tells why."""
        partition = self._leading.get(index)
        if partition is None and index in self._unopened:
            self.open(index)
            partition = self._leading.get(index)
        return partition

    def get_replica(self, index: int) -> Partition | None:
        """The partition, None where this broker neither leads nor follows it, or its log is not open."""
        return self.get(index) or self._following.get(index)

    def missing(self, index: int) -> KafkaError:
        """The error for a partition that `get` does not know."""
        if index in self._offline:
            return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, self._offline[index].reason)
        if index in self._unopened:
            return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.name}-{index} is not open yet")
        if 0 <= index < self.count:
            return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.name}-{index} is led by another broker")
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def adopt(self, partition: Partition) -> None:
        """Take over a partition whose log is open."""
        of_role = self._leading if partition.role is Role.LEADER else self._following
        of_role[partition.index] = partition

    def expect(self, index: int, image: PartitionImage) -> None:
        """Open the partition's log when it is first needed, or when there is time."""
        self._unopened[index] = image

    def open(self, index: int) -> Partition | None:
        """Open a partition's log now, if that was not done yet; None where it cannot be opened, or not yet."""
        image = self._unopened.pop(index, None)
        if image is None:
            return self._leading.get(index) or self._following.get(index)
        return self._try_open(index, image)

    def is_unopened(self, index: int) -> bool:
        """Whether the partition's log has yet to be opened."""
        return index in self._unopened

    def hand_over(self, index: int) -> Partition | None:
        """Return an open partition to whoever serves the topic from now on; this one opens no log of it any more."""
        self._unopened.pop(index, None)
        return self._leading.get(index) or self._following.get(index)

    def retry_offline(self) -> None:
        """Try again to open the logs that could not be opened: there may be space on the disk by now."""
        for index, offline in list(self._offline.items()):
            self._offline[index] = offline._replace(turns=offline.turns + 1)
            if is_turn(offline.turns) and self._try_open(index, offline.image) is not None:
                del self._offline[index]
                log.info("partition is online again", topic=self.name, partition=index)

    def _try_open(self, index: int, image: PartitionImage) -> Partition | None:
        try:
            partition = self._open(self, index, image)
        except (StorageError, OSError) as failed:
            reason = str(failed)
            if index not in self._offline or self._offline[index].reason != reason:
                log.error("partition is offline", topic=self.name, partition=index, reason=reason)
            turns = self._offline[index].turns if index in self._offline else 0
            self._offline[index] = _Offline(reason, image, turns)
            return None
        if partition is not None:
            self.adopt(partition)
        elif index not in self._offline:
            self._unopened[index] = image
        return partition

    def give_up(self) -> dict[int, Partition | None]:
        """The topic is deleted: nothing is opened any more. Returns what may have files, None where no log is open."""
        given: dict[int, Partition | None] = dict.fromkeys([*self._unopened, *self._offline])
        given |= self._following | self._leading
        self._leading, self._following, self._unopened = {}, {}, {}
        return given


Opener = Callable[[TopicPartitions, int, PartitionImage], "Partition | None"]
"""Opens the log of a partition, None where that has to wait. Raises StorageError or OSError."""


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
            topic.open(index)
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

    def _retire_one(self, partition: Partition) -> None:
        """The partition is deleted, or its replica here."""
        if self._replication is not None:
            self._replication.release(partition)
        partition.retired()
