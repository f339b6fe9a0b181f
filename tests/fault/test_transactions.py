"""Numbers are copied from topic to topic in transactions, some of them aborted, while the brokers of the cluster are
killed, stopped, cut off and restarted: readers of committed records see each number once, and nobody waits for ever.

Some seconds of faults; ODRADEK_CLUSTER_FAULT_SECONDS asks for more, ODRADEK_CLUSTER_FAULT_SEED for those of
one seed again.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, IsolationLevel, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tests.support.cluster_faults import Faults
from tests.support.cluster_processes import ProxiedCluster
from tests.support.waiting import eventually

SECONDS = float(os.environ.get("ODRADEK_CLUSTER_FAULT_SECONDS", "8"))
SEED = int(os.environ.get("ODRADEK_CLUSTER_FAULT_SEED", str(random.SystemRandom().randrange(1 << 32))))
SOURCE, TARGET, GROUP = "source", "target", "copiers"
PARTITIONS = 2
COPIERS = 2
ABORTED = 0.3
"""Share of the transactions that are aborted on purpose."""
SESSION_S = 3.0
CALL_S = 60
COPIED_S = 120.0
STABLE_S = 60.0
SETTINGS = {
    "broker.session.timeout.ms": str(int(SESSION_S * 1000)),
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
    "log.cleaner.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
CLIENT: dict[str, object] = {
    "log_level": 0,
    "topic.metadata.refresh.interval.ms": 1000,
    "reconnect.backoff.max.ms": 500,
    "socket.timeout.ms": 5000,
}


class Feeder:
    """Sends numbers to the source, one after the other and each of them once, until it is told to stop."""

    def __init__(self, bootstrap: str) -> None:
        self.sent = 0
        self.refused: list[str] = []
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "message.timeout.ms": 120_000}
        self._producer = Producer({**CLIENT, **settings})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Send nothing more; returns when everything has been acknowledged."""
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(COPIED_S) == 0
        assert not self.refused, self.refused[:3]

    def _run(self) -> None:
        while not self._stop.wait(0.01):
            value = str(self.sent).encode()
            self._producer.produce(SOURCE, value, partition=self.sent % PARTITIONS, on_delivery=self._delivered)
            self.sent += 1
            self._producer.poll(0)

    def _delivered(self, error: object, _message: Message) -> None:
        if error is not None:
            self.refused.append(str(error))


