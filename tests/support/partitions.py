"""A node's partitions for tests of what stands above them: real logs on a file system in memory, metadata that a test
changes by hand, and time, event loop and flushes that move only when the test says so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from odradek.broker.metadata.image import MetadataImage, ResourceType
from odradek.broker.metadata.records import Message as MetadataMessage
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import FileRegion, Response, Throttled
from odradek.config.topic import TopicConfig
from odradek.protocol.codec import Message
from odradek.protocol.messages.metadata_records import ConfigRecord, PartitionRecord, RemoveTopicRecord
from odradek.protocol.records.building import BatchFields
from odradek.protocol.registry import decode
from odradek.storage.directories.loading import LoadReport
from odradek.storage.directories.manager import LogManager, LogManagerSettings
from odradek.storage.log.flush_plan import FlushPlan
from odradek.storage.log.log_values import AppendInfo
from odradek.storage.names import TopicPartition
from tests.support.clock import ManualClock
from tests.support.log_directories import open_log_directories
from tests.support.logs import a_batch, small_config
from tests.support.manual_loop import ManualLoop
from tests.support.memory_files import MemoryFiles, OpenMemoryFile
from tests.unit.broker.metadata.support import NODE, image_of, topic_records

DATA = "/data"


class HandFlusher:
    """A `Flusher` whose flushes end when the test says so, well or badly."""

    def __init__(self) -> None:
        self.running: dict[Partition, FlushPlan] = {}
        self.begun = 0

    def request(self, partition: Partition) -> None:
        """Begin a flush of what is there now, unless one runs."""
        if partition not in self.running:
            plan = partition.log.prepare_flush()
            if plan is not None:
                self.running[partition] = plan
                self.begun += 1

    def request_in_background(self, partition: Partition) -> None:
        """Begin a flush just so."""
        self.request(partition)

    def finish(self) -> None:
        """Let the flushes that run end well."""
        running, self.running = self.running, {}
        for partition, plan in running.items():
            plan.run()
            partition.log.local.complete_flush(plan)
            partition.flushed()

    def fail(self) -> None:
        """Let the flushes that run fail."""
        running, self.running = self.running, {}
        for partition in running:
            partition.flush_failed()


class Node:
    """The partitions of one node, its files, and the means to change what it should have."""

    def __init__(
        self,
        files: MemoryFiles | None = None,
        *,
        paths: tuple[str, ...] = (DATA,),
        metadata_path: str | None = None,
        image: MetadataImage | None = None,
        verify_transactions: bool = False,
    ) -> None:
        """Start on `files`, with partitions as `image` wants them; all that is given is empty otherwise."""
        self.files = files or MemoryFiles()
        self.clock = ManualClock()
        self.loop = ManualLoop()
        self.memory = RequestMemory(1 << 28, self.loop.call_soon)
        self.flusher = HandFlusher()
        self.defaults = small_config(segment_bytes=1 << 20)
        self.image = image or MetadataImage()
        self.opened: list[tuple[UUID, int]] = []
        """What the table has told of logs that it opened."""
        numbers = iter(range(1, 100))
        self.logs = LogManager(
            self.files,
            open_log_directories(
                self.files, paths, NODE, lambda: UUID(int=(1 << 100) + next(numbers)), metadata_path=metadata_path
            ),
            self.clock.now_ms,
            LogManagerSettings(verify_transactions=verify_transactions),
        )
        self.report: LoadReport = self.logs.load_all(self._wanted)
        self.table = PartitionTable(
            NODE,
            self.logs,
            self.flusher,
            self.topic_config,
            self.loop.call_soon,
            self.loop.time,
            opened=lambda topic_id, index: self.opened.append((topic_id, index)),
        )
        self.table.apply(MetadataImage(), self.image)
        self.table.open_all()

    def _wanted(self, tp: TopicPartition) -> tuple[UUID, TopicConfig] | None:
        topic = self.image.topic(tp.topic)
        return (topic.topic_id, self.topic_config(self.image.topic_config(tp.topic))) if topic else None

    def topic_config(self, overrides: Mapping[str, str]) -> TopicConfig:
        """Complete a topic's own configs."""
        return self.defaults.with_overrides(overrides)

    # metadata

    def change(self, *messages: MetadataMessage) -> None:
        """Apply metadata records, and bring the partitions in line with them."""
        old, self.image = self.image, image_of(messages, self.image)
        self.table.apply(old, self.image)

    def announce(self, name: str, partitions: int = 1, **configs: str) -> UUID:
        """Create a topic in the metadata; its logs are opened when they are needed, or when the loop turns."""
        topic_id = UUID(int=(1 << 90) + self.image.offset + 1)
        self.change(*topic_records(name, topic_id, partitions), *_config_records(name, configs))
        return topic_id

    def create(self, name: str, partitions: int = 1, **configs: str) -> UUID:
        """Create a topic and open its logs, whose ids the disk has when this returns; no flush of these is counted."""
        topic_id = self.announce(name, partitions, **configs)
        begun = self.flusher.begun
        self.loop.settle()
        self.flusher.finish()
        self.flusher.begun = begun
        return topic_id

    def configure(self, name: str, **configs: str | None) -> None:
        """Set configs of a topic, or remove them with None."""
        self.change(*_config_records(name, configs))

    def extend(self, name: str, first: int, last: int) -> None:
        """Add the partitions from `first` to `last`."""
        topic = self.image.topics_by_name[name]
        records = topic_records(name, topic.topic_id, last + 1)
        self.change(*(each for each in records if isinstance(each, PartitionRecord) and each.partition_id >= first))

    def delete(self, name: str) -> None:
        """Delete a topic."""
        self.change(RemoveTopicRecord(topic_id=self.image.topics_by_name[name].topic_id))

    # data

    def append(self, name: str, *values: bytes, partition: int = 0, fields: BatchFields | None = None) -> AppendInfo:
        """Append one batch."""
        batch = a_batch(values, self.clock.now_ms(), fields)
        return self.table.get(name, partition).append(batch, self.clock.now_ms())

    def begin_transaction(self, name: str, producer_id: int, *values: bytes, sequence: int = 0) -> AppendInfo:
        """Append a batch of a transaction, which the first one opens."""
        fields = BatchFields(producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=True)
        return self.append(name, *values, fields=fields)

    def end_transaction(self, name: str, producer_id: int, *, committed: bool) -> None:
        """Append the marker that ends a transaction."""
        marker = TransactionMarker(producer_id, 0, 0, committed, 0)
        self.table.get(name, 0).append_marker(marker, self.clock.now_ms())

    def pass_time(self, seconds: float) -> None:
        """Let time pass on the clock and on the loop."""
        self.clock.advance(seconds)
        self.loop.advance(seconds)


