"""A broker of this project in a cluster of Apache Kafka's controllers: clients notice nothing of who decides."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic

from odradek.broker.metadata.loading import load_metadata
from odradek.protocol.uuids import from_text
from odradek.storage.files import PosixFiles
from tests.support.broker import run_java
from tests.support.cluster import FIRST_CONTROLLER, ApacheKafkaControllers, ClusterBroker
from tests.support.waiting import eventually
from tests.support.wire import WireClient

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("cluster_broker")]

SESSION = {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "500"}

SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "1000"}


@pytest.fixture(scope="module")
def controllers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafkaControllers]:
    """Three controllers, one quorum."""
    running = ApacheKafkaControllers(tmp_path_factory.mktemp("controllers"), 3, {**SESSION, **SNAPSHOTS})
    try:
        running.start()
        yield running
    finally:
        running.discard()


@pytest.fixture(scope="module")
def broker(controllers: ApacheKafkaControllers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterBroker]:
    """The only broker of the cluster, started on an empty directory."""
    running = ClusterBroker(tmp_path_factory.mktemp("broker"), 1, controllers.voters, SESSION)
    try:
        running.start()
        yield running
    finally:
        running.discard()


def produced(broker: ClusterBroker, topic: str, values: list[str]) -> None:
    """Produce with acks=all and an idempotent producer."""
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0, "enable.idempotence": True})
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: failed.append(error) if error else None)
    assert producer.flush(60) == 0
    assert failed == []


def consumed(broker: ClusterBroker, topic: str, group: str, count: int) -> list[str]:
    """Consume as a member of a group, and commit."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "log_level": 0, "group.id": group, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    values: list[str] = []

    def enough() -> bool:
        for message in consumer.consume(count, 0.5):
            if message.error() is None:
                values.append((message.value() or b"").decode())
        return len(values) >= count

    try:
        eventually(enough, f"{count} records of {topic} are consumed", 60)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return sorted(values)


def changes_work(broker: ClusterBroker, topic: str) -> bool:
    """Create a topic; whether that went well."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    try:
        admin.create_topics([NewTopic(topic, 1, 1)], operation_timeout=5)[topic].result(10)
    except Exception as failed:  # noqa: BLE001 - whatever it is, it is tried again
        return "TOPIC_ALREADY_EXISTS" in str(failed)
    return True


def test_librdkafka_creates_changes_produces_consumes_and_deletes(broker: ClusterBroker) -> None:
    """Topics, partitions and configs are changed at the controller; records and groups are the broker's."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic("first", 3, 1)])["first"].result(60)
    admin.create_partitions([NewPartitions("first", 4)])["first"].result(60)
    entry = ConfigEntry("retention.ms", "86400000", incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ConfigResource.Type.TOPIC, "first", incremental_configs=[entry])
    admin.incremental_alter_configs([changed])[changed].result(60)

    def seen() -> bool:
        asked = ConfigResource(ConfigResource.Type.TOPIC, "first")
        return bool(admin.describe_configs([asked])[asked].result(60)["retention.ms"].value == "86400000")

    eventually(seen, "the broker has the config", 60)
    values = sorted(f"v{number}" for number in range(200))
    produced(broker, "first", values)
    assert consumed(broker, "first", "g", 200) == values
    produced(broker, "made-by-producing", ["x"])
    metadata = admin.list_topics(timeout=60)
    assert (list(metadata.brokers), metadata.controller_id) == ([1], 1)
    assert {"first", "made-by-producing", "__consumer_offsets"} <= set(metadata.topics)
    assert len(metadata.topics["first"].partitions) == 4
    admin.delete_topics(["made-by-producing"])["made-by-producing"].result(60)
    eventually(lambda: "made-by-producing" not in admin.list_topics(timeout=60).topics, "the topic is gone", 60)


