"""Three brokers as processes that are killed, stopped, cut off and restarted while producers go on: everything that was
acknowledged is there, in order, once where that was promised, and the replicas are the same in the end.

Half a minute of faults; ODRADEK_CLUSTER_FAULT_SECONDS asks for more, ODRADEK_CLUSTER_FAULT_SEED for those of one
seed again.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.cluster_faults import Faults
from tests.support.cluster_processes import ProxiedCluster, replica_bytes
from tests.support.waiting import eventually

SECONDS = float(os.environ.get("ODRADEK_CLUSTER_FAULT_SECONDS", "30"))
SEED = int(os.environ.get("ODRADEK_CLUSTER_FAULT_SEED", str(random.SystemRandom().randrange(1 << 32))))
TOPIC = "values"
PARTITIONS = 4
SESSION_S = 3.0
FLUSHED_S = 60.0
HEALED_S = 60.0
UNREAD_S = 30.0
SETTINGS = {
    "broker.session.timeout.ms": str(int(SESSION_S * 1000)),
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
    "log.cleaner.enable": "false",
}


class NumberingProducer:
    """Sends numbers to one partition until it is told to stop, and knows which of them were acknowledged."""

    def __init__(self, bootstrap: str, partition: int, idempotent: bool) -> None:
        self.partition = partition
        self.idempotent = idempotent
        self.name = f"{'once' if idempotent else 'plain'}-{partition}"
        self.acknowledged: list[tuple[int, int]] = []
        """Offset and number, in the order of the acknowledgements."""
        self.acknowledged_before: list[int] = []
        """By number: the highest offset that was acknowledged when it was sent."""
        self.refused: list[str] = []
        self._highest = -1
        self._stop = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": self.name,
                "acks": "all",
                "enable.idempotence": idempotent,
                "max.in.flight.requests.per.connection": 5 if idempotent else 1,
                "message.timeout.ms": 120_000,
                "linger.ms": 2,
                "topic.metadata.refresh.interval.ms": 1000,
                "reconnect.backoff.max.ms": 500,
                "socket.timeout.ms": 10_000,
                "metadata.recovery.strategy": "none",  # else librdkafka 2.16 may go on with brokers it has given up
                "log_level": 0,
            }
        )
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Send nothing new."""
        self._stop.set()

    def finish(self, deadline: float) -> int:
        """Wait until everything is acknowledged or refused, until a time of the monotonic clock; return what is not."""
        self._thread.join()
        return self._producer.flush(max(deadline - time.monotonic(), 0))

    def _run(self) -> None:
        number = 0
        while not self._stop.wait(0.002):
            value = f"{self.name}:{number}".encode()
            self.acknowledged_before.append(self._highest)
            self._producer.produce(TOPIC, value, partition=self.partition, on_delivery=self._delivered(number))
            number += 1
            self._producer.poll(0)

    def _delivered(self, number: int) -> Callable[[KafkaError | None, Message], None]:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                offset = message.offset() or 0
                self.acknowledged.append((offset, number))
                self._highest = max(self._highest, offset)
            else:
                self.refused.append(error.str())

        return delivered


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ProxiedCluster]:
    with ProxiedCluster(tmp_path, 3, SETTINGS) as nodes:
        yield nodes


