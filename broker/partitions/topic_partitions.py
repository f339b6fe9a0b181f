"""The partitions of one topic of which this broker has a replica, and whether each leads, follows or is offline.

Owns: that logs are opened when they are needed or when there is time, and tried again where that fails. Must not know:
the metadata's changes, requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from odradek.broker.metadata.image import PartitionImage, TopicImage
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.roles import Role
from odradek.broker.runtime.logging import get_logger
from odradek.config.topic import TopicConfig
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.errors import DirectoryFailed, StorageError

log = get_logger("partitions")

RARELY: Final = 60
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

    def open_replica(self, index: int) -> Partition | None:
        """The partition if its log is open; nothing is opened for it."""
        return self._leading.get(index) or self._following.get(index)

    @property
    def offline_count(self) -> int:
        """How many partitions have a log that cannot be used."""
        return len(self._offline)

    @property
    def replica_count(self) -> int:
        """How many partitions this broker has a replica of, whether its log is open or not."""
        return len(self._leading) + len(self._following) + len(self._unopened) + len(self._offline)

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
            is_known = index in self._offline and self._offline[index].reason == reason
            if not is_known and not isinstance(failed, DirectoryFailed):  # of all that is in it, one line tells
                log.error("partition is offline", topic=self.name, partition=index, reason=reason)
            turns = self._offline[index].turns if index in self._offline else 0
            self._offline[index] = _Offline(reason, image, turns)
            return None
        if partition is not None:
            self.adopt(partition)
        elif index not in self._offline:
            self._unopened[index] = image
        return partition

    def lose(self, index: int, image: PartitionImage, reason: str) -> Partition | None:
        """The partition's log cannot be used any more; return it if it was open."""
        partition = self._leading.pop(index, None) or self._following.pop(index, None)
        if partition is not None:
            self._offline[index] = _Offline(reason, image, 0)
        return partition

    def give_up(self) -> dict[int, Partition | None]:
        """The topic is deleted: nothing is opened any more. Returns what may have files, None where no log is open."""
        given: dict[int, Partition | None] = dict.fromkeys([*self._unopened, *self._offline])
        given |= self._following | self._leading
        self._leading, self._following, self._unopened = {}, {}, {}
        return given


Opener = Callable[[TopicPartitions, int, PartitionImage], "Partition | None"]
"""Opens the log of a partition, None where that has to wait. Raises StorageError or OSError."""
