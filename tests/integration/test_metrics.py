"""What a real broker tells Prometheus, held against what its clients did."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from odradek.console.broker_metrics import fetch_request_times
from odradek.metrics.table import METRICS
from odradek.metrics.table_pipeline import PIPELINE
from tests.conftest import AGAINST_APACHE_KAFKA
from tests.fault.talk import fetch
from tests.fault.talk import produce as append
from tests.support.broker import OdradekProcess
from tests.support.scraped import Scraped, get, scrape
from tests.support.waiting import eventually
from tests.support.wire import WireClient

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="the pages are odradek's own")

PARTITIONS, RECORDS, READ = 3, 300, 120


class Monitored(OdradekProcess):
    """A broker with a port for metrics."""

    def __init__(self, directory: Path, **overrides: str) -> None:
        given = {key.replace("_", "."): value for key, value in overrides.items()}
        super().__init__(directory, {"odradek.http.listener": "127.0.0.1:0", **given})

    @property
    def http(self) -> str:
        """Where its pages are: host:port."""
        found = re.search(r"http://(127\.0\.0\.1:\d+)", self.log)
        assert found is not None, self.log
        return found[1]


def produce(bootstrap: str, topic: str, count: int, **config: str) -> None:
    """Produce values that do not compress."""
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, **config})
    for number in range(count):
        producer.produce(topic, b"value-%d" % number, partition=number % PARTITIONS)
    assert producer.flush(60) == 0


def consume(bootstrap: str, topic: str, group: str, count: int) -> None:
    """Consume as a group, and commit."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
        }
    )
    consumer.subscribe([topic])
    got: list[confluent_kafka.Message] = []
    while len(got) < count:
        got += consumer.consume(count - len(got), 1.0)
    consumer.commit(asynchronous=False)
    consumer.close()


def transact(bootstrap: str, topic: str) -> None:
    """Produce a record in a transaction."""
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": "pays"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, b"one", partition=0)
    producer.commit_transaction(20)


def ask_for_nothing(port: int) -> None:
    """Ask for topics and partitions that are not there."""
    with WireClient(port) as wire:
        wire.ask("Metadata", 12, topics=[{"name": "nowhere"}, {"name": "nor-here"}], allow_auto_topic_creation=False)
        append(wire, "nowhere", b"v")
        fetch(wire, "nowhere", 0)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    """A broker on which there was some work of every kind."""
    process = Monitored(tmp_path_factory.mktemp("monitored"))
    process.start()
    admin = AdminClient({"bootstrap.servers": process.bootstrap})
    topics = [NewTopic("t", PARTITIONS, 1), NewTopic("flushed", PARTITIONS, 1, config={"flush.messages": "1"})]
    for made in admin.create_topics(topics).values():
        made.result(60)
    produce(process.bootstrap, "t", RECORDS)
    produce(process.bootstrap, "flushed", 30)
    consume(process.bootstrap, "t", "g", READ)
    transact(process.bootstrap, "flushed")
    ask_for_nothing(process.port)
    yield process
    process.stop()


def test_every_documented_metric_is_there_and_no_other(broker: Monitored) -> None:
    """docs/metrics.md is made of the same table."""
    assert scrape(broker.http).names == METRICS.keys() - {each.name for each in PIPELINE}


def test_the_console_reads_how_long_requests_take(broker: Monitored) -> None:
    """The histograms of requests are those that `odradek console --metrics` draws."""
    times = fetch_request_times(f"http://{broker.http}/metrics")
    for name in ("Produce", "Fetch", "Metadata"):
        assert times[name].count > 0
        assert times[name].buckets[float("inf")] == times[name].count


