"""A broker of a cluster with several log directories: what becomes of them is in the cluster's metadata."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.loading import load_metadata
from odradek.protocol.uuids import from_text
from odradek.storage.files import PosixFiles
from tests.integration.cli import COMMAND, environment
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


class Sender:
    """An idempotent producer that goes on and on; what it was told is written, it keeps."""

    def __init__(self, bootstrap: str) -> None:
        self.acknowledged: list[int] = []
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "message.timeout.ms": 60000}
        self._producer = Producer({**settings, "log_level": 0, "socket.timeout.ms": 2000, "linger.ms": 1})
        self._next = 0

    def send(self, count: int) -> None:
        """Send some, and wait for a part of the answers."""
        for number in range(self._next, self._next + count):
            self._producer.produce(TOPIC, b"%d" % number * 100, b"%d" % number, 0, on_delivery=self._delivered)
        self._next += count
        self._producer.poll(0.01)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        key = message.key()
        if error is None and isinstance(key, bytes):
            self.acknowledged.append(int(key))

    def finish(self) -> None:
        """Wait until all is acknowledged."""
        assert self._producer.flush(TIMEOUT_S) == 0
        assert sorted(self.acknowledged) == list(range(self._next))


def keys_of(bootstrap: str) -> list[int]:
    """Read the first partition from its start to its end."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "enable.partition.eof": True})
    consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
    found: list[int] = []
    for _ in range(TIMEOUT_S):
        for message in consumer.consume(1000, 1):
            if message.error() is not None:
                consumer.close()
                return found
            key = message.key()
            assert isinstance(key, bytes)
            found.append(int(key))
    raise AssertionError(f"no end of the partition after {len(found)} records")


def places(port: int) -> dict[str, list[dict[str, object]]]:
    """Return what DescribeLogDirs tells of the first partition, by directory."""
    with WireClient(port) as client:
        results = client.ask("DescribeLogDirs", 4, topics=[{"topic": TOPIC, "partitions": [0]}])["results"]
    return {
        Path(result["log_dir"]).name: [one for topic in result["topics"] for one in topic["partitions"]]
        for result in results
    }


def move(port: int, directory: Path) -> int:
    """Ask for a move of the first partition, and return the code."""
    topics = [{"name": TOPIC, "partitions": [0]}]
    with WireClient(port) as client:
        answer = client.ask("AlterReplicaLogDirs", 2, dirs=[{"path": str(directory), "topics": topics}])
    code: int = answer["results"][0]["partitions"][0]["error_code"]
    return code


def throttle(bootstrap: str, rate: int) -> None:
    """Let no more than so many bytes a second be copied."""
    key = "replica.alter.log.dirs.io.max.bytes.per.second"
    entry = ConfigEntry(key, str(rate), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)


def test_a_partition_moves_while_it_is_written_to_and_the_broker_is_killed(tmp_path: Path) -> None:
    """The copy is seen on its way, begins anew after kill -9, and takes over; nothing acknowledged is missing."""
    directories = [tmp_path / "first", tmp_path / "second"]
    settings = {"log.dirs": ",".join(map(str, directories)), "node.id": "1"}
    broker = OdradekProcess(tmp_path / "node", settings)
    broker.start()
    try:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(TIMEOUT_S)
        eventually(lambda: list(tmp_path.glob(f"*/{TOPIC}-0")), "the partition is made")
        [source] = [one for one in directories if (one / f"{TOPIC}-0").exists()]
        [target] = [one for one in directories if one != source]
        sender = Sender(broker.bootstrap)
        for _ in range(20):
            sender.send(500)
        sender.finish()  # four megabytes, of which one is copied at first
        throttle(broker.bootstrap, 100_000)
        assert move(broker.port, target) == 0
        eventually(lambda: list(target.glob(f"{TOPIC}-0.*-future/*.log")), "a copy is made")
        sender.send(500)
        [on_its_way] = places(broker.port)[target.name]
        assert on_its_way["is_future_key"] is True
        assert on_its_way["offset_lag"] != 0
        broker.kill()
        broker.start()
        throttle(broker.bootstrap, 1 << 40)

        def has_moved() -> bool:
            sender.send(200)
            found = places(broker.port)
            return not found[source.name] and [one["is_future_key"] for one in found[target.name]] == [False]

        eventually(has_moved, "the partition has moved")
        assert "a replica has moved to another log directory" in broker.log
        sender.finish()
        assert keys_of(broker.bootstrap) == sorted(sender.acknowledged)
        assert not list(tmp_path.glob(f"*/{TOPIC}-0.*-future"))
        broker.kill()
        broker.start()
        assert keys_of(broker.bootstrap) == sorted(sender.acknowledged)
        assert move(broker.port, tmp_path) == 57
    finally:
        broker.discard()


def test_the_controller_learns_of_a_replica_that_moves(cluster: TwoDirectories) -> None:
    """Before the copy takes the place of the log; the others stay where they are."""
    assert cluster.produce() == [True] * PARTITIONS
    eventually(
        lambda: len(cluster.actual()) == PARTITIONS and cluster.recorded() == cluster.actual(), "all are recorded"
    )
    before = cluster.recorded()
    target = next(one for one in cluster.directories if identity(one) != before[0])
    assert move(cluster.broker.port, target) == 0
    eventually((target / f"{TOPIC}-0").exists, "the replica has moved")
    assert cluster.recorded() == cluster.actual() == [identity(target), *before[1:]]
    assert cluster.produce() == [True] * PARTITIONS


def test_plans_with_log_directories(tmp_path: Path) -> None:
    """The command moves a replica where a plan of kafka-reassign-partitions says, waits, and tells what is so; a
    directory that the broker does not have is refused."""
    directories = [tmp_path / "first", tmp_path / "second"]
    broker = OdradekProcess(tmp_path / "node", {"log.dirs": ",".join(map(str, directories)), "node.id": "1"})
    broker.start()

    def run(action: str, directory: str) -> tuple[int, str]:
        partition = {"topic": TOPIC, "partition": 0, "replicas": [1], "log_dirs": [directory]}
        plan = tmp_path / "plan.json"
        plan.write_text(json.dumps({"version": 1, "partitions": [partition]}))
        command = [*COMMAND, "partitions", "reassign", action, str(plan), "--json"]
        done = subprocess.run(
            command, env=environment(broker.bootstrap), capture_output=True, text=True, timeout=60, check=False
        )
        state = json.loads(done.stdout)["partitions"][0]["state"] if done.stdout else done.stderr
        return done.returncode, state

    try:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 30000, "log_level": 0})
        producer.produce(TOPIC, b"x" * 100_000)
        assert producer.flush(TIMEOUT_S) == 0
        [target] = [one for one in directories if not (one / f"{TOPIC}-0").exists()]
        assert run("verify", str(target)) == (1, "otherwise")
        assert run("execute", str(target)) == (0, "done")
        assert (target / f"{TOPIC}-0").exists()
        assert run("verify", str(target)) == (0, "done")
        assert run("verify", "any") == (0, "done")
        code, error = run("execute", "/no/such")
        assert (code, "to /no/such on broker 1: LOG_DIR_NOT_FOUND" in error) == (1, True)
    finally:
        broker.kill()
