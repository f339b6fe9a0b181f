"""Three brokers of Apache Kafka whose controller is the project's: what they and Apache Kafka's tools ask of it.

The brokers are started once. Each test leaves all of them running and in sync.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.broker import run_java
from tests.support.cluster import ApacheKafkaBroker, await_members
from tests.support.cluster_nodes import CONTROLLER_ID, OdradekController
from tests.support.waiting import eventually

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka-brokers")]

TOOLS = "org.apache.kafka.tools"
TIMEOUT_S = 60
SESSION_MS = 6000
REPLICAS = 3


class MixedCluster:
    """The project's controller, and Apache Kafka's brokers 1 to 3."""

    def __init__(self, directory: Path) -> None:
        self.controller = OdradekController(
            directory / "controller",
            {
                "broker.session.timeout.ms": str(SESSION_MS),
                "metadata.log.max.record.bytes.between.snapshots": "4000",
            },
        )
        self.brokers = [
            self.controller.apache_kafka_broker(directory / f"broker-{number}", number) for number in (1, 2, 3)
        ]

    def start(self) -> None:
        """Start all, the brokers at the same time."""
        self.controller.start()
        with ThreadPoolExecutor(len(self.brokers)) as threads:
            list(threads.map(ApacheKafkaBroker.start, self.brokers))
        await_members(self.brokers)
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def discard(self) -> None:
        """End all, however they are."""
        for process in (*self.brokers, self.controller):
            process.discard()

    @property
    def bootstrap(self) -> str:
        """Where clients connect."""
        return ",".join(broker.bootstrap for broker in self.brokers)

    def create(self, topic: str, partitions: int = 6, config: dict[str, str] | None = None) -> None:
        """Create a topic with three replicas."""
        wish = NewTopic(topic, partitions, REPLICAS, config=config or {})
        self.admin.create_topics([wish])[topic].result(TIMEOUT_S)
        eventually(lambda: len(self.partitions(topic)) == partitions, "the topic is known", TIMEOUT_S)

    def partitions(self, topic: str) -> dict[int, tuple[int, list[int], list[int]]]:
        """Return leader, replicas and ISR of each partition, as a broker tells them."""
        found = self.admin.list_topics(topic, TIMEOUT_S).topics[topic].partitions
        return {index: (one.leader, one.replicas, sorted(one.isrs)) for index, one in found.items()}

    def wait_for_isr(self, topic: str, isr: Sequence[int]) -> None:
        """Wait until every partition has these replicas in sync, and is led by one of them."""

        def has_it() -> bool:
            known = self.partitions(topic).values()  # none, where the broker that is asked is behind
            return bool(known) and all(one[2] == list(isr) and one[0] in isr for one in known)

        eventually(has_it, f"{topic} has the ISR {isr}", TIMEOUT_S)

    def tool(self, name: str, *arguments: str) -> str:
        """Run one of Apache Kafka's tools against the brokers; return what it prints."""
        return _run(name, ("--bootstrap-server", self.bootstrap), arguments)

    def tool_at_controller(self, name: str, *arguments: str) -> str:
        """Run one of Apache Kafka's tools against the controller; return what it prints."""
        return _run(name, ("--bootstrap-controller", f"127.0.0.1:{self.controller.port}"), arguments)


def _run(name: str, address: tuple[str, str], arguments: Sequence[str]) -> str:
    main = name if name.startswith("kafka.") else f"{TOOLS}.{name}"
    given = (*arguments, *address) if name == "ClusterTool" else (*address, *arguments)
    return run_java(main, *given).stdout.decode()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedCluster]:
    """The cluster of all tests."""
    made = MixedCluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.start()
        yield made
    finally:
        made.discard()