def test_traffic_of_topics_is_what_clients_did(broker: Monitored) -> None:
    """Records, bytes, requests, and what was read."""
    found = scrape(broker.http)
    prefix = "kafka_server_brokertopicmetrics_"
    assert found.value(f"{prefix}messagesin_total", topic="t") == RECORDS
    assert found.value(f"{prefix}messagesin_total", topic="flushed") == 31
    assert found.value(f"{prefix}messagesin_total") >= RECORDS + 31
    size = sum(found.of("kafka_log_log_size", topic="t"))
    assert found.value(f"{prefix}bytesin_total", topic="t") == size
    assert 0 < found.value(f"{prefix}bytesout_total", topic="t") <= 3 * size
    assert found.value(f"{prefix}totalproducerequests_total", topic="t") >= PARTITIONS
    assert found.value(f"{prefix}failedproducerequests_total", topic="t") == 0
    assert found.value("odradek_produce_batches_waited_total") >= 3
    assert found.value("odradek_flushes_waited_for_total") >= 3


def test_logs_and_partitions_are_as_clients_see_them(broker: Monitored) -> None:
    """Offsets, leaders, replicas; the internal topics too."""
    found = scrape(broker.http)
    consumer = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "asks"})
    for index in range(PARTITIONS):
        low, high = consumer.get_watermark_offsets(confluent_kafka.TopicPartition("t", index))
        labels = {"topic": "t", "partition": str(index)}
        assert found.value("kafka_topic_partition_current_offset", **labels) == high
        assert found.value("kafka_topic_partition_oldest_offset", **labels) == low
        assert found.value("kafka_log_log_logendoffset", **labels) == high
        assert found.value("kafka_topic_partition_leader", **labels) == 1
        assert found.value("kafka_topic_partition_leader_is_preferred", **labels) == 1
        assert found.value("kafka_topic_partition_under_replicated_partition", **labels) == 0
    consumer.close()
    partitions = sum(found.of("kafka_topic_partitions"))
    assert found.value("kafka_topic_partitions", topic="t") == PARTITIONS
    assert found.value("kafka_server_replicamanager_partitioncount") == partitions
    assert found.value("kafka_controller_kafkacontroller_globalpartitioncount") == partitions
    assert found.value("kafka_controller_kafkacontroller_offlinepartitionscount") == 0
    assert found.value("kafka_brokers") == 1
    assert found.value("kafka_broker_info", id="1", address=broker.bootstrap) == 1


def test_groups_have_their_offsets_and_lag(broker: Monitored) -> None:
    """The sum of what was read, and the rest."""
    found = scrape(broker.http)
    assert sum(found.of("kafka_consumergroup_current_offset", consumergroup="g", topic="t")) == READ
    assert found.value("kafka_consumergroup_current_offset_sum", consumergroup="g", topic="t") == READ
    committed = len(found.of("kafka_consumergroup_current_offset", consumergroup="g"))
    behind = committed * RECORDS / PARTITIONS - READ
    assert found.value("kafka_consumergroup_lag_sum", consumergroup="g", topic="t") == behind
    assert sum(found.of("kafka_consumergroup_lag", consumergroup="g", topic="t")) == behind
    assert found.value("kafka_consumergroup_members", consumergroup="g") == 0
    assert found.value("kafka_coordinator_group_groupmetadatamanager_numgroups") == 1
    assert found.value("kafka_coordinator_group_groupmetadatamanager_numoffsets") == committed


def test_transactional_ids_are_counted_by_state(broker: Monitored) -> None:
    """One whose commit was answered is complete once its markers are written, which may be a moment later."""

    def complete() -> bool:
        return scrape(broker.http).of("odradek_transactional_ids", state="CompleteCommit") == [1]

    eventually(complete, "the markers of the transaction to be written")


def test_requests_are_counted_and_timed(broker: Monitored) -> None:
    """By API, with percentiles and as a histogram."""
    found = scrape(broker.http)
    for request in ("Produce", "FetchConsumer", "Metadata", "OffsetCommit"):
        count = sum(found.of("kafka_network_requestmetrics_requests_total", request=request))
        assert count >= 1
        assert found.value("kafka_network_requestmetrics_totaltimems_count", request=request) == count
        assert found.value("odradek_request_duration_seconds_count", request=request) == count
        assert found.value("odradek_request_duration_seconds_bucket", request=request, le="+Inf") == count
        assert 0 < found.value("kafka_network_requestmetrics_totaltimems", request=request, quantile="0.99") < 30_000
    assert sum(found.of("kafka_network_requestmetrics_requests_total", request="FetchFollower")) == 0


