"""Quotas beside Apache Kafka's: the same throttle times, its tools, its clients, and directories that change hands."""

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.clients import Confluent
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess, run_java
from tests.support.client_quotas import quotas, set_quotas
from tests.support.waiting import eventually
from tests.support.wire import ConnectionClosedError, WireClient
from tests.support.wire.batches import Record, build_batch

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka"), pytest.mark.timeout(300)]

Pair = tuple[BrokerProcess, BrokerProcess]
WHO = (("user", "ANONYMOUS"),)
SLACK_MS = 1_400
"""Between two brokers: the windows that both measure in are 10 to 11 s long, by when in a second they began, and a
loaded machine adds what passes between two requests. The times that are told differ by 2 s from each other; exactly
they are held by unit tests, with a clock of their own."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """An Apache Kafka and an odradek for these tests alone."""
    brokers = (ApacheKafkaProcess(tmp_path_factory.mktemp("kafka")), OdradekProcess(tmp_path_factory.mktemp("odradek")))
    try:
        for broker in brokers:
            broker.start()
        yield brokers
    finally:
        for broker in brokers:
            broker.discard()


def limit(broker: BrokerProcess, entity: tuple[tuple[str, str | None], ...] = WHO, **values: float | None) -> None:
    """Set quotas, and wait until Apache Kafka has seen it."""
    set_quotas(broker.port, values, entity)
    name = "+".join(sorted(f"{kind}={one}" for kind, one in entity))
    wanted = {key: value for key, value in values.items() if value is not None}
    eventually(lambda: quotas(broker.port).get(name, {}) == wanted, "the quota is there")
    time.sleep(0.2)


def create(wire: WireClient, name: str, partitions: int, version: int = 7) -> tuple[int, int]:
    """Create a topic; return code and throttle time."""
    topic = {"name": name, "num_partitions": partitions, "replication_factor": 1}
    answer = wire.ask("CreateTopics", version, timeout_ms=8_000, topics=[topic])
    return answer["topics"][0]["error_code"], answer["throttle_time_ms"]


def near(theirs: list[int], ours: list[int]) -> bool:
    """Whether throttle times are the same, but for what passes between requests."""
    return len(theirs) == len(ours) and all(
        abs(one - other) <= SLACK_MS for one, other in zip(theirs, ours, strict=True)
    )


def test_producers_are_told_to_wait_as_long(pair: Pair) -> None:
    """Five times 100 kB at 50 kB/s pass at once; the next ones wait two, four and six seconds."""
    records = build_batch([Record(b"k", bytes(99_800))])
    data = [{"name": "quotas", "partition_data": [{"index": 0, "records": records}]}]
    told: list[list[int]] = []
    for broker in pair:
        with WireClient(broker.port, 30) as wire:
            create(wire, "quotas", 1)
            ask = {"acks": 1, "timeout_ms": 5_000, "topic_data": data}
            wire.ask("Produce", 9, **ask)  # a broker takes its time for the first one
            limit(broker, producer_byte_rate=50_000.0)
            told.append([wire.ask("Produce", 9, **ask)["throttle_time_ms"] for _ in range(7)])
        limit(broker, producer_byte_rate=None)
    assert near(*told), told
    for each in told:
        assert each[:5] == [0] * 5
        assert 0 < each[5] < each[6]


def test_changes_of_partitions_are_refused_alike(pair: Pair) -> None:
    """The one that overdraws is done; deletions take tokens, too; old versions are only told to wait."""
    told = []
    for broker in pair:
        limit(broker, controller_mutation_rate=2.0)
        with WireClient(broker.port, 30) as wire:
            found = [create(wire, f"mutation-{number}", 10) for number in range(5)]
            found.append(create(wire, "mutation-old", 1, version=5))
            found.append(create(wire, "mutation-0", 1))
            answer = wire.ask("DeleteTopics", 6, timeout_ms=8_000, topics=[{"name": "mutation-0"}])
            found.append((answer["responses"][0]["error_code"], answer["throttle_time_ms"]))
            answer = wire.ask("CreatePartitions", 3, timeout_ms=8_000, topics=[{"name": "mutation-1", "count": 12}])
            found.append((answer["results"][0]["error_code"], answer["throttle_time_ms"]))
            told.append(found)
        limit(broker, controller_mutation_rate=None)
    theirs, ours = told
    assert [code for code, _ in theirs] == [code for code, _ in ours]
    assert near([wait for _, wait in theirs], [wait for _, wait in ours]), told


def test_time_is_throttled_for_a_second_at_most(pair: Pair) -> None:
    """Of a client that may take next to none; the second answer comes when the first one's time is over."""
    for broker in pair:
        limit(broker, request_percentage=0.000001)
        with WireClient(broker.port, 30) as wire:
            assert [wire.ask("Metadata", 9, topics=None)["throttle_time_ms"] for _ in range(2)] == [1_000, 1_000]
        time.sleep(1.2)
        limit(broker, request_percentage=None)


