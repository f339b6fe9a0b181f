"""A broker of a cluster with several log directories: what becomes of them is in the cluster's metadata."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.loading import load_metadata
from odradek.protocol.uuids import from_text
from odradek.storage.files import PosixFiles
from tests.support.cluster import ClusterBroker
from tests.support.cluster_nodes import OdradekController
from tests.support.waiting import eventually
from tests.support.wire import WireClient

TIMEOUT_S = 60
TOPIC, PARTITIONS = "lines", 5


class TwoDirectories:
    """A controller, and a broker with two log directories."""

    def __init__(self, root: Path) -> None:
        self.controller = OdradekController(root / "controller")
        self.directories = [root / "first", root / "second"]
        settings = {"log.dirs": ",".join(map(str, self.directories))}
        self.broker = ClusterBroker(root / "broker", 1, self.controller.voters, settings)

    def start(self) -> None:
        """Start both, and make a topic."""
        self.controller.start()
        self.broker.start()
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(TIMEOUT_S)

    def discard(self) -> None:
        """End both, however they are."""
        self.broker.discard()
        self.controller.discard()

    def metadata(self) -> MetadataImage:
        """Return what the controller has written."""
        return load_metadata(PosixFiles(), str(self.controller.data / "__cluster_metadata-0")).image

    def recorded(self) -> list[UUID]:
        """Return the directory of each partition's only replica, as the metadata has it."""
        topic = self.metadata().topic(TOPIC)
        return [] if topic is None else [one.directories[0] for one in topic.partitions]

    def actual(self) -> list[UUID]:
        """Return the directory that each partition lies in."""
        with WireClient(self.broker.port) as client:
            results = client.ask("DescribeLogDirs", 4, topics=None)["results"]
        found = {
            partition["partition_index"]: identity(Path(result["log_dir"]))
            for result in results
            for topic in result["topics"]
            if topic["name"] == TOPIC
            for partition in topic["partitions"]
        }
        return [found[index] for index in sorted(found)]


def identity(directory: Path) -> UUID:
    """Return the id that a log directory says of itself."""
    lines = (directory / "meta.properties").read_text().splitlines()
    return from_text(next(line.partition("=")[2] for line in lines if line.startswith("directory.id=")))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[TwoDirectories]:
    """A cluster with a topic."""
    made = TwoDirectories(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.discard()


def test_the_metadata_says_in_which_directories_replicas_lie(cluster: TwoDirectories) -> None:
    """The broker picks one for each and tells the controller; after a start, of what was moved meanwhile, too."""
    eventually(lambda: len(set(cluster.actual())) == 2 and len(cluster.actual()) == PARTITIONS, "logs lie in both")
    eventually(lambda: cluster.recorded() == cluster.actual(), "the metadata has the directories of the replicas")
    before = cluster.recorded()
    assert cluster.broker.stop() == 0
    first, second = cluster.directories
    from_, to = (first, second) if (first / f"{TOPIC}-0").exists() else (second, first)
    (from_ / f"{TOPIC}-0").rename(to / f"{TOPIC}-0")
    cluster.broker.start()
    eventually(lambda: cluster.recorded() == [identity(to), *before[1:]], "the metadata follows the replica")