class Copier:
    """A member of the group that copies what it reads, with its offsets, in transactions of a few records."""

    def __init__(self, bootstrap: str, name: str, seed: int) -> None:
        self.committed = 0
        self.trouble: Counter[str] = Counter()
        """What went wrong, how often."""
        self.broken: BaseException | None = None
        self._bootstrap = bootstrap
        self._name = name
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._producer: Producer | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Copy nothing more."""
        self._stop.set()
        self._thread.join(2 * CALL_S)
        assert not self._thread.is_alive(), f"{self._name} does not stop: {self.trouble}"

    def _run(self) -> None:
        reading = {
            "bootstrap.servers": self._bootstrap,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 1000,
        }
        consumer = Consumer({**CLIENT, **reading})
        consumer.subscribe([SOURCE])
        try:
            while not self._stop.is_set():
                messages = [each for each in consumer.consume(self._random.randint(1, 60), 0.2) if not each.error()]
                if messages:
                    self._copy(consumer, messages)
            self._producer = None
            consumer.close()
        except BaseException as broken:  # noqa: BLE001 - the test tells of it
            self.broken = broken

    def _copy(self, consumer: Consumer, messages: Sequence[Message]) -> None:
        """Copy all of them, or go back to where the group is."""
        try:
            producer = self._producer = self._producer or self._new_producer()
            producer.begin_transaction()
            for message in messages:
                producer.produce(TARGET, message.value(), partition=self._random.randrange(PARTITIONS))
            read = {message.partition(): (message.offset() or 0) + 1 for message in messages}
            offsets = [TopicPartition(SOURCE, partition or 0, offset) for partition, offset in read.items()]
            member = consumer.consumer_group_metadata()
            self._insist(lambda: producer.send_offsets_to_transaction(offsets, member, CALL_S))
            if self._random.random() >= ABORTED:
                self._insist(lambda: producer.commit_transaction(CALL_S))
                self.committed += len(messages)
                return
            self._insist(lambda: producer.abort_transaction(CALL_S))
        except KafkaException as failed:
            self._give_up(failed)
        self._insist(lambda: self._rewind(consumer))

    def _new_producer(self) -> Producer:
        settings = {"bootstrap.servers": self._bootstrap, "transactional.id": self._name, "linger.ms": 2}
        producer = Producer({**CLIENT, **settings, "transaction.timeout.ms": 20_000})
        self._insist(lambda: producer.init_transactions(CALL_S))
        return producer

    def _give_up(self, failed: KafkaException) -> None:
        """Abort what is open; a producer that cannot be used any more is replaced."""
        error = failed.args[0]
        self.trouble[error.name()] += 1
        if error.txn_requires_abort() and self._producer is not None:
            try:
                producer = self._producer
                self._insist(lambda: producer.abort_transaction(CALL_S))
            except KafkaException as worse:
                self.trouble[worse.args[0].name()] += 1
                self._producer = None
        else:
            self._producer = None

    def _insist(self, call: Callable[[], object]) -> None:
        """Call again for as long as the client says that it may help."""
        deadline = time.monotonic() + COPIED_S
        while True:
            try:
                call()
            except KafkaException as failed:
                if not failed.args[0].retriable() or time.monotonic() > deadline:
                    raise
                self.trouble[failed.args[0].name()] += 1
            else:
                return

    def _rewind(self, consumer: Consumer) -> None:
        for place in consumer.committed(consumer.assignment(), timeout=CALL_S):
            consumer.seek(TopicPartition(SOURCE, place.partition, max(place.offset, 0)))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ProxiedCluster]:
    with ProxiedCluster(tmp_path, 3, SETTINGS) as nodes:
        yield nodes


@pytest.mark.timeout(SECONDS + 400)
def test_each_number_is_copied_once_whatever_happens_to_the_brokers(cluster: ProxiedCluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    topics = [NewTopic(name, PARTITIONS, 3, config={"min.insync.replicas": "2"}) for name in (SOURCE, TARGET)]
    for made in admin.create_topics(topics).values():
        made.result(60)
    feeder = Feeder(cluster.bootstrap)
    copiers = [Copier(cluster.bootstrap, f"copier-{number}", SEED + number) for number in range(COPIERS)]
    faults = Faults(cluster, SEED, SESSION_S)
    try:
        eventually(lambda: sum(each.committed for each in copiers) > 0, "something is copied", COPIED_S)
        faults.go_on(SECONDS)
        feeder.finish()
        eventually(lambda: _committed(cluster.bootstrap) >= feeder.sent, "all is copied", COPIED_S)
        for copier in copiers:
            copier.stop()
            assert copier.broken is None, copier.broken
        eventually(lambda: _all_stable(admin), "no transaction is open", STABLE_S)
        found = Counter(_read(cluster.bootstrap))
        assert [number for number, times in found.items() if times > 1] == []
        assert set(found) == set(range(feeder.sent))
        for node in cluster.brokers:
            assert node.stop() == 0
    except AssertionError as broken:
        about = f"seed {SEED}: {'; '.join(faults.story)}; {[dict(each.trouble) for each in copiers]}"
        raise AssertionError(f"{broken} ({about})\n{cluster.log}") from broken


def _committed(bootstrap: str) -> int:
    """Return how many records of the source the group is through with: its partitions have nothing but records."""
    consumer = Consumer({**CLIENT, "bootstrap.servers": bootstrap, "group.id": GROUP})
    try:
        places = consumer.committed([TopicPartition(SOURCE, part) for part in range(PARTITIONS)], timeout=CALL_S)
    except KafkaException:
        return 0
    finally:
        consumer.close()
    return sum(max(place.offset, 0) for place in places)


def _all_stable(admin: AdminClient) -> bool:
    """Whether readers of committed records get as far as others, on all partitions."""
    places = [TopicPartition(topic, part) for topic in (SOURCE, TARGET) for part in range(PARTITIONS)]
    places += [TopicPartition("__consumer_offsets", part) for part in range(3)]
    wanted = {place: OffsetSpec.latest() for place in places}
    try:
        ends = [
            [(place.topic, place.partition, told.result(CALL_S).offset) for place, told in answer.items()]
            for answer in (
                admin.list_offsets(wanted, isolation_level=level)
                for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
            )
        ]
    except KafkaException:
        return False
    return sorted(ends[0]) == sorted(ends[1])


def _read(bootstrap: str) -> list[int]:
    """Return the committed numbers of the target."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False}
    consumer = Consumer({**CLIENT, **settings, "isolation.level": "read_committed", "enable.partition.eof": True})
    consumer.assign([TopicPartition(TARGET, partition, 0) for partition in range(PARTITIONS)])
    found: list[int] = []
    ended: set[int | None] = set()
    deadline = time.monotonic() + STABLE_S
    while len(ended) < PARTITIONS:
        assert time.monotonic() < deadline, f"the end of {TARGET} is not reached: {len(found)} are read"
        for message in consumer.consume(10_000, 0.5):
            if message.error() is None:
                found.append(int(message.value() or b""))
            else:
                ended.add(message.partition())
    consumer.close()
    return found
