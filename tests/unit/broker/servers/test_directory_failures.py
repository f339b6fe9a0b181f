"""What a node does when one of its log directories fails."""

from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pytest

from odradek.broker.lifecycle.driver import LifecycleDriver
from odradek.broker.metadata.image import UNASSIGNED_DIRECTORY, MetadataImage
from odradek.broker.servers.directory_failures import BrokerParts, FailedDirectories, lose_what_is_missing
from odradek.broker.servers.host import Machine
from odradek.broker.servers.shared import SharedServer
from odradek.config.loading import load_settings
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.directories.failures import DirectoryFailures
from odradek.storage.names import TopicPartition
from tests.support.manual_loop import ManualLoop
from tests.support.memory_files import MemoryFiles
from tests.support.partitions import Node
from tests.unit.broker.metadata.support import NODE, image_of, topic_records

EIO = OSError(5, "Input/output error")


@dataclass
class Lifecycle(LifecycleDriver):
    """A lifecycle of which only what a failure needs is there."""

    told: list[UUID] = field(default_factory=list)
    is_heard: bool = True

    def directory_failed(self, directory: UUID) -> None:
        """Keep what was told."""
        self.told.append(directory)

    def has_told(self, directory: UUID) -> bool:
        """Say whether the controller answered."""
        return self.is_heard


class Failing:
    """A node with partitions in its directories, the first of which has the metadata."""

    def __init__(self, tmp_path: Path, *paths: str, lifecycle: Lifecycle | None = None) -> None:
        self.node = Node(paths=paths)
        self.loop = ManualLoop()
        settings = load_settings(None, [f"log.dirs={','.join(paths)}", f"node.id={NODE}"])
        self.shared = SharedServer(self.loop, settings, Machine(self.loop))
        self.shared.directories = list(self.node.logs.directories)
        self.shared.failures = DirectoryFailures(self.node.files, paths)
        self.ended: list[str] = []
        self.shared.end = self.ended.append
        self.node.create("t", 4)
        parts = BrokerParts(self.node.logs, self.node.table, lambda: self.node.image, lifecycle)
        FailedDirectories(self.shared, parts).begin()

    def fail(self, path: str) -> None:
        """Let a directory fail."""
        self.shared.failures.note(f"{path}/t-0", EIO)
        self.loop.settle()

    def refusals(self) -> list[ErrorCode | None]:
        """Return what a client of each partition is answered."""
        found: list[ErrorCode | None] = []
        for index in range(4):
            try:
                self.node.table.get("t", index)
            except KafkaError as refused:
                found.append(refused.code)
            else:
                found.append(None)
        return found


def test_the_partitions_in_it_are_offline_and_the_others_go_on(tmp_path: Path) -> None:
    """Those who wait there are told at once; changes of the topic change nothing about it."""
    scene = Failing(tmp_path, "/a", "/b")
    hit = [index for index in range(4) if scene.node.table.get("t", index).log.directory.startswith("/b/")]
    waiter: list[ErrorCode] = []
    partition = scene.node.table.get("t", hit[0])
    partition.when_committed(1, waiter.append)
    scene.fail("/b")
    expected = [ErrorCode.KAFKA_STORAGE_ERROR if index in hit else None for index in range(4)]
    assert (scene.refusals(), waiter, scene.ended) == (expected, [ErrorCode.KAFKA_STORAGE_ERROR], [])
    scene.node.extend("t", 4, 4)
    scene.node.loop.settle()
    scene.node.table.retry_offline()
    assert scene.refusals() == expected
    assert scene.node.table.get("t", 4).log.directory.startswith("/a/")
    scene.node.delete("t")
    scene.node.loop.settle()
    assert not scene.node.logs.lost


def test_a_node_stops_without_its_metadata_and_without_its_last_directory(tmp_path: Path) -> None:
    """As in Kafka."""
    for path in ("/a", "/b"):
        scene = Failing(tmp_path, "/a", "/b")
        scene.fail(path)
        assert len(scene.ended) == (path == "/a")
    only = Failing(tmp_path, "/a", lifecycle=Lifecycle.__new__(Lifecycle))
    assert only.shared.metadata_path == "/a"


def test_a_single_directory_of_a_node_that_is_alone_never_fails(tmp_path: Path) -> None:
    """It goes on with what can be read, and takes records again when the disk does."""
    scene = Failing(tmp_path, "/a")
    scene.fail("/a")
    assert (scene.refusals(), scene.ended) == ([None] * 4, [])


def test_the_controller_is_told_or_the_node_stops(tmp_path: Path) -> None:
    """Within log.dir.failure.timeout.ms: others can lead only what it knows to be lost."""
    for is_heard in (True, False):
        lifecycle = Lifecycle.__new__(Lifecycle)
        lifecycle.told, lifecycle.is_heard = [], is_heard
        scene = Failing(tmp_path, "/a", "/b", lifecycle=lifecycle)
        scene.fail("/b")
        meta = scene.shared.directories[1].meta
        assert meta is not None
        assert lifecycle.told == [meta.directory_id]
        scene.loop.advance(29.9)
        assert scene.ended == []
        scene.loop.advance(0.2)
        assert len(scene.ended) == (not is_heard)


@pytest.mark.parametrize("is_alone", [True, False])
def test_partitions_that_may_be_in_a_directory_left_out_are_not_made_anew(is_alone: bool) -> None:
    """But for one whose directory is known and can be read, and in a cluster one that has none yet."""
    node = Node(MemoryFiles(), paths=("/a", "/b"))
    first, second = node.logs.directories
    assert first.meta is not None
    second.failure = "Input/output error"
    records = topic_records("t", UUID(int=77), 3)
    for record, directory in zip(
        [one for one in records if hasattr(one, "directories")],
        (UUID(int=99), first.meta.directory_id, UNASSIGNED_DIRECTORY),
        strict=True,
    ):
        record.directories = [directory]
    image = image_of(records, MetadataImage())
    lose_what_is_missing(node.logs, image, NODE, is_alone=is_alone)
    lost = [TopicPartition("t", 0), TopicPartition("t", 2)] if is_alone else [TopicPartition("t", 0)]
    assert list(node.logs.lost) == lost
