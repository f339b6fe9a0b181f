"""The relay in transactions, with real Spark, a real broker and kills: readers of committed records see each once."""

from collections import defaultdict
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.conftest import BrokerFactory
from tests.integration.pipeline.conftest import StartJob
from tests.support.broker import BrokerProcess
from tests.support.pipeline_job import RunJob

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]

PARTITIONS = 3
RECORDS = 1_500
"""In each partition."""
A_BATCH = "600"
IDENTITY = "keep-numbers"


def _produce(broker: BrokerProcess, topic: str, first: int, until: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(first, until):
        for partition in range(PARTITIONS):
            producer.produce(topic, b"%d" % number, b"%d" % partition, partition)
        producer.poll(0)
    assert producer.flush(60) == 0


def _relayed(broker: BrokerProcess, topic: str) -> dict[int, list[int]]:
    """Return the numbers that readers of committed records see in each partition, in their order."""
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "reader", "isolation.level": "read_committed"}
    consumer = Consumer(settings | {"enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    found, ended = defaultdict(list), 0
    while ended < PARTITIONS:
        message = consumer.poll(30)
        assert message is not None, "the topic is not read to its end"
        if message.error() is not None:
            ended += 1
        else:
            found[int(message.key() or b"-1")].append(int(message.value() or b"-1"))
    consumer.close()
    return dict(found)


def _offsets(broker: BrokerProcess, group: str) -> dict[int, int]:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(60)
    return {each.partition: each.offset for each in found.topic_partitions or ()}


def _topics(broker: BrokerProcess, *names: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for made in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names]).values():
        made.result(60)


def test_kills_of_worker_broker_and_driver(
    new_broker: BrokerFactory, start_job: StartJob, run_job: RunJob, topic: str
) -> None:
    """After kill -9 of the workers, of the broker and of the driver with its JVM while they copy, and with nothing kept
    but what the cluster has, each number is in its partition once, in order.
    """
    broker, to = new_broker(), f"{topic}-kept"
    broker.start()
    _topics(broker, topic, to)
    _produce(broker, topic, 0, RECORDS)
    arguments = ["relay", topic, "--to", to, "--transactional-id", IDENTITY, "--select", "partition AS partition"]
    patient = [*arguments, "--max-offsets-per-trigger", A_BATCH, "--master", "local[2,4]"]
    job = start_job(broker, *patient)
    job.wait_for_batches(1)
    assert job.kill_workers(), job.errors
    job.wait_for_batches(2)
    broker.kill()
    broker.start()
    job.wait_for_batches(4)
    job.kill()
    assert 0 < len(job.progress) < RECORDS * PARTITIONS // int(A_BATCH), "it had nothing more to do"
    last = run_job(broker.bootstrap, *arguments)
    assert last.code == 0, last.errors
    assert _relayed(broker, to) == {partition: list(range(RECORDS)) for partition in range(PARTITIONS)}
    assert _offsets(broker, IDENTITY) == dict.fromkeys(range(PARTITIONS), RECORDS)


def test_runs_go_on_at_the_offsets_of_the_group(
    broker: BrokerProcess, run_job: RunJob, topic: str, tmp_path: Path
) -> None:
    """The group has how far it came, also over records that are left out; a checkpoint of before, or of another run,
    writes nothing twice.
    """
    to, checkpoint = f"{topic}-odd", str(tmp_path / "checkpoint")
    _topics(broker, topic, to)
    arguments = ["relay", topic, "--to", to, "--transactional-id", f"odd-{topic}", "--group", f"group-{topic}"]
    arguments += ["--select", "partition AS partition"]
    where = ["--where", "CAST(CAST(value AS STRING) AS INT) % 2 = 1 AND partition < 2"]
    _produce(broker, topic, 0, 10)
    assert run_job(broker.bootstrap, *arguments, *where, "--checkpoint", checkpoint).code == 0
    assert _offsets(broker, f"group-{topic}") == {0: 10, 1: 10, 2: 10}
    _produce(broker, topic, 10, 20)
    assert sum(each["rows"] for each in run_job(broker.bootstrap, *arguments, *where).progress) == 30
    _produce(broker, topic, 20, 25)
    late = run_job(broker.bootstrap, *arguments, *where, "--checkpoint", checkpoint)
    assert sum(each["rows"] for each in late.progress) == 45, "the checkpoint knows nothing of the run without it"
    assert _relayed(broker, to) == {0: list(range(1, 25, 2)), 1: list(range(1, 25, 2))}
