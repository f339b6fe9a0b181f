"""Random but valid histories of a cluster: what a controller would propose, batch by batch."""

from random import Random
from uuid import UUID

from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.records import Message, MetadataRecord, make_record
from odradek.broker.metadata.replay import apply
from odradek.protocol.messages.metadata_records import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
)

NAMES = tuple("abcdef")
KEYS = ("retention.ms", "segment.ms", "cleanup.policy")


class History:
    """Grows batch by batch; every batch is valid on the image before it."""

    def __init__(self, seed: int) -> None:
        self.image = MetadataImage()
        self.batches: list[list[MetadataRecord]] = []
        self._random = Random(seed)
        self._next_id = 0

    def grow(self, changes: int) -> None:
        """Add a batch of one to three changes, `changes` times."""
        for _ in range(changes):
            batch: list[MetadataRecord] = []
            image = self.image
            for _ in range(self._random.randrange(1, 4)):
                batch += [make_record(message, _version(message)) for message in self._change(image)]
                image, _ = apply(self.image, batch, self.image.offset + len(batch), 1)
            self.image = image
            self.batches.append(batch)

    def _change(self, image: MetadataImage) -> list[Message]:
        topics = list(image.topics_by_name.values())
        kind = self._random.choice(("create", "create", "delete", "grow", "elect", "config", "ids"))
        if kind == "ids":
            return [ProducerIdsRecord(broker_id=1, next_producer_id=image.next_producer_id + 1000)]
        free = [name for name in NAMES if name not in image.topics_by_name]
        if kind == "create" and free:
            return self._create(self._random.choice(free))
        if kind == "config" or not topics:
            name = self._random.choice(topics).name if topics and self._random.random() < 0.7 else ""
            return [self._config(2 if name else 4, name)]
        topic = self._random.choice(topics)
        if kind == "delete":
            return [RemoveTopicRecord(topic_id=topic.topic_id)]
        if kind == "grow":
            return [_partition(topic.topic_id, len(topic.partitions))]
        index = self._random.randrange(len(topic.partitions))
        return [
            PartitionChangeRecord(
                partition_id=index,
                topic_id=topic.topic_id,
                isr=self._random.choice(([1], [1, 2], None)),
                leader=self._random.choice((1, -1, -2)),
            )
        ]

    def _create(self, name: str) -> list[Message]:
        self._next_id += 1
        topic_id = UUID(int=self._next_id)
        count = self._random.randrange(1, 5)
        configs = [self._config(2, name) for _ in range(self._random.randrange(3))]
        partitions = [_partition(topic_id, index) for index in range(count)]
        return [TopicRecord(name=name, topic_id=topic_id), *configs, *partitions]

    def _config(self, kind: int, name: str) -> ConfigRecord:
        value = self._random.choice((None, "1", "2"))
        return ConfigRecord(resource_type=kind, resource_name=name, name=self._random.choice(KEYS), value=value)


def _partition(topic_id: UUID, index: int) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index, topic_id=topic_id, replicas=[1, 2], isr=[1, 2], leader=1, leader_epoch=0, partition_epoch=0
    )


def _version(message: Message) -> int:
    return 2 if isinstance(message, PartitionRecord | PartitionChangeRecord) else 0