def test_the_tools_of_apache_kafka_see_one_cluster(broker: ClusterBroker, controllers: ApacheKafkaControllers) -> None:
    """The quorum with the broker as an observer that keeps up; topics; what clients may ask in which version."""
    server = ("--bootstrap-server", broker.bootstrap)
    status = run_java("org.apache.kafka.tools.MetadataQuorumCommand", *server, "describe", "--replication").stdout
    rows = {line.split()[0]: line.split() for line in status.decode().splitlines() if line[:1].isdigit()}
    assert set(rows) >= {"1", *map(str, controllers.ids)}  # and who was there within the last five minutes
    assert "Observer" in rows["1"]
    run_java("org.apache.kafka.tools.TopicCommand", *server, "--create", "--topic", "java", "--partitions", "2")
    told = run_java("org.apache.kafka.tools.TopicCommand", *server, "--describe", "--topic", "java").stdout.decode()
    assert told.count("Leader: 1") == 2


def test_a_value_that_no_broker_can_have_is_refused(broker: ClusterBroker) -> None:
    """Of this broker and of all: Apache Kafka's controllers leave that to brokers, and would keep it."""
    broker_kind, invalid_request = 4, 42
    with WireClient(broker.port) as wire:
        for name in ("1", ""):
            for value, code in (("many", invalid_request), ("2", 0)):
                change = {"name": "log.cleaner.threads", "config_operation": 0, "value": value}
                resource = {"resource_type": broker_kind, "resource_name": name, "configs": [change]}
                answer = wire.ask("IncrementalAlterConfigs", 1, resources=[resource])
                assert answer["responses"][0]["error_code"] == code


def test_an_election_of_the_controllers_is_outlived(broker: ClusterBroker, controllers: ApacheKafkaControllers) -> None:
    """Records flow meanwhile, and changes go to the new leader, whether the old one stopped in order or was killed."""
    eventually(lambda: changes_work(broker, "elections"), "changes work", 60)
    for round_, number in enumerate((signal.SIGTERM, signal.SIGKILL)):
        path = broker.data / "__cluster_metadata-0" / "quorum-state"
        old = json.loads(path.read_text())["leaderId"]
        assert old >= FIRST_CONTROLLER
        controllers.stop(old, number)
        produced(broker, "elections", [f"{round_}-{index}" for index in range(50)])
        eventually(lambda round_=round_: changes_work(broker, f"after-{round_}"), "changes work again", 60)  # type: ignore[misc]  # a lambda with a default
        assert json.loads(path.read_text())["leaderId"] != old
        controllers.start([old])
    assert len(consumed(broker, "elections", "after", 100)) == 100


def test_a_restart_finds_everything_again(broker: ClusterBroker) -> None:
    """After a stop in order and after a kill: the registration is renewed, records and offsets are there."""
    eventually(lambda: changes_work(broker, "kept"), "changes work", 60)
    produced(broker, "kept", [f"{number}" for number in range(50)])
    assert len(consumed(broker, "kept", "keeper", 50)) == 50
    assert broker.stop() == 0
    marker = json.loads((broker.data / ".kafka_cleanshutdown").read_text())
    assert marker["brokerEpoch"] > 0
    broker.start()
    produced(broker, "kept", ["after the stop"])
    assert consumed(broker, "kept", "keeper", 1) == ["after the stop"]
    broker.kill()
    broker.start()
    produced(broker, "kept", ["after the kill"])
    assert consumed(broker, "kept", "keeper", 1) == ["after the kill"]