@pytest.mark.timeout(SECONDS + 400)
def test_what_was_acknowledged_is_there_whatever_happens_to_the_brokers(cluster: ProxiedCluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3, config={"min.insync.replicas": "2"})])[TOPIC].result(60)
    producers = [
        NumberingProducer(cluster.bootstrap, partition, idempotent)
        for partition in range(PARTITIONS)
        for idempotent in (True, False)
    ]
    faults = Faults(cluster, SEED, SESSION_S)
    for producer in producers:
        producer.start()
    try:
        faults.go_on(SECONDS)
    finally:
        about = f"seed {SEED}: {'; '.join(faults.story)}"
    for producer in producers:
        producer.stop()
    try:
        deadline = time.monotonic() + FLUSHED_S
        left = {producer.name: producer.finish(deadline) for producer in producers}
        assert not any(left.values()), (
            f"{FLUSHED_S:g} s after the faults producers wait for answers to {left};"
            f" acknowledged are { ({one.name: len(one.acknowledged) for one in producers}) };"
            f" brokers know {_partitions(admin)}"
        )
        eventually(lambda: _all_in_sync(admin), "all replicas are in sync again", HEALED_S)
        found = _read_everything(cluster.bootstrap)
        for producer in producers:
            _check(producer, found[producer.partition])
        for node in cluster.brokers:
            assert node.stop() == 0
        for partition in range(PARTITIONS):
            replicas = {replica_bytes(node, TOPIC, partition) for node in cluster.brokers}
            assert len(replicas) == 1, f"the replicas of partition {partition} differ"
    except AssertionError as broken:
        raise AssertionError(f"{broken} ({about})\n{cluster.log}") from broken


def _all_in_sync(admin: AdminClient) -> bool:
    topic = admin.list_topics(TOPIC, timeout=60).topics[TOPIC]
    return all(len(part.isrs) == 3 and part.leader >= 0 for part in topic.partitions.values())


def _partitions(admin: AdminClient) -> dict[int, tuple[int, list[int]]]:
    """Return leader and ISR of each partition."""
    partitions = admin.list_topics(TOPIC, timeout=60).topics[TOPIC].partitions
    return {index: (partition.leader, partition.isrs) for index, partition in partitions.items()}


def _read_everything(bootstrap: str) -> dict[int, list[tuple[int, str]]]:
    """Return offset and value of every record, by partition."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "log_level": 0, "group.id": "reader", "enable.auto.commit": False}
    )
    found: dict[int, list[tuple[int, str]]] = {partition: [] for partition in range(PARTITIONS)}
    ends = {
        part: consumer.get_watermark_offsets(TopicPartition(TOPIC, part), timeout=30)[1] for part in range(PARTITIONS)
    }
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    deadline = time.monotonic() + UNREAD_S
    while any(not found[part] or found[part][-1][0] + 1 < end for part, end in ends.items() if end):
        messages = consumer.consume(10_000, timeout=0.5)  # which it waits for unless there are as many
        if messages:
            deadline = time.monotonic() + UNREAD_S
        read = {part: len(records) for part, records in found.items()}
        assert time.monotonic() < deadline, f"nothing more is read: {ends}, {read}"
        for message in messages:
            assert message.error() is None, message.error()
            found[message.partition() or 0].append((message.offset() or 0, (message.value() or b"").decode()))
    consumer.close()
    return found


def _check(producer: NumberingProducer, found: list[tuple[int, str]]) -> None:
    assert producer.acknowledged, f"{producer.name} got nothing through"
    there = dict(found)
    placed = [
        (offset, int(value.rpartition(":")[2])) for offset, value in found if value.startswith(f"{producer.name}:")
    ]
    mine = [number for _, number in placed]
    for offset, number in placed:  # a plain producer of librdkafka has requests under way at two leaders when it moves
        earlier = producer.acknowledged_before[number]
        assert offset > earlier, f"{producer.name}: {number}, sent when {earlier} was acknowledged, is at {offset}"
    gone = {number for _, number in producer.acknowledged} - set(mine)
    assert not gone, f"{producer.name}: {sorted(gone)[:10]} and {len(gone)} in all were acknowledged and are gone"
    for offset, number in producer.acknowledged:
        if producer.idempotent and offset >= 0:
            assert there.get(offset) == f"{producer.name}:{number}", f"offset {offset} is {there.get(offset)}"
    if producer.idempotent:
        assert not producer.refused, f"an idempotent producer gave up: {producer.refused[:3]}"
        assert mine == sorted(set(mine)), f"{producer.name} is out of order, or twice"
