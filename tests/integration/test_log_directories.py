"""A broker of a cluster with several log directories: what becomes of them is in the cluster's metadata."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.loading import load_metadata
from odradek.protocol.uuids import from_text
from odradek.storage.files import PosixFiles
from tests.support.broker import OdradekProcess
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
        settings = {
            "log.dirs": ",".join(map(str, self.directories)),
            "log.flush.offset.checkpoint.interval.ms": "200",
        }
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

    def produce(self) -> list[bool]:
        """Write a record to each partition, and return which of them took it."""
        taken = [False] * PARTITIONS

        def note(error: KafkaError | None, message: Message) -> None:
            index = message.partition()
            assert index is not None
            taken[index] = error is None

        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "message.timeout.ms": 3000, "log_level": 0})
        for index in range(PARTITIONS):
            producer.produce(TOPIC, b"x", partition=index, on_delivery=note)
        assert producer.flush(TIMEOUT_S) == 0
        return taken

    def offline(self) -> list[int]:
        """Return the partitions whose only replica is offline, as clients are told."""
        with WireClient(self.broker.port) as client:
            topics = client.ask("Metadata", 12, topics=[{"topic_id": UUID(int=0), "name": TOPIC}])["topics"]
        return sorted(one["partition_index"] for one in topics[0]["partitions"] if one["offline_replicas"])


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


def test_a_directory_that_vanishes_takes_its_replicas_offline_until_it_is_back(cluster: TwoDirectories) -> None:
    """The others go on; the controller knows; after a start with the directory in its place all is there again."""
    eventually(lambda: len(set(cluster.recorded())) == 2, "the metadata has the directories of the replicas")
    assert cluster.produce() == [True] * PARTITIONS
    second = cluster.directories[1]
    hit = [index for index in range(PARTITIONS) if (second / f"{TOPIC}-{index}").exists()]
    aside = second.with_name("aside")
    second.rename(aside)
    cluster.produce()
    eventually(lambda: cluster.offline() == hit, "clients are told which replicas are offline")
    topic = cluster.metadata().topic(TOPIC)
    assert topic is not None
    assert [index for index in range(PARTITIONS) if topic.partitions[index].leader == -1] == hit
    assert cluster.produce() == [index not in hit for index in range(PARTITIONS)]
    with WireClient(cluster.broker.port) as client:
        results = client.ask("DescribeLogDirs", 4, topics=None)["results"]
    assert [result["error_code"] for result in results] == [0, 56]
    assert cluster.broker.log.count("log directory failed") == 1
    assert cluster.broker.stop() == 0
    aside.rename(second)
    cluster.broker.start()
    eventually(lambda: cluster.offline() == [], "all replicas are back")
    assert cluster.produce() == [True] * PARTITIONS


def test_a_node_whose_metadata_vanishes_stops_and_says_why(tmp_path: Path) -> None:
    """In order, with exit code 1: what is in its other directory is on the disk."""
    first, second = tmp_path / "first", tmp_path / "second"
    settings = {"log.dirs": f"{first},{second}", "log.flush.offset.checkpoint.interval.ms": "200"}
    broker = OdradekProcess(tmp_path / "node", settings)
    broker.start()
    try:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 30000, "log_level": 0})
        producer.produce(TOPIC, b"x")
        assert producer.flush(TIMEOUT_S) == 0
        first.rename(tmp_path / "aside")
        AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0}).create_topics([NewTopic("more", 2, 1)])
        assert broker.wait(TIMEOUT_S) == 1
        assert f"odradek: stopped: log directory {first} has failed" in broker.log
        assert (second / ".kafka_cleanshutdown").exists()
    finally:
        broker.discard()
