"""What the tests of the metadata and of its handlers share: a source of metadata without files, and short spellings."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from uuid import UUID

from odradek.broker.metadata.controller import Controller
from odradek.broker.metadata.errors import StaleMetadataError
from odradek.broker.metadata.features import NEW_CLUSTER
from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.metadata.records import Message, MetadataRecord, make_record
from odradek.broker.metadata.replay import apply
from odradek.broker.metadata.source import Watcher
from odradek.broker.metadata.topics import NewTopic, PlacementRules, PlannedTopic
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.metadata_records import FeatureLevelRecord, PartitionRecord, TopicRecord
from tests.support.memory_files import MemoryFiles

DATA = Path(__file__).parent / "data"
NODE = 1
ONE_BROKER = PlacementRules(brokers=(NODE,), directories={})


class MemorySource:
    """A `MetadataSource` that keeps nothing; `fail_with` makes the next proposals fail."""

    def __init__(self, image: MetadataImage | None = None) -> None:
        levels = (FeatureLevelRecord(name=name, feature_level=level) for name, level in NEW_CLUSTER.items())
        self.image = image or image_of(levels)
        self.deltas: list[ImageDelta] = []
        self.batches: list[list[MetadataRecord]] = []
        self.fail_with: KafkaError | None = None
        self._watchers: list[Watcher] = []

    def propose(self, records: Sequence[MetadataRecord], based_on: MetadataImage) -> MetadataImage:
        """Apply the records."""
        if based_on is not self.image:
            raise StaleMetadataError("stale")
        if self.fail_with:
            raise self.fail_with
        old = self.image
        self.image, delta = apply(old, records, old.offset + len(records), 1)
        self.deltas.append(delta)
        self.batches.append(list(records))
        for watcher in self._watchers:
            watcher(old, self.image, delta)
        return self.image

    def watch(self, watcher: Watcher) -> None:
        """Tell of changes."""
        self._watchers.append(watcher)


def image_of(messages: Iterable[Message], base: MetadataImage | None = None) -> MetadataImage:
    """Return the image after these records."""
    records = [record_of(message) for message in messages]
    start = base or MetadataImage()
    return apply(start, records, start.offset + len(records), 1)[0]


def record_of(message: Message) -> MetadataRecord:
    """Return the message as a record of its newest version."""
    last = message.SCHEMA.versions.last
    return make_record(message, min(last, 2) if isinstance(message, PartitionRecord) else last)


def topic_records(name: str, topic_id: UUID, partitions: int = 1, replicas: Sequence[int] = (NODE,)) -> list[Message]:
    """Return the records that create a topic."""
    return [
        TopicRecord(name=name, topic_id=topic_id),
        *(
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=list(replicas),
                isr=list(replicas),
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
            )
            for index in range(partitions)
        ),
    ]


def create(controller: Controller, name: str, partitions: int = 1, **configs: str) -> PlannedTopic:
    """Create a topic; the keywords are configs with underscores."""
    named = {key.replace("_", "."): value for key, value in configs.items()}
    (result,) = controller.create_topics([NewTopic(name, partitions, 1, configs=named)])
    assert isinstance(result, PlannedTopic), result
    return result


DIRECTORY = "/data/__cluster_metadata-0"
SNAPSHOT = "00000000000000000037-0000000001.checkpoint"


def kafka_directory(*, snapshot: bool = True) -> MemoryFiles:
    """Return a log directory as Apache Kafka 4.3 left it after a clean stop; topics ka-plain, ka-compact, ka-grown."""
    files = MemoryFiles()
    files.mkdir(DIRECTORY)
    files.write_bytes(f"{DIRECTORY}/{0:020d}.log", (DATA / "kafka-4.3.log").read_bytes())
    if snapshot:
        files.write_bytes(f"{DIRECTORY}/{SNAPSHOT}", (DATA / SNAPSHOT).read_bytes())
    return files
