"""What the tests of the metadata and of its handlers share: a source of metadata without files, and short spellings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from uuid import UUID

from odradek.broker.controller.controller import Controller
from odradek.broker.controller.controller_view import ControllerView, single_broker
from odradek.broker.controller.topics import NewTopic, PlacementRules, PlannedTopic
from odradek.broker.metadata.errors import StaleMetadataError
from odradek.broker.metadata.features import NEW_CLUSTER
from odradek.broker.metadata.image import BrokerImage, ImageDelta, MetadataImage
from odradek.broker.metadata.records import Message, MetadataRecord, make_record
from odradek.broker.metadata.replay import apply
from odradek.broker.metadata.source import Stored, Watcher
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.metadata_records import FeatureLevelRecord, PartitionRecord, TopicRecord
from tests.support.deferred import now
from tests.support.memory_files import MemoryFiles

DATA = Path(__file__).parent / "data"
NODE = 1
RULES = PlacementRules()
ONE_BROKER = single_broker(NODE)


class MemorySource:
    """A `MetadataSource` that keeps nothing; `fail_with` makes the next proposals fail."""

    def __init__(self, image: MetadataImage | None = None) -> None:
        levels = (FeatureLevelRecord(name=name, feature_level=level) for name, level in NEW_CLUSTER.items())
        self.image = image or image_of(levels)
        self.deltas: list[ImageDelta] = []
        self.batches: list[list[MetadataRecord]] = []
        self.fail_with: KafkaError | None = None
        self._watchers: list[Watcher] = []

    @property
    def proposed(self) -> MetadataImage:
        """Nothing is ever under way."""
        return self.image

    def propose(self, records: Sequence[MetadataRecord], based_on: MetadataImage) -> Stored | Deferred[Stored]:
        """Apply the records."""
        if based_on is not self.image:
            raise StaleMetadataError("stale")
        if not records:
            return self.image
        if self.fail_with:
            return self.fail_with
        old = self.image
        self.image, delta = apply(old, records, old.offset + len(records), 1)
        self.deltas.append(delta)
        self.batches.append(list(records))
        for watcher in self._watchers:
            watcher(old, self.image, delta)
        return self.image

    def prepare(
        self, records: Sequence[MetadataRecord], based_on: MetadataImage
    ) -> Callable[[], Stored | Deferred[Stored]]:
        """Prepare nothing."""
        return lambda: self.propose(records, based_on)

    def watch(self, watcher: Watcher) -> None:
        """Tell of changes."""
        self._watchers.append(watcher)


class SlowSource(MemorySource):
    """A `MetadataSource` whose proposals are stored, or fail with `fail_with`, when the test says so."""

    def __init__(self, image: MetadataImage | None = None) -> None:
        super().__init__(image)
        self._under_way: list[tuple[Sequence[MetadataRecord], Deferred[Stored]]] = []
        self._newest = self.image

    @property
    def proposed(self) -> MetadataImage:
        """The image after all that was proposed."""
        return self._newest

    def propose(self, records: Sequence[MetadataRecord], based_on: MetadataImage) -> Stored | Deferred[Stored]:
        """Apply the records when the test says so."""
        if based_on is not self._newest:
            raise StaleMetadataError("stale")
        if records:
            self._newest, _ = apply(based_on, records, based_on.offset + len(records), 1)
        outcome: Deferred[Stored] = Deferred()
        self._under_way.append((records, outcome))
        return outcome

    def finish(self) -> None:
        """Let what was proposed end."""
        under_way, self._under_way = self._under_way, []
        for records, outcome in under_way:
            stored = super().propose(records, self.image)
            assert not isinstance(stored, Deferred)
            outcome.resolve(self.fail_with or stored)
        self._newest = self.image


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


def view_of(
    image: MetadataImage,
    brokers: Iterable[int] = (NODE,),
    directories: Mapping[int, UUID] | None = None,
    **configs: str,
) -> ControllerView:
    """Return the cluster of an image with these brokers, all active; the keywords are the broker's configs."""
    known: dict[int, BrokerImage] = {}
    for broker_id in brokers:
        directory = (directories or {}).get(broker_id)
        known.update(single_broker(broker_id, log_dirs=[directory] if directory else [])(image))
    return ControllerView(image, known, lambda: {key.replace("_", "."): value for key, value in configs.items()})


def create(controller: Controller, name: str, partitions: int = 1, **configs: str) -> PlannedTopic:
    """Create a topic; the keywords are configs with underscores."""
    named = {key.replace("_", "."): value for key, value in configs.items()}
    (result,) = now(controller.create_topics([NewTopic(name, partitions, 1, configs=named)]))
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