def _config_records(name: str, configs: Mapping[str, str | None]) -> list[MetadataMessage]:
    return [
        ConfigRecord(resource_type=ResourceType.TOPIC, resource_name=name, name=key.replace("_", "."), value=value)
        for key, value in configs.items()
    ]


@dataclass
class Reply:
    """What a handler gave back: an answer, or the promise of one."""

    result: Response | Deferred[Response]
    answers: list[Response] = field(default_factory=list)

    def __post_init__(self) -> None:
        if isinstance(self.result, Deferred):
            self.result.on_done(self.answers.append)
        else:
            self.answers.append(self.result)

    @property
    def is_waiting(self) -> bool:
        """Whether there is no answer yet."""
        return not self.answers

    def cancel(self) -> None:
        """Do what a connection does that is closed."""
        assert isinstance(self.result, Deferred)
        self.result.cancel()

    @property
    def data(self) -> bytes:
        """The bytes of the only answer, those of files included."""
        [answer] = self.answers
        if isinstance(answer, Throttled):
            answer = answer.answer
        if isinstance(answer, bytes):
            return answer
        assert isinstance(answer, list), answer
        return b"".join(_bytes_of(piece) if isinstance(piece, FileRegion) else bytes(piece) for piece in answer)


def _bytes_of(region: FileRegion) -> bytes:
    assert isinstance(region.file, OpenMemoryFile)
    data = region.file.pread(region.length, region.position)
    assert len(data) == region.length
    return data


M = TypeVar("M", bound=Message)


def decoded(kind: type[M], data: bytes, version: int) -> M:
    """Decode an answer that has no header, and hold it to having nothing after its end."""
    message, end = decode(kind, data, version, 0)
    assert end == len(data)
    return message


def context(version: int, client_id: str | None = "client") -> RequestContext:
    """Return the circumstances of a request of that version."""
    return RequestContext(
        peer="192.0.2.9:4711",
        client_host="192.0.2.9",
        listener="PLAINTEXT",
        local_host="192.0.2.1",
        local_port=9092,
        api_version=version,
        client_id=client_id,
    )