def test_a_second_broker_begins_with_a_snapshot_and_takes_its_share(tmp_path: Path) -> None:
    """Found through bootstrap servers; each broker tells of both, and clients reach partitions and groups wherever."""
    controllers = ApacheKafkaControllers(tmp_path / "controllers", 1, {**SESSION, **SNAPSHOTS})
    broker = ClusterBroker(tmp_path / "first", 1, controllers.voters, SESSION)
    controllers.start()
    broker.start()
    servers = ",".join(f"127.0.0.1:{port}" for port in controllers.ports)
    quorum = {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": servers, "broker.rack": "r2"}
    eventually(lambda: changes_work(broker, "before"), "changes work", 60)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    many = admin.create_topics([NewTopic(f"before-{number}", 1, 1) for number in range(30)])
    assert all(done.result(60) is None for done in many.values())

    def has_snapshot() -> bool:
        found = (tmp_path / "controllers").rglob("*.checkpoint")
        return any(not one.name.startswith(("0" * 20, "bootstrap")) for one in found)

    eventually(has_snapshot, "the controller has a snapshot", 60)
    second = ClusterBroker(tmp_path / "second", 2, controllers.voters, {**SESSION, **quorum})
    try:
        second.start()
        assert list((second.data / "__cluster_metadata-0").glob("*.checkpoint"))
        admin = AdminClient({"bootstrap.servers": second.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("shared", 8, 1)])["shared"].result(60)

        def spread() -> bool:
            partitions = admin.list_topics("shared", timeout=60).topics["shared"].partitions.values()
            return {partition.leader for partition in partitions} == {1, 2}

        eventually(spread, "both brokers lead partitions", 60)
        for known in (broker, second):
            metadata = AdminClient({"bootstrap.servers": known.bootstrap, "log_level": 0}).list_topics(timeout=60)
            assert {node: f"{one.host}:{one.port}" for node, one in metadata.brokers.items()} == {
                1: broker.bootstrap,
                2: second.bootstrap,
            }
            assert "before" in metadata.topics
        values = sorted(f"v{number}" for number in range(100))
        produced(second, "shared", values)
        for group in ("a", "b", "c", "d"):
            assert consumed(second, "shared", group, 100) == values
        assert second.stop() == 0
        alone = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0}).list_topics(timeout=60)
        assert list(alone.brokers) == [1]
        assert {partition.leader for partition in alone.topics["shared"].partitions.values()} == {1, -1}
    finally:
        second.discard()
        broker.discard()
        controllers.discard()


def test_what_cannot_join_says_why(broker: ClusterBroker, controllers: ApacheKafkaControllers, tmp_path: Path) -> None:
    """One sentence and the end: a directory of another cluster, a node.id that is taken, controllers not there."""
    stranger = ClusterBroker(tmp_path / "stranger", 7, controllers.voters)
    stranger.data.mkdir(parents=True)
    (stranger.data / "meta.properties").write_text("version=1\nnode.id=7\ncluster.id=4L6g3nShT-eMCtK--X86sw\n")
    quick = {"initial.broker.registration.timeout.ms": "3000"}
    twin = ClusterBroker(tmp_path / "twin", 1, controllers.voters, quick)
    nobody = ClusterBroker(tmp_path / "nobody", 8, "101@127.0.0.1:1", quick)
    for refused, says in (
        (stranger, "is of another cluster"),
        (twin, "another broker with this node.id"),
        (nobody, "no active controller was found"),
    ):
        refused.launch()
        assert refused.wait(60) == 1, refused.log
        assert says in refused.log
        assert refused.log.count("cannot start") == 1
    eventually(lambda: changes_work(broker, "unnoticed"), "changes work", 60)
    produced(broker, "unnoticed", ["x"])


def test_a_controller_notes_in_which_directories_replicas_lie(tmp_path: Path) -> None:
    """Apache Kafka's assigns no directory where a broker has two, and takes what the broker tells."""
    controller = ApacheKafkaControllers(tmp_path / "controller", 1, SESSION)
    directories = [tmp_path / "first", tmp_path / "second"]
    settings = {**SESSION, "log.dirs": ",".join(map(str, directories))}
    broker = ClusterBroker(tmp_path / "broker", 1, controller.voters, settings)

    def identity(index: int) -> UUID | None:
        """Return the id of the directory that a partition lies in, None before it is there."""
        home = next((one for one in directories if (one / f"placed-{index}").exists()), None)
        if home is None:
            return None
        lines = (home / "meta.properties").read_text().splitlines()
        return from_text(next(line.partition("=")[2] for line in lines if line.startswith("directory.id=")))

    def recorded() -> list[UUID]:
        topic = load_metadata(PosixFiles(), str(directories[0] / "__cluster_metadata-0")).image.topic("placed")
        return [] if topic is None else [one.directories[0] for one in topic.partitions]

    try:
        controller.start()
        broker.start()
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("placed", 3, 1)])["placed"].result(60)
        eventually(lambda: recorded() == [identity(index) for index in range(3)], "the directories are noted", 60)
        assert len(set(recorded())) == 2
    finally:
        broker.discard()
        controller.discard()