def test_errors_are_counted_by_api(broker: Monitored) -> None:
    """Each topic or partition by itself."""
    found = scrape(broker.http)
    for request, count in (("Metadata", 2), ("Produce", 1), ("Fetch", 1)):
        labels = {"request": request, "error": "UNKNOWN_TOPIC_OR_PARTITION"}
        assert found.value("kafka_network_requestmetrics_errors_total", **labels) == count


def test_refused_batch_is_counted_as_kafka_does(broker: Monitored) -> None:
    """A record of a time that cannot be counts as failed; a batch that is too large is a matter of course."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    config = {"max.message.bytes": "200"}
    for made in admin.create_topics([NewTopic("small", 1, 1, config=config)]).values():
        made.result(60)
    refused: list[object] = []
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("small", b"x" * 500, on_delivery=lambda error, _: refused.append(error))
    producer.flush(60)
    assert refused[0] is not None
    found = scrape(broker.http)
    prefix = "kafka_server_brokertopicmetrics_"
    assert found.value(f"{prefix}totalproducerequests_total", topic="small") == 1
    assert found.value(f"{prefix}failedproducerequests_total", topic="small") == 0
    assert found.value(f"{prefix}messagesin_total", topic="small") == 0


def test_connections_are_counted_by_listener(broker: Monitored) -> None:
    """Those that are open, and all that there were."""

    def connections() -> tuple[float, float]:
        found = scrape(broker.http)
        labels = {"listener": "PLAINTEXT", "networkProcessor": "0"}
        prefix = "kafka_server_socket_server_metrics_connection_"
        return found.value(f"{prefix}count", **labels), found.value(f"{prefix}creation_total", **labels)

    now, ever = connections()
    with socket.create_connection(("127.0.0.1", broker.port)):
        eventually(lambda: connections()[1] > ever, "the connection to be counted")
    assert now >= 0


def test_a_deleted_topic_is_told_of_no_more_but_counts_in_the_total(broker: Monitored) -> None:
    """Counters never fall."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for made in admin.create_topics([NewTopic("gone", PARTITIONS, 1)]).values():
        made.result(60)
    produce(broker.bootstrap, "gone", 10)
    before = scrape(broker.http)
    assert before.value("kafka_server_brokertopicmetrics_messagesin_total", topic="gone") == 10
    for deleted in admin.delete_topics(["gone"]).values():
        deleted.result(60)
    found: list[Scraped] = []

    def is_gone() -> bool:
        found.append(scrape(broker.http))
        return not [one for (_, labels) in found[-1].values for one in labels if one == ("topic", "gone")]

    eventually(is_gone, "nothing of the topic to be told")
    name = "kafka_server_brokertopicmetrics_messagesin_total"
    assert found[-1].value(name) >= before.value(name)


def test_probes_say_that_it_serves_and_that_a_disk_is_gone(tmp_path: Path) -> None:
    """Ready again once the directory can be written again."""
    process = Monitored(tmp_path)
    process.start()
    try:
        assert get(process.http, "/health") == (200, "alive\n")
        assert get(process.http, "/ready") == (200, "ready\n")
    finally:
        process.stop()


@pytest.mark.parametrize(
    ("listener", "reason"),
    [
        ("nowhere", "expected host:port"),
        ("192.0.2.1:9404", "cannot be opened: Cannot assign requested address; give an address of this machine"),
    ],
)
def test_port_that_cannot_be_opened_refuses_the_start(tmp_path: Path, listener: str, reason: str) -> None:
    """With a sentence that names the setting, and what to do."""
    process = Monitored(tmp_path, odradek_http_listener=listener)
    process.launch()
    assert process.wait() == 1
    assert f"odradek.http.listener={listener}" in process.log
    assert reason in process.log