def test_connections_that_come_too_fast_are_kept_and_reset(pair: Pair) -> None:
    """The broker lets ten in at once with a limit of one a second."""
    for broker in pair:
        limit(broker, (("ip", "127.0.0.1"),), connection_creation_rate=1.0)
        let_in = 0
        began = ended = time.monotonic()
        while let_in < 20:
            began = time.monotonic()
            try:
                with WireClient(broker.port, 5) as wire:
                    wire.ask("ApiVersions", 0)
            except ConnectionClosedError:
                ended = time.monotonic()
                break
            let_in += 1
        assert 5 <= let_in <= 10, "those that set the quota may have come before it counted"
        assert 0.5 < ended - began < 3
        time.sleep(11.5)
        limit(broker, (("ip", "127.0.0.1"),), connection_creation_rate=None)


ENTITIES = (
    (("--entity-type", "users", "--entity-name", "tool"), "producer_byte_rate=1000,request_percentage=12.5"),
    (("--entity-type", "users", "--entity-default"), "consumer_byte_rate=2000"),
    (("--entity-type", "clients", "--entity-name", "tool"), "controller_mutation_rate=3"),
    (
        ("--entity-type", "users", "--entity-name", "tool", "--entity-type", "clients", "--entity-default"),
        "producer_byte_rate=4000",
    ),
    (("--entity-type", "ips", "--entity-name", "10.0.0.1"), "connection_creation_rate=5"),
)


def _configs(broker: BrokerProcess, *arguments: str) -> str:
    return run_java("kafka.admin.ConfigCommand", "--bootstrap-server", broker.bootstrap, *arguments).stdout.decode()


def test_kafka_configs_sets_shows_and_deletes_quotas(pair: Pair) -> None:
    """Users, client ids, both, defaults and addresses."""
    _, odradek = pair
    for entity, values in ENTITIES:
        _configs(odradek, "--alter", *entity, "--add-config", values)
        shown = _configs(odradek, "--describe", *entity)
        for each in values.split(","):
            key, value = each.split("=")
            assert re.search(rf"{key}={float(value)}", shown), shown
    assert {entity for entity in quotas(odradek.port) if "tool" in entity} == {
        "user=tool",
        "client-id=tool",
        "client-id=None+user=tool",
    }
    for entity, values in ENTITIES:
        _configs(odradek, "--alter", *entity, "--delete-config", re.sub(r"=[^,]*", "", values))
    assert quotas(odradek.port) == {}


def test_a_java_producer_is_held_to_its_quota(pair: Pair) -> None:
    """It waits as it is told: what is above ten seconds' worth takes its time, and everything gets there."""
    _, odradek = pair
    Confluent(odradek.bootstrap).create_topic("perf-quota")
    limit(odradek, (("client-id", "perf-producer-client"),), producer_byte_rate=200_000.0)
    arguments = ["--topic", "perf-quota", "--num-records", "3000", "--record-size", "1000", "--throughput", "-1"]
    client = f"bootstrap.servers={odradek.bootstrap}"
    began = time.monotonic()
    done = run_java(
        "org.apache.kafka.tools.ProducerPerformance",
        *arguments,
        "--producer-props",
        client,
        "client.id=perf-producer-client",
        "batch.size=16000",
    )
    took = time.monotonic() - began
    limit(odradek, (("client-id", "perf-producer-client"),), producer_byte_rate=None)
    assert b"3000 records sent" in done.stdout
    assert took >= (3_000_000 - 2_200_000) / 200_000, "three megabytes, of which two pass at once"


def test_quotas_stay_when_a_directory_changes_hands(tmp_path: Path) -> None:
    """What odradek wrote Apache Kafka reads, and the other way round; both write the same records."""
    odradek, kafka = OdradekProcess(tmp_path / "odradek"), ApacheKafkaProcess(tmp_path / "kafka")
    after = OdradekProcess(tmp_path / "after")
    both = (("user", None), ("client-id", "c"))
    try:
        odradek.start()
        set_quotas(odradek.port, {"producer_byte_rate": 5_000.0, "request_percentage": 0.1 + 0.2}, both)
        set_quotas(odradek.port, {"connection_creation_rate": 5_000.0}, (("ip", "127.0.0.1"),))
        set_quotas(odradek.port, {"consumer_byte_rate": 7.0}, (("user", "gone"),))
        set_quotas(odradek.port, {"consumer_byte_rate": None}, (("user", "gone"),))
        before = quotas(odradek.port)
        odradek.stop()
        shutil.copytree(odradek.data, tmp_path / "kafka" / "data")
        kafka.start()
        assert quotas(kafka.port) == before
        limit(kafka, (("user", "kafka's"),), controller_mutation_rate=1.5)
        by_kafka = quotas(kafka.port)
        kafka.stop()
        shutil.copytree(kafka.data, tmp_path / "after" / "data")
        after.start()
        assert quotas(after.port) == by_kafka
        assert len(by_kafka) == len(before) + 1
    finally:
        for broker in (odradek, kafka, after):
            broker.discard()