def produce(
    cluster: MixedCluster,
    topic: str,
    values: Sequence[bytes],
    during: Callable[[], None] | None = None,
    *,
    idempotent: bool = True,
) -> None:
    """Write values with acks=all; all must be acknowledged, whatever happens when half of them are."""
    failures: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "log_level": 0,
            "acks": "all",
            "enable.idempotence": idempotent,
            "linger.ms": 20,
        }
    )
    for number, value in enumerate(values):
        if during is not None and number == len(values) // 2:
            producer.flush(TIMEOUT_S)
            during()
        producer.produce(topic, value, on_delivery=lambda error, _: failures.append(error) if error else None)
        producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0
    assert not failures


def consume(cluster: MixedCluster, topic: str, count: int, group: str) -> list[bytes]:
    """Read so many values as a member of a group; return them sorted."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "log_level": 0, "group.id": group, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    values: list[bytes] = []

    def read() -> bool:
        values.extend(message.value() or b"" for message in consumer.consume(1000, 0.5) if not message.error())
        return len(values) >= count

    try:
        eventually(read, f"{count} values are read", TIMEOUT_S)
    finally:
        consumer.close()
    return sorted(values)


def numbered(count: int) -> list[bytes]:
    """Return distinct values, sorted."""
    return [b"%06d" % number for number in range(count)]


def test_records_pass_through_brokers_that_replicate_each_other(cluster: MixedCluster) -> None:
    """Topics are placed on all brokers, each leads as many partitions, and groups work."""
    cluster.create("pass")
    known = eventually(lambda: cluster.partitions("pass"), "whoever is asked knows the topic", TIMEOUT_S)
    leaders = [leader for leader, _, _ in known.values()]
    assert sorted(leaders) == [1, 1, 2, 2, 3, 3]
    values = numbered(2000)
    produce(cluster, "pass", values)
    assert consume(cluster, "pass", len(values), "pass") == values
    cluster.wait_for_isr("pass", [1, 2, 3])


def test_a_broker_that_dies_is_fenced_and_others_lead(cluster: MixedCluster) -> None:
    """Nothing that was acknowledged is lost; it returns to the ISR by itself, and to leading when asked to."""
    cluster.create("killed", config={"min.insync.replicas": "2"})
    values = numbered(2000)
    victim = cluster.brokers[1]
    produce(cluster, "killed", values, during=victim.kill)
    cluster.wait_for_isr("killed", [1, 3])
    assert consume(cluster, "killed", len(values), "killed") == values
    victim.start()
    cluster.wait_for_isr("killed", [1, 2, 3])
    elected = cluster.tool(
        "LeaderElectionCommand", "--election-type", "preferred", "--topic", "killed", "--partition", "0"
    )
    assert "fail" not in elected.lower()
    leader, replicas, _ = eventually(lambda: cluster.partitions("killed"), "the topic is known", TIMEOUT_S)[0]
    assert leader == replicas[0]


def test_a_broker_that_stops_hands_over_what_it_leads(cluster: MixedCluster) -> None:
    """Controlled shutdown: its partitions have other leaders when it ends, and its session never times out."""
    cluster.create("stopped")
    leaver = cluster.brokers[2]
    assert leaver.stop() in (0, 143)
    cluster.wait_for_isr("stopped", [1, 2])
    assert '"broker": 3, "event": "broker fenced' not in cluster.controller.log
    leaver.start()
    cluster.wait_for_isr("stopped", [1, 2, 3])


@pytest.mark.parametrize("end", [OdradekController.stop, OdradekController.kill])
def test_brokers_go_on_while_the_controller_is_away(
    cluster: MixedCluster, end: Callable[[OdradekController], object]
) -> None:
    """Stopped or killed, in the middle of producing; afterwards it leads in a new epoch, and changes go on."""
    topic = f"away-{end.__name__}"
    cluster.create(topic)
    values = numbered(1000)

    def restart() -> None:
        end(cluster.controller)
        try:  # no new idempotent producer: ids come from the controller
            produce(cluster, topic, [b"x%d" % number for number in range(100)], idempotent=False)
        finally:
            cluster.controller.start()

    produce(cluster, topic, values, during=restart)
    found = consume(cluster, topic, len(values) + 100, topic)
    assert [value for value in found if not value.startswith(b"x")] == values
    cluster.create(f"{topic}-after")
    cluster.wait_for_isr(topic, [1, 2, 3])


def test_a_new_broker_begins_with_a_snapshot(cluster: MixedCluster, tmp_path: Path) -> None:
    """It joins, is told of all topics, and can be unregistered once it has left."""
    eventually(
        lambda: list((cluster.controller.data / "__cluster_metadata-0").glob("*.checkpoint")),
        "the controller has written a snapshot",
        TIMEOUT_S,
    )
    newcomer = cluster.controller.apache_kafka_broker(tmp_path, 4)
    newcomer.start()
    try:
        eventually(lambda: 4 in cluster.admin.list_topics(timeout=TIMEOUT_S).brokers, "broker 4 has joined", TIMEOUT_S)
        assert list((newcomer.data / "__cluster_metadata-0").glob("*-*.checkpoint"))
    finally:
        newcomer.discard()
    assert "no longer registered" in cluster.tool("ClusterTool", "unregister", "--id", "4")

    def forgotten() -> bool:
        """A client that was told broker 4 is the controller asks nobody else for a topic until it hears better."""
        known = cluster.admin.list_topics(timeout=TIMEOUT_S)
        return 4 not in known.brokers and known.controller_id in known.brokers

    eventually(forgotten, "broker 4 is gone, for the client of the other tests too", TIMEOUT_S)


def test_tools_see_quorum_features_and_controllers(cluster: MixedCluster) -> None:
    """kafka-metadata-quorum, kafka-features, kafka-cluster, at brokers and at the controller."""
    status = cluster.tool("MetadataQuorumCommand", "describe", "--status")
    assert f"LeaderId:               {CONTROLLER_ID}" in status
    replication = cluster.tool_at_controller("MetadataQuorumCommand", "describe", "--replication").splitlines()
    rows = [line.split() for line in replication if line.split()]
    assert {row[0]: row[-1] for row in rows[1:] if row[0] in {"3000", "1", "2", "3"}} == {
        "3000": "Leader",
        "1": "Observer",
        "2": "Observer",
        "3": "Observer",
    }
    assert "metadata.version" in cluster.tool("FeatureCommand", "describe")
    assert cluster.controller.cluster_id in cluster.tool_at_controller("ClusterTool", "cluster-id")
    assert "controller" in cluster.tool_at_controller("ClusterTool", "list-endpoints")


def test_tools_change_configs_of_topics_and_brokers(cluster: MixedCluster) -> None:
    """kafka-configs: what a broker hands on is kept for every broker, whichever it is."""
    cluster.create("configured")
    configs = "kafka.admin.ConfigCommand"
    for kind, name in (("topics", "configured"), ("brokers", "2")):
        given = "retention.ms=7654321" if kind == "topics" else "log.cleaner.threads=2"
        cluster.tool(configs, "--alter", "--entity-type", kind, "--entity-name", name, "--add-config", given)
        shown = cluster.tool(configs, "--describe", "--entity-type", kind, "--entity-name", name)
        assert given in shown


def test_tools_move_replicas(cluster: MixedCluster, tmp_path: Path) -> None:
    """kafka-reassign-partitions: with throttles, which are gone afterwards."""
    cluster.create("moved", partitions=1)
    values = numbered(500)
    produce(cluster, "moved", values)
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": "moved", "partition": 0, "replicas": [3, 1]}]}))
    command = "reassign.ReassignPartitionsCommand"
    cluster.tool(command, "--execute", "--reassignment-json-file", str(plan), "--throttle", "10000000")
    eventually(
        lambda: [sorted(one[1]) for one in cluster.partitions("moved").values()] == [[1, 3]],
        "the replicas have moved",
        TIMEOUT_S,
    )
    verified = cluster.tool(command, "--verify", "--reassignment-json-file", str(plan))
    assert "Reassignment of partition moved-0 is completed" in verified
    assert consume(cluster, "moved", len(values), "moved") == values
