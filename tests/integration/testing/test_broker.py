"""odradek.testing: brokers that users' tests start."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import javaproperties
import pytest
from confluent_kafka import Consumer, Producer

from odradek.testing import Broker, Cluster
from pyspark_odradek.client.cluster import ClusterConnections
from pyspark_odradek.client.fetching import read_bodies
from pyspark_odradek.client.settings import cluster_options, needs_librdkafka
from pyspark_odradek.offsets import OffsetRange
from pyspark_odradek.offsets import TopicPartition as SparkPartition
from tests.integration.cli import COMMAND, environment
from tests.support.broker import REPOSITORY
from tests.support.waiting import eventually

TIMEOUT_S = 60


def produce(bootstrap: str, topic: str, *values: bytes) -> None:
    """Produce, and see that all is acknowledged."""
    producer = Producer({"bootstrap.servers": bootstrap, "message.timeout.ms": 30000, "log_level": 0})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(TIMEOUT_S) == 0


def consume(bootstrap: str, topic: str, count: int) -> list[bytes | None]:
    """Return the first values of a topic, read as a new group."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": f"of-{topic}", "auto.offset.reset": "earliest", "log_level": 0}
    )
    try:
        consumer.subscribe([topic])
        return [message.value() for message in consumer.consume(count, TIMEOUT_S)]
    finally:
        consumer.close()


def test_a_broker_for_as_long_as_it_is_needed() -> None:
    """Clients talk to it, it survives being killed and restarted on its port, and leaves nothing."""
    with Broker() as broker:
        bootstrap, directory = broker.bootstrap_servers, broker.directory
        topic = broker.topic()
        produce(bootstrap, topic, b"one")
        broker.kill()
        assert not broker.is_running
        broker.start()
        produce(bootstrap, topic, b"two")
        broker.restart()
        assert broker.get_bootstrap_server() == bootstrap
        assert consume(bootstrap, topic, 2) == [b"one", b"two"]
        assert broker.log.count('"ready"') + broker.log.count(" ready") >= 3
    assert not directory.exists()


def test_topics_have_partitions_and_configs() -> None:
    """They can be written to at once; one that the broker refuses is told."""
    with Broker({"num.partitions": "7"}) as broker:
        name = broker.topic("orders", partitions=3, cleanup_policy="compact")
        assert name == "orders"
        with pytest.raises(RuntimeError, match=r"orders.*TOPIC_ALREADY_EXISTS"):
            broker.topic("orders")
        with pytest.raises(RuntimeError, match="INVALID_CONFIG"):
            broker.topic(cleanup_policy="what")


def command(broker: Broker, *arguments: str) -> str:
    """Run the command with the settings of a broker's clients, and return what it prints."""
    given = [*COMMAND, *arguments, "-b", broker.bootstrap_servers, "--command-config", str(broker.client_properties)]
    return subprocess.run(given, env=environment(""), capture_output=True, text=True, timeout=60, check=True).stdout


def test_a_secure_broker_lets_in_only_who_logs_in() -> None:
    """Clients, the command and the source for Spark talk to it by the same settings; nobody else does."""
    with Broker(secure=True) as broker:
        topic = broker.topic(partitions=2)
        producer = Producer({**broker.client_settings, "message.timeout.ms": "30000", "log_level": "0"})
        for value in (b"one", b"two"):
            producer.produce(topic, value, partition=1)
        assert producer.flush(TIMEOUT_S) == 0
        assert topic in command(broker, "topics", "list")
        assert "all replicas in sync" in command(broker, "cluster", "status")

        java = dict(javaproperties.loads(broker.client_properties.read_text()))
        assert not needs_librdkafka(java)
        reader = ClusterConnections(cluster_options(java, retry_timeout_s=10))
        wanted = OffsetRange(SparkPartition(topic, 1), 0, 2)
        found = [body.header.next_offset for bodies in read_bodies(reader, wanted, True) for body in bodies]
        reader.close()
        assert found[-1] == 2

        refused: list[bool] = []
        stranger = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.timeout.ms": 1000, "log_level": 0})
        stranger.produce(topic, b"x", on_delivery=lambda error, _: refused.append(error is not None))
        stranger.flush(TIMEOUT_S)
        assert refused == [True]
        broker.restart()
        assert command(broker, "consume", topic) == "one\ntwo\n"


def test_a_directory_that_is_given_stays(tmp_path: Path) -> None:
    """The next broker on it finds what the last one left."""
    with Broker(directory=tmp_path) as broker:
        topic = broker.topic()
        produce(broker.bootstrap_servers, topic, b"kept")
    with Broker(directory=tmp_path) as broker:
        assert consume(broker.bootstrap_servers, topic, 1) == [b"kept"]


def test_a_broker_that_does_not_start_says_why() -> None:
    """The error has the broker's own sentence, and nothing stays behind."""
    with pytest.raises(RuntimeError, match=r"exit code 1:(.|\n)*num.partitions"):
        Broker({"num.partitions": "many"}).__enter__()
    with pytest.raises(RuntimeError, match="has not been started"):
        _ = Broker().bootstrap_servers


async def test_the_same_for_coroutines() -> None:
    """The event loop goes on while it starts and stops."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.001)

    counting = asyncio.create_task(count())
    async with Broker() as broker:
        assert broker.is_running
    counting.cancel()
    assert turns > 10


def test_a_broker_ends_with_whoever_started_it(tmp_path: Path) -> None:
    """Also where that is killed: nobody has to look for brokers of yesterday's tests."""
    script = "from odradek.testing import Broker\nb = Broker().start()\nprint(b._process.pid, flush=True)\ninput()\n"
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(tmp_path)},
    ) as parent:
        assert parent.stdout is not None
        broker = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    eventually(lambda: not Path(f"/proc/{broker}/exe").exists(), "the broker has ended")
    [log] = tmp_path.glob("odradek-*/broker.log")
    assert "standard input has ended" in log.read_text()


@pytest.mark.timeout(300)
def test_a_cluster_goes_on_without_one_of_its_brokers() -> None:
    """Three replicas of each partition, of which one may die."""
    with Cluster(3) as cluster:
        directory = cluster.directory
        topic = cluster.topic(partitions=3)
        produce(cluster.bootstrap_servers, topic, b"before")
        assert consume(cluster.bootstrap_servers, topic, 1) == [b"before"]
        cluster.kill(2)
        assert cluster.running == [1, 3]
        produce(cluster.bootstrap_servers, topic, b"after")
        cluster.start(2)
        cluster.stop(3)
        assert consume(cluster.bootstrap_servers, topic, 1) == [b"after"]
    assert not directory.exists()
